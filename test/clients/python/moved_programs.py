"""Programs in the manner of LiteLLM's documents and of its users: a title, a program and what it prints.

They are run as they stand, but for the address `http://0.0.0.0:4000`.
"""

from typing import NamedTuple


class Program(NamedTuple):
    title: str
    text: str
    prints: str


openai = """
import openai
client = openai.OpenAI(api_key="sk-1234", base_url="http://0.0.0.0:4000")
messages = [{"role": "user", "content": "hello"}]
"""

azure = """
from openai import AzureOpenAI
client = AzureOpenAI(api_key="sk-1234", azure_endpoint="http://0.0.0.0:4000", api_version="2024-02-01")
messages = [{"role": "user", "content": "hello"}]
"""

anthropic = """
import anthropic
client = anthropic.Anthropic(api_key="sk-1234", base_url="http://0.0.0.0:4000")
messages = [{"role": "user", "content": "hello"}]
"""

langchain = """
from langchain_openai import ChatOpenAI
from langchain_core.messages import HumanMessage, SystemMessage
chat = ChatOpenAI(openai_api_base="http://0.0.0.0:4000", openai_api_key="sk-1234", model="gpt-3.5-turbo", temperature=0.1)
messages = [SystemMessage(content="Be brief."), HumanMessage(content="hello")]
"""

python = [
    # openai
    Program("chat", openai + """
response = client.chat.completions.create(model="gpt-3.5-turbo", messages=messages)
print(response.choices[0].message.content, response.usage.total_tokens)
""", r"^Hi there.* 12$"),
    Program("chat, streamed", openai + """
for chunk in client.chat.completions.create(model="gpt-3.5-turbo", messages=messages, stream=True):
    print(chunk.choices[0].delta.content or "", end="")
""", r"^Hi there, and welcome"),
    Program("chat at an address with /v1", openai.replace(":4000", ":4000/v1") + """
print(client.chat.completions.create(model="gpt-3.5-turbo", messages=messages).choices[0].message.content)
""", r"^Hi there"),
    Program("chat without blocking", openai + """
import asyncio
async def main():
    async with openai.AsyncOpenAI(api_key="sk-1234", base_url="http://0.0.0.0:4000") as client:
        response = await client.chat.completions.create(model="gpt-4o", messages=messages)
        print(response.choices[0].message.content)
asyncio.run(main())
""", r"^Hi there"),
    Program("chat without blocking, streamed", openai + """
import asyncio
async def main():
    async with openai.AsyncOpenAI(api_key="sk-1234", base_url="http://0.0.0.0:4000") as client:
        async for chunk in await client.chat.completions.create(model="gpt-4o", messages=messages, stream=True):
            print(chunk.choices[0].delta.content or "", end="")
asyncio.run(main())
""", r"^Hi there"),
    Program("tags in metadata", openai + """
response = client.chat.completions.create(
    model="gpt-3.5-turbo", messages=messages, user="palantir",
    extra_body={"metadata": {"tags": ["taskName:run_page_classification", "prod"], "generation_name": "test"}},
)
print(response.choices[0].message.content)
""", r"^Hi there"),
    Program("tags in a header", openai + """
print(client.chat.completions.create(model="gpt-3.5-turbo", messages=messages, extra_headers={"x-litellm-tags": "a,b"}).choices[0].message.content)
""", r"^Hi there"),
    Program("fallbacks of a request", openai + """
response = client.chat.completions.create(
    model="gpt-4o", messages=[{"role": "user", "content": "limit me"}], extra_body={"fallbacks": ["echo"], "num_retries": 0},
)
print(response.model, response.choices[0].message.content)
""", r"limit me"),
    Program("fields for the proxy", openai + """
response = client.chat.completions.create(
    model="gpt-3.5-turbo", messages=messages, extra_body={"cache": {"no-cache": True}, "timeout": 30, "drop_params": True, "num_retries": 2},
)
print(response.choices[0].message.content)
""", r"^Hi there"),
    Program("fields that a provider does not know", openai + """
response = client.chat.completions.create(model="claude-sonnet", messages=messages, seed=1, frequency_penalty=0.1, logit_bias={"50256": -1})
print(response.choices[0].message.content)
""", r"^Hi there"),
    Program("tools", openai + """
tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}
response = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "weather"}], tools=[tool], tool_choice="auto")
print(response.choices[0].message.tool_calls[0].function.name)
""", r"^get_weather"),
    Program("an answer in a schema", openai + """
from pydantic import BaseModel
class Person(BaseModel):
    name: str
    age: int
response = client.chat.completions.parse(model="gpt-4o", messages=[{"role": "user", "content": "as json"}], response_format=Person)
print(response.choices[0].message.parsed.age)
""", r"^36$"),
    Program("an answer in JSON", openai + """
import json
response = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "as json"}], response_format={"type": "json_object"})
print(json.loads(response.choices[0].message.content)["name"])
""", r"^Ada$"),
    Program("an image in the request", openai + """
pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
content = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": pixel}}]
print(client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": content}]).choices[0].message.content)
""", r"^Hi there"),
    Program("headers of the answer", openai + """
raw = client.chat.completions.with_raw_response.create(model="gpt-3.5-turbo", messages=messages)
print(raw.headers["x-litellm-call-id"], raw.headers["x-litellm-model-group"], raw.parse().choices[0].message.content)
""", r"^\S+ gpt-3.5-turbo Hi there"),
    Program("an error", openai + """
try:
    client.chat.completions.create(model="no-such-model", messages=messages)
except openai.NotFoundError as error:
    print(error.status_code)
try:
    openai.OpenAI(api_key="sk-wrong", base_url="http://0.0.0.0:4000").models.list()
except openai.AuthenticationError as error:
    print(error.status_code)
""", r"^404\n401$"),
    Program("text completions", openai + """
print(client.completions.create(model="gpt-3.5-turbo-instruct", prompt="hello", max_tokens=7).choices[0].text)
""", r"\w"),
    Program("responses", openai + """
print(client.responses.create(model="gpt-4o", input="hello").output_text)
""", r"^Hi there"),
    Program("responses, streamed", openai + """
for event in client.responses.create(model="gpt-4o", input="hello", stream=True):
    if event.type == "response.output_text.delta":
        print(event.delta, end="")
""", r"^Hi there"),
    Program("embeddings", openai + """
print(len(client.embeddings.create(model="text-embedding-ada-002", input=["hello from litellm"]).data[0].embedding))
""", r"^\d+$"),
    Program("embeddings as numbers", openai + """
response = client.embeddings.create(model="text-embedding-ada-002", input=["a", "b"], encoding_format="float")
print(len(response.data), type(response.data[1].embedding[0]).__name__)
""", r"^2 float$"),
    Program("images", openai + """
print(len(client.images.generate(model="dall-e-3", prompt="cute baby otter", n=1).data))
""", r"^1$"),
    Program("speech", openai + """
from pathlib import Path
import tempfile
path = Path(tempfile.mkdtemp()) / "speech.mp3"
client.audio.speech.create(model="tts-1", voice="alloy", input="the quick brown fox").stream_to_file(path)
print(path.stat().st_size > 100)
""", r"^True$"),
    Program("transcription", openai + """
import io, wave
buffer = io.BytesIO()
with wave.open(buffer, "wb") as sound:
    sound.setnchannels(1); sound.setsampwidth(2); sound.setframerate(8000); sound.writeframes(bytes(16000))
print(client.audio.transcriptions.create(model="whisper-1", file=("speech.wav", buffer.getvalue())).text)
""", r"\w"),
    Program("models", openai + """
print("gpt-3.5-turbo" in [model.id for model in client.models.list()], client.models.retrieve("gpt-4o").object)
""", r"model$"),
    # Azure's SDKs
    Program("Azure: chat", azure + """
print(client.chat.completions.create(model="gpt-3.5-turbo", messages=messages).choices[0].message.content)
""", r"^Hi there"),
    Program("Azure: chat, streamed", azure + """
for chunk in client.chat.completions.create(model="gpt-4o", messages=messages, stream=True):
    print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="")
""", r"^Hi there"),
    Program("Azure: embeddings", azure + """
print(len(client.embeddings.create(model="text-embedding-ada-002", input="hello").data))
""", r"^1$"),
    Program("Azure: images", azure + """
print(len(client.images.generate(model="dall-e-3", prompt="otter").data))
""", r"^1$"),
    Program("Azure: without blocking", azure + """
import asyncio
from openai import AsyncAzureOpenAI
async def main():
    async with AsyncAzureOpenAI(api_key="sk-1234", azure_endpoint="http://0.0.0.0:4000", api_version="2024-02-01") as client:
        print((await client.chat.completions.create(model="gpt-4o", messages=messages)).choices[0].message.content)
asyncio.run(main())
""", r"^Hi there"),
    Program("Azure AI Inference: chat", """
from azure.ai.inference import ChatCompletionsClient
from azure.core.credentials import AzureKeyCredential
client = ChatCompletionsClient(endpoint="http://0.0.0.0:4000", credential=AzureKeyCredential("sk-1234"))
print(client.complete(model="gpt-4o", messages=[{"role": "user", "content": "hello"}]).choices[0].message.content)
""", r"^Hi there"),
    Program("Azure AI Inference: chat, streamed", """
from azure.ai.inference import ChatCompletionsClient
from azure.core.credentials import AzureKeyCredential
client = ChatCompletionsClient(endpoint="http://0.0.0.0:4000", credential=AzureKeyCredential("sk-1234"))
for update in client.complete(model="gpt-4o", messages=[{"role": "user", "content": "hello"}], stream=True):
    print(update.choices[0].delta.content or "" if update.choices else "", end="")
""", r"^Hi there"),
    Program("Azure AI Inference: embeddings", """
from azure.ai.inference import EmbeddingsClient
from azure.core.credentials import AzureKeyCredential
client = EmbeddingsClient(endpoint="http://0.0.0.0:4000", credential=AzureKeyCredential("sk-1234"))
print(len(client.embed(model="text-embedding-ada-002", input=["a", "b"]).data))
""", r"^2$"),
    # anthropic
    Program("Anthropic: messages", anthropic + """
print(client.messages.create(model="claude-sonnet", max_tokens=100, messages=messages).content[0].text)
""", r"^Hi there"),
    Program("Anthropic: messages, streamed", anthropic + """
with client.messages.stream(model="claude-sonnet", max_tokens=100, messages=messages) as stream:
    print("".join(stream.text_stream))
""", r"^Hi there"),
    Program("Anthropic: at /anthropic", anthropic.replace(":4000", ":4000/anthropic") + """
print(client.messages.create(model="claude-sonnet", max_tokens=100, messages=messages).content[0].text)
""", r"^Hi there"),
    Program("Anthropic: a model of another provider", anthropic + """
print(client.messages.create(model="gpt-4o", max_tokens=100, messages=messages, system="Be brief.").content[0].text)
""", r"^Hi there"),
    Program("Anthropic: a bearer token", anthropic.replace("api_key=", "auth_token=") + """
print(client.messages.create(model="claude-sonnet", max_tokens=100, messages=messages).content[0].text)
""", r"^Hi there"),
    # langchain
    Program("LangChain: invoke", langchain + "print(chat.invoke(messages).content)", r"^Hi there"),
    Program("LangChain: stream", langchain + "print(''.join(chunk.content for chunk in chat.stream(messages)))", r"^Hi there"),
    Program("LangChain: batch", langchain + "print(len(chat.batch([messages, messages])))", r"^2$"),
    Program("LangChain: tags", langchain.replace("temperature=0.1", 'extra_body={"metadata": {"tags": ["langchain"]}}') + """
print(chat.invoke(messages).content)
""", r"^Hi there"),
    Program("LangChain: a prompt", langchain + """
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.output_parsers import StrOutputParser
print((ChatPromptTemplate.from_messages([("user", "{word}")]) | chat | StrOutputParser()).invoke({"word": "hello"}))
""", r"^Hi there"),
    Program("LangChain: tools", langchain + """
from langchain_core.tools import tool
@tool
def get_weather(city: str) -> str:
    "Looks up the weather."
    return "sunny"
print(chat.bind_tools([get_weather]).invoke("weather").tool_calls[0]["name"])
""", r"^get_weather$"),
    Program("LangChain: a schema", langchain.replace("gpt-3.5-turbo", "gpt-4o") + """
from pydantic import BaseModel
class Person(BaseModel):
    name: str
    age: int
print(chat.with_structured_output(Person, method="json_schema").invoke("as json").name)
""", r"^Ada$"),
    Program("LangChain: embeddings", """
from langchain_openai import OpenAIEmbeddings
embeddings = OpenAIEmbeddings(openai_api_base="http://0.0.0.0:4000", openai_api_key="sk-1234", model="text-embedding-ada-002", check_embedding_ctx_length=False)
print(len(embeddings.embed_documents(["a", "b"])))
""", r"^2$"),
    Program("LangChain: Azure", """
from langchain_openai import AzureChatOpenAI
chat = AzureChatOpenAI(azure_endpoint="http://0.0.0.0:4000", api_key="sk-1234", azure_deployment="gpt-4o", api_version="2024-02-01")
print(chat.invoke("hello").content)
""", r"^Hi there"),
    Program("LangChain: Anthropic", """
from langchain_anthropic import ChatAnthropic
chat = ChatAnthropic(anthropic_api_url="http://0.0.0.0:4000", anthropic_api_key="sk-1234", model="claude-sonnet")
print(chat.invoke("hello").content)
""", r"^Hi there"),
    # llama-index
    Program("LlamaIndex: chat", """
from llama_index.llms.openai_like import OpenAILike
from llama_index.core.llms import ChatMessage
llm = OpenAILike(model="gpt-3.5-turbo", api_base="http://0.0.0.0:4000", api_key="sk-1234", is_chat_model=True)
print(llm.chat([ChatMessage(role="user", content="hello")]).message.content)
""", r"^Hi there"),
    Program("LlamaIndex: chat, streamed", """
from llama_index.llms.openai_like import OpenAILike
from llama_index.core.llms import ChatMessage
llm = OpenAILike(model="gpt-3.5-turbo", api_base="http://0.0.0.0:4000", api_key="sk-1234", is_chat_model=True)
print("".join(part.delta or "" for part in llm.stream_chat([ChatMessage(role="user", content="hello")])))
""", r"^Hi there"),
    Program("LlamaIndex: Azure", """
from llama_index.llms.azure_openai import AzureOpenAI
llm = AzureOpenAI(engine="gpt-4o", model="gpt-4o", azure_endpoint="http://0.0.0.0:4000", api_key="sk-1234", api_version="2023-07-01-preview")
print(llm.complete("hello"))
""", r"^Hi there"),
    Program("LlamaIndex: embeddings", """
from llama_index.embeddings.openai import OpenAIEmbedding
model = OpenAIEmbedding(model_name="text-embedding-ada-002", api_base="http://0.0.0.0:4000", api_key="sk-1234")
print(len(model.get_text_embedding_batch(["a", "b"])))
""", r"^2$"),
    # instructor
    Program("Instructor: a schema", openai + """
import instructor
from pydantic import BaseModel
class Person(BaseModel):
    name: str
    age: int
person = instructor.from_openai(client, mode=instructor.Mode.JSON).chat.completions.create(
    model="gpt-4o", response_model=Person, messages=[{"role": "user", "content": "as json"}],
)
print(person.name)
""", r"^Ada$"),
]

chat = """-H 'Content-Type: application/json' -d '{"model": "gpt-3.5-turbo", "messages": [{"role": "user", "content": "hello"}]}'"""
bearer = "-H 'Authorization: Bearer sk-1234'"

curl = [
    Program("curl: chat", f"curl -s http://0.0.0.0:4000/chat/completions {bearer} {chat}", r"Hi there"),
    Program("curl: chat under /v1", f"curl -s --location 'http://0.0.0.0:4000/v1/chat/completions' {bearer} {chat}", r"Hi there"),
    Program("curl: chat, streamed", f"curl -sN http://0.0.0.0:4000/chat/completions {bearer} {chat[:-2]}, \"stream\": true}}'", r"^data: [^]*data: \[DONE\]".replace("[^]", r"[\s\S]")),
    Program("curl: the key in its own header", f"curl -s http://0.0.0.0:4000/chat/completions -H 'x-litellm-api-key: Bearer sk-1234' {chat}", r"Hi there"),
    Program("curl: a deployment of Azure", f"curl -s 'http://0.0.0.0:4000/openai/deployments/gpt-4o/chat/completions?api-version=2023-07-01-preview' -H 'api-key: sk-1234' {chat}", r"Hi there"),
    Program("curl: an engine", f"curl -s http://0.0.0.0:4000/engines/gpt-4o/chat/completions {bearer} {chat}", r"Hi there"),
    Program("curl: tags", f"curl -s http://0.0.0.0:4000/chat/completions {bearer} {chat[:-2]}, \"metadata\": {{\"tags\": [\"a\"]}}}}'", r"Hi there"),
    Program("curl: messages", f"curl -s http://0.0.0.0:4000/v1/messages -H 'x-api-key: sk-1234' -H 'anthropic-version: 2023-06-01' {chat[:-2]}, \"max_tokens\": 50}}'", r"Hi there"),
    Program("curl: messages under /anthropic", f"curl -s http://0.0.0.0:4000/anthropic/v1/messages {bearer} {chat[:-2]}, \"max_tokens\": 50}}'", r"Hi there"),
    Program("curl: responses", f"curl -s http://0.0.0.0:4000/responses {bearer} -H 'Content-Type: application/json' -d '{{\"model\": \"gpt-4o\", \"input\": \"hello\"}}'", r"Hi there"),
    Program("curl: embeddings", f"curl -s http://0.0.0.0:4000/embeddings {bearer} -H 'Content-Type: application/json' -d '{{\"model\": \"text-embedding-ada-002\", \"input\": [\"a\"]}}'", r'"embedding"'),
    Program("curl: models", f"curl -s http://0.0.0.0:4000/models {bearer}", r'"object": ?"list"'),
    Program("curl: what is behind a model", f"curl -s http://0.0.0.0:4000/model/info {bearer}", r'"model_name": ?"gpt-3.5-turbo"'),
    Program("curl: the key", f"curl -s http://0.0.0.0:4000/key/info {bearer}", r'"info"'),
    Program("curl: liveness", "curl -sf http://0.0.0.0:4000/health/liveliness", r"\w"),
    Program("curl: readiness", "curl -sf http://0.0.0.0:4000/health/readiness", r"\w"),
]
