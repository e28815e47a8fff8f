"""LiteLLM as a client, in each dialect."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it fetches a list of prices when it is imported

import io

import litellm
from cases import Person, case, chat_tools, converse_in_chat, hello, key, models, raises, run, url

litellm.telemetry = False
litellm.suppress_debug_info = True
openai = {"api_base": f"{url}/v1", "api_key": key, "num_retries": 0}
anthropic = {"api_base": url, "api_key": key, "num_retries": 0}


def place_of(dialect):
    return anthropic if dialect == "anthropic" else openai


@case(*[(model, dialect) for model in models for dialect in ("openai", "anthropic")])
def completion_and_stream(model, dialect):
    ask = {"model": f"{dialect}/{model}", "messages": hello, "max_tokens": 500, **place_of(dialect)}
    complete = litellm.completion(**ask)
    assert complete.choices[0].message.content and complete.choices[0].finish_reason == "stop"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(stream=True, **ask))
    assert text == complete.choices[0].message.content


@case(*[(model, dialect) for model in models for dialect in ("openai", "anthropic")])
def tools_over_three_turns(model, dialect):
    converse_in_chat(model, lambda messages: litellm.completion(model=f"{dialect}/{model}", messages=messages, tools=chat_tools, max_tokens=4000, **place_of(dialect)).choices[0].message)


@case("openai", "anthropic")
def structured_output(dialect):
    answer = litellm.completion(model=f"{dialect}/sandbox/echo", messages=[{"role": "user", "content": "Who?"}], response_format=Person, max_tokens=500, **place_of(dialect))
    Person.model_validate_json(answer.choices[0].message.content)


@case(*models)
def responses_complete_and_streamed(model):
    complete = litellm.responses(model=f"openai/{model}", input="hello", **openai)
    assert complete.status == "completed" and complete.output[-1].content[0].text
    types = [event.type for event in litellm.responses(model=f"openai/{model}", input="hello", stream=True, **openai)]
    assert types[0] == "response.created" and types[-1] == "response.completed"


@case()
async def messages():
    answer = await litellm.anthropic.messages.acreate(model="anthropic/sandbox/echo", messages=hello, max_tokens=200, **anthropic)
    assert "hello" in answer["content"][-1]["text"]


@case()
def embeddings_and_images():
    answer = litellm.embedding(model="openai/sandbox/embedding", input=["one", "two"], **openai)
    assert len(answer.data) == 2 and len(answer.data[0]["embedding"]) > 10
    assert litellm.image_generation(model="openai/sandbox/painter", prompt="a cat", size="256x256", **openai).data[0].b64_json


@case()
def audio():
    sound = litellm.speech(model="openai/sandbox/speaker", voice="alloy", input="Hello there", response_format="wav", **openai).read()
    assert sound[:4] == b"RIFF"
    file = io.BytesIO(sound)
    file.name = "speech.wav"
    assert litellm.transcription(model="openai/sandbox/listener", file=file, **openai).text


@case("openai", "anthropic")
def errors(dialect):
    def ask(content="hello", model="sandbox/echo", **more):
        return litellm.completion(**{"model": f"{dialect}/{model}", "messages": [{"role": "user", "content": content}], "max_tokens": 200, **place_of(dialect), **more})

    raises(litellm.AuthenticationError, ask, api_key="wrong")
    raises(litellm.NotFoundError, ask, model="sandbox/none")
    raises(litellm.RateLimitError, ask, "limit me", "openai/gpt-5")
    raises(litellm.exceptions.MidStreamFallbackError, lambda: list(ask("one two three four [sandbox: error after=2]", stream=True)))


run()
