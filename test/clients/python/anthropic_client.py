"""Anthropic's client for Python."""

import anthropic
from anthropic import Anthropic, AsyncAnthropic, beta_tool
from cases import Person, calls_of, case, functions, hello, key, models, raises, result_of, run, url, weather_question

client = Anthropic(base_url=url, api_key=key, max_retries=0)
tools = [{"name": function["name"], "description": function["description"], "input_schema": function["parameters"]} for function in functions]


@case(*models)
def messages_complete_and_streamed(model):
    complete = client.messages.create(model=model, max_tokens=200, messages=hello, system="Be brief.")
    assert complete.content[-1].text and complete.stop_reason == "end_turn" and complete._request_id
    with client.messages.stream(model=model, max_tokens=200, messages=hello, system="Be brief.") as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == final.content[-1].text == complete.content[-1].text
    assert final.usage.output_tokens == complete.usage.output_tokens


@case()
async def messages_without_blocking():
    async with AsyncAnthropic(base_url=url, api_key=key, max_retries=0) as own:
        async with own.messages.stream(model="sandbox/echo", max_tokens=200, messages=hello) as stream:
            assert "hello" in "".join([text async for text in stream.text_stream])


@case(*[(model, streamed) for model in models for streamed in ("complete", "streamed")])
def messages_with_tools_over_three_turns(model, streamed):
    messages, seen = [{"role": "user", "content": weather_question}], []
    settings = {"model": model, "max_tokens": 4000, "tools": tools, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    while len(seen) < 4 and seen[-1:] != [0]:
        if streamed == "streamed":
            with client.messages.stream(messages=messages, **settings) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(messages=messages, **settings)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not seen:
            assert message.content[0].type == "thinking" and message.content[0].thinking
        seen.append(len(calls))
        assert message.stop_reason == ("tool_use" if calls else "end_turn")
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": result_of(call.name)} for call in calls]})
    assert seen == calls_of(model) and message.content[-1].text


@case()
def tool_runner():
    @beta_tool
    def get_weather(city: str) -> str:
        """Returns the weather in a city.

        Args:
            city: Its name.
        """
        return f"sunny in {city}"

    runner = client.beta.messages.tool_runner(
        model="sandbox/thinker", max_tokens=500, tools=[get_weather], messages=[{"role": "user", "content": 'use get_weather with {"city":"Paris"}'}]
    )
    assert "sunny in Paris" in runner.until_done().content[-1].text


@case()
def structured_output():
    message = client.messages.parse(model="sandbox/echo", max_tokens=500, messages=[{"role": "user", "content": "Who?"}], output_format=Person)
    assert isinstance(message.parsed_output, Person)


@case()
def tokens_and_models():
    short = client.messages.count_tokens(model="sandbox/echo", messages=hello).input_tokens
    assert 0 < short < client.messages.count_tokens(model="sandbox/echo", messages=hello, tools=tools).input_tokens
    listed = [model.id for model in client.models.list(limit=2)]
    assert "sandbox/echo" in listed and len(set(listed)) == len(listed) > 2
    assert client.models.retrieve("sandbox/echo").id == "sandbox/echo"


@case()
def errors():
    ask = lambda content="hello", model="sandbox/echo", **more: client.messages.create(model=model, max_tokens=200, messages=[{"role": "user", "content": content}], **more)
    wrong = Anthropic(base_url=url, api_key="wrong", max_retries=0)
    error = raises(anthropic.AuthenticationError, wrong.messages.create, model="sandbox/echo", max_tokens=9, messages=hello)
    assert error.body["error"]["type"] == "authentication_error" and error.request_id
    assert raises(anthropic.NotFoundError, ask, model="sandbox/none").body["error"]["type"] == "not_found_error"
    assert raises(anthropic.BadRequestError, ask, extra_body={"max_tokens": "many"}).body["error"]["type"] == "invalid_request_error"
    assert raises(anthropic.RateLimitError, ask, "limit me", "openai/gpt-5").body["error"]["type"] == "rate_limit_error"
    raises(anthropic.InternalServerError, ask, "[sandbox: status=500]")
    with client.messages.stream(model="sandbox/echo", max_tokens=200, messages=[{"role": "user", "content": "one two three four [sandbox: error after=2]"}]) as stream:
        raises(anthropic.APIError, stream.get_final_message)


run()
