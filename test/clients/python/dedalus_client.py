"""The service's own client for Python."""

import io

import dedalus_labs
from cases import Person, case, chat_tools, converse_in_chat, hello, key, models, raises, run, url
from dedalus_labs import AsyncDedalus, Dedalus

client = Dedalus(base_url=url, api_key=key, max_retries=0)


@case(*models)
def chat_complete_and_streamed(model):
    complete = client.chat.completions.create(model=model, messages=hello)
    assert complete.choices[0].message.content and complete.choices[0].finish_reason == "stop"
    chunks = client.chat.completions.create(model=model, messages=hello, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == complete.choices[0].message.content


@case()
async def chat_without_blocking():
    async with AsyncDedalus(base_url=url, api_key=key, max_retries=0) as own:
        stream = await own.chat.completions.create(model="sandbox/echo", messages=hello, stream=True)
        assert "hello" in "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


@case(*models)
def chat_with_tools_over_three_turns(model):
    converse_in_chat(model, lambda messages: client.chat.completions.create(model=model, messages=messages, tools=chat_tools).choices[0].message)


@case()
def structured_output():
    parsed = client.chat.completions.parse(model="sandbox/echo", messages=[{"role": "user", "content": "Who?"}], response_format=Person)
    assert isinstance(parsed.choices[0].message.parsed, Person)


@case()
def embeddings():
    answer = client.embeddings.create(model="sandbox/embedding", input=["one", "two"])
    assert len(answer.data) == 2 and len(answer.data[0].embedding) > 10


@case()
def audio():
    with client.audio.speech.with_streaming_response.create(model="sandbox/speaker", voice="alloy", input="Hello there", response_format="wav") as speech:
        sound = b"".join(speech.iter_bytes())
    assert sound[:4] == b"RIFF"
    assert client.audio.transcriptions.create(model="sandbox/listener", file=("speech.wav", io.BytesIO(sound))).text
    assert client.audio.translations.create(model="sandbox/listener", file=("speech.wav", io.BytesIO(sound))).text


@case()
def images():
    answer = client.images.generate(model="sandbox/painter", prompt="a cat", size="256x256", response_format="b64_json")
    assert len(answer.data) == 1 and answer.data[0].b64_json


@case()
def list_of_models():
    assert {"sandbox/echo", "openai/gpt-5"} <= {model.id for model in client.models.list().data}
    assert client.models.retrieve("sandbox/echo").id == "sandbox/echo"


@case()
def errors():
    ask = lambda content="hello", model="sandbox/echo", **more: client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}], **more)
    wrong = Dedalus(base_url=url, api_key="wrong", max_retries=0)
    raises(dedalus_labs.AuthenticationError, wrong.models.list)
    raises(dedalus_labs.NotFoundError, ask, model="missing/x")
    raises(dedalus_labs.UnprocessableEntityError, ask, temperature=9)
    raises(dedalus_labs.RateLimitError, ask, "limit me", "openai/gpt-5")
    raises(dedalus_labs.InternalServerError, ask, "[sandbox: status=500]")
    raises(dedalus_labs.APIError, lambda: list(ask("one two three four [sandbox: error after=2]", stream=True)))


run()
