"""Lets generated requests reach a provider: most generated model names exist nowhere."""

import json

import schemathesis

CHAT_MODELS = ["sandbox/echo", "sandbox/story", "openai/gpt-5", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-flash", "mistral/mistral-large-latest"]
MODELS = {
    "/v1/chat/completions": CHAT_MODELS,
    "/v1/responses": CHAT_MODELS,
    "/v1/messages": CHAT_MODELS,
    "/v1/messages/count_tokens": CHAT_MODELS,
    "/v1/embeddings": ["sandbox/embedding", "openai/text-embedding-3-small"],
    "/v1/audio/speech": ["sandbox/speech", "openai/tts-1"],
    "/v1/audio/transcriptions": ["sandbox/transcribe", "openai/whisper-1"],
    "/v1/audio/translations": ["sandbox/transcribe", "openai/whisper-1"],
    "/v1/images/generations": ["sandbox/image", "openai/gpt-image-1", "openai/dall-e-3", "openai/dall-e-2"],
    "/v1/images/edits": ["sandbox/image", "openai/gpt-image-1"],
    "/v1/images/variations": ["sandbox/image", "openai/dall-e-2"],
    "/v1/ocr": ["sandbox/ocr", "mistral/mistral-ocr-latest"],
}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """
    Takes out the schemas of event streams: the document has that of the data of an event, which schemathesis holds against the
    event around it. `test/http/openapi-conformance.test.ts` checks streams.
    """
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                response.get("content", {}).get("text/event-stream", {}).pop("schema", None)


@schemathesis.hook
def map_body(context, body):
    """Puts a known model into three of four bodies; which one depends on the body alone."""
    models = MODELS.get(context.operation.path)
    if models is None or not isinstance(body, dict):
        return body
    number = len(json.dumps(body, default=str))
    if number % 4 == 0:
        return body
    return {**body, "model": models[number % len(models)]}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Leaves dry runs out: the document describes their answer apart from the responses, in `x-dry-run-answer`."""
    for name in [name for name in case.headers or {} if name.lower() == "x-headgate-dry-run"]:
        del case.headers[name]
