"""Runs the cases of a client, one after another: `@case` adds one, `run()` prints a line for each and the counts."""

import asyncio
import inspect
import json
import os
import sys
import time
import traceback

from pydantic import BaseModel

url = os.environ["HEADGATE_URL"]
key = os.environ["HEADGATE_KEY"]

# One model of each provider that clients are tried with; the last three are played by a fake.
models = ["sandbox/thinker", "openai/gpt-5", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro"]
# The sandbox gets directives for what to call; the fake knows by itself.
weather_question = 'weather: use get_weather with {"city":"Paris"} and get_time with {"city":"Paris"} [sandbox: rounds=2]'
city_schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
functions = [{"name": name, "description": f"Look up: {name}", "parameters": city_schema} for name in ("get_weather", "get_time")]
chat_tools = [{"type": "function", "function": function} for function in functions]
hello = [{"role": "user", "content": "hello"}]


class Person(BaseModel):
    name: str
    age: int


def result_of(name):
    return "noon" if name == "get_time" else "sunny"


def calls_of(model):
    """Returns how many tools each turn of the conversation calls."""
    return [2, 2, 0] if model.startswith("sandbox/") else [2, 1, 0]


def converse_in_chat(model, ask):
    """Holds the conversation of three turns in the words of chat completions; `ask` returns the message of one turn."""
    messages, seen = [{"role": "user", "content": weather_question}], []
    while len(seen) < 4 and seen[-1:] != [0]:
        message = ask(messages)
        calls = message.tool_calls or []
        seen.append(len(calls))
        messages.append(message.model_dump(exclude_none=True))
        for call in calls:
            assert "city" in json.loads(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result_of(call.function.name)})
    assert seen == calls_of(model) and message.content


_cases = []


def case(*rows):
    """Adds a function as a case, or as one for each of the rows."""

    def add(function):
        for row in rows or [()]:
            _cases.append((function, row if isinstance(row, tuple) else (row,)))
        return function

    return add


def raises(kind, function, *args, **named):
    """Returns the error of this kind that a call raises."""
    try:
        function(*args, **named)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def run():
    loop = asyncio.new_event_loop()  # one for all: clients close their connections in the loop that opened them
    name = os.path.basename(sys.argv[0]).removesuffix(".py")
    failed = 0
    for function, row in _cases:
        title = f"{name}: {function.__name__.replace('_', ' ')}{''.join(f', {value}' for value in row)}"
        began = time.monotonic()
        try:
            outcome = function(*row)
            if inspect.iscoroutine(outcome):
                loop.run_until_complete(outcome)
            print(f"ok - {title} ({time.monotonic() - began:.2f} s)", flush=True)
        except Exception:
            failed += 1
            print(f"not ok - {title}\n{traceback.format_exc()}", flush=True)
    loop.run_until_complete(loop.shutdown_asyncgens())
    print(f"{len(_cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
