"""OpenAI's client for Python."""

import io

import openai
from cases import Person, calls_of, case, chat_tools, converse_in_chat, functions, hello, key, models, raises, result_of, run, url, weather_question
from openai import AsyncOpenAI, OpenAI

client = OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
response_tools = [{"type": "function", "strict": False, **function} for function in functions]


@case(*models)
def chat_complete_and_streamed(model):
    complete = client.chat.completions.create(model=model, messages=hello)
    assert complete.choices[0].message.content and complete.choices[0].finish_reason == "stop"
    assert complete.usage.total_tokens > 0 and complete._request_id
    text, usage = "", None
    for chunk in client.chat.completions.create(model=model, messages=hello, stream=True, stream_options={"include_usage": True}):
        text += chunk.choices[0].delta.content or "" if chunk.choices else ""
        usage = chunk.usage or usage
    assert text == complete.choices[0].message.content and usage.total_tokens > 0
    with client.chat.completions.stream(model=model, messages=hello) as stream:
        assert stream.get_final_completion().choices[0].message.content == text


@case()
async def chat_without_blocking():
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as own:
        stream = await own.chat.completions.create(model="sandbox/echo", messages=hello, stream=True)
        assert "hello" in "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


@case(*models)
def chat_with_tools_over_three_turns(model):
    converse_in_chat(model, lambda messages: client.chat.completions.create(model=model, messages=messages, tools=chat_tools).choices[0].message)


@case("sandbox/echo", "openai/gpt-5")
def chat_structured_output(model):
    parsed = client.chat.completions.parse(model=model, messages=[{"role": "user", "content": "as json"}], response_format=Person)
    assert isinstance(parsed.choices[0].message.parsed, Person)


@case(*models)
def responses_complete_and_streamed(model):
    complete = client.responses.create(model=model, input="hello", instructions="Be brief.")
    assert complete.output_text and complete.status == "completed" and complete.usage.output_tokens > 0
    with client.responses.stream(model=model, input="hello", instructions="Be brief.") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        assert text == stream.get_final_response().output_text == complete.output_text


@case(*models)
def responses_with_tools_over_three_turns(model):
    items, seen = [{"role": "user", "content": weather_question}], []
    while len(seen) < 4 and seen[-1:] != [0]:
        response = client.responses.create(model=model, input=items, tools=response_tools, reasoning={"effort": "low", "summary": "auto"})
        calls = [item for item in response.output if item.type == "function_call"]
        if not seen:
            assert response.output[0].type == "reasoning" and response.output[0].summary[0].text
        seen.append(len(calls))
        items += [item.model_dump(exclude_none=True) for item in response.output]
        items += [{"type": "function_call_output", "call_id": call.call_id, "output": result_of(call.name)} for call in calls]
    assert seen == calls_of(model) and response.output_text


@case()
def responses_structured_output():
    response = client.responses.parse(model="sandbox/echo", input="Who?", text_format=Person)
    assert isinstance(response.output_parsed, Person)


@case(*models)
def stored_responses(model):
    first = client.responses.create(model=model, input="hello")
    second = client.responses.create(model=model, input="hello again", previous_response_id=first.id)
    assert second.previous_response_id == first.id and second.output_text
    assert client.responses.retrieve(second.id).output_text == second.output_text
    assert {"hello", "hello again"} <= {part.text for item in client.responses.input_items.list(second.id) if item.type == "message" for part in item.content}
    client.responses.delete(second.id)
    raises(openai.NotFoundError, client.responses.retrieve, second.id)
    assert raises(openai.BadRequestError, client.responses.create, model=model, input="x", previous_response_id=second.id).code == "previous_response_not_found"


@case()
def embeddings():
    answer = client.embeddings.create(model="sandbox/embedding", input=["one", "two"])
    assert [entry.index for entry in answer.data] == [0, 1]
    assert len(answer.data[0].embedding) > 10 and all(isinstance(number, float) for number in answer.data[0].embedding)
    plain = client.embeddings.create(model="sandbox/embedding", input="one", encoding_format="float")
    assert max(abs(a - b) for a, b in zip(plain.data[0].embedding, answer.data[0].embedding)) < 1e-6


@case()
def audio():
    with client.audio.speech.with_streaming_response.create(model="sandbox/speaker", voice="alloy", input="Hello there", response_format="wav") as speech:
        sound = b"".join(speech.iter_bytes())
    assert sound[:4] == b"RIFF"
    file = ("speech.wav", io.BytesIO(sound))
    assert client.audio.transcriptions.create(model="sandbox/listener", file=file).text
    file[1].seek(0)
    subtitles = client.audio.transcriptions.create(model="sandbox/listener", file=file, response_format="srt")
    assert "-->" in subtitles
    file[1].seek(0)
    assert client.audio.translations.create(model="sandbox/listener", file=file).text


@case()
def images():
    answer = client.images.generate(model="sandbox/painter", prompt="a cat", size="256x256", response_format="b64_json")
    assert len(answer.data) == 1 and answer.data[0].b64_json
    streamed = client.images.generate(model="sandbox/painter", prompt="a cat", stream=True, partial_images=1)
    assert [event.type for event in streamed][-1] == "image_generation.completed"


@case()
def list_of_models():
    assert {"sandbox/echo", "openai/gpt-5"} <= {model.id for model in client.models.list()}
    assert client.models.retrieve("sandbox/echo").id == "sandbox/echo"


@case()
def errors():
    ask = lambda content="hello", model="sandbox/echo", **more: client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}], **more)
    wrong = OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    assert raises(openai.AuthenticationError, wrong.models.list).code == "invalid_api_key"
    assert raises(openai.NotFoundError, ask, model="missing/x").code == "model_not_found"
    raises(openai.UnprocessableEntityError, ask, temperature=9)
    assert raises(openai.RateLimitError, ask, "limit me", "openai/gpt-5").code == "rate_limit_exceeded"
    raises(openai.InternalServerError, ask, "[sandbox: status=500]")
    raises(openai.BadRequestError, client.responses.create, model="sandbox/echo", input="hello", temperature=9)
    raises(openai.APIError, lambda: list(ask("one two three four [sandbox: error after=2]", stream=True)))
    events = list(client.responses.create(model="sandbox/echo", input="one two three four [sandbox: error after=2]", stream=True))
    assert events[-1].type == "response.failed" and events[-1].response.error.code == "server_error"


run()
