"""OpenAI's Agents SDK for Python, over the Responses API and over chat completions."""

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from cases import calls_of, case, key, models, result_of, run, url, weather_question
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)
dialects = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}


class Place(BaseModel):
    city: str


def model_of(name, dialect):
    return dialects[dialect](model=name, openai_client=AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0))


@function_tool
def get_weather(city: str) -> str:
    """Returns the weather."""
    return result_of("get_weather")


@function_tool
def get_time(city: str) -> str:
    """Returns the time."""
    return result_of("get_time")


@case(*[(model, dialect) for model in models for dialect in dialects])
async def tools_over_three_turns(model, dialect):
    agent = Agent(name="Weather", instructions="Be brief.", model=model_of(model, dialect), tools=[get_weather, get_time], model_settings=ModelSettings(include_usage=True))
    count = lambda result: [sum(getattr(item, "type", "") == "function_call" for item in response.output) for response in result.raw_responses]
    complete = await Runner.run(agent, weather_question)
    assert count(complete) == calls_of(model) and complete.final_output
    streamed = Runner.run_streamed(agent, weather_question)
    text = "".join([event.data.delta async for event in streamed.stream_events() if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"])
    assert count(streamed) == calls_of(model) and text == streamed.final_output == complete.final_output


@case(*dialects)
async def a_handoff_and_structured_output(dialect):
    clerk = Agent(name="Clerk", instructions="Be brief.", model=model_of("sandbox/echo", dialect))
    triage = Agent(name="Triage", instructions="Hand over.", model=model_of("sandbox/echo", dialect), handoffs=[clerk])
    assert (await Runner.run(triage, "use transfer_to_clerk with {}")).last_agent.name == "Clerk"
    typed = Agent(name="Typed", instructions="Be brief.", model=model_of("sandbox/echo", dialect), output_type=Place)
    assert isinstance((await Runner.run(typed, "Where?")).final_output, Place)


run()
