# SPDX-License-Identifier: Apache-2.0
"""Conversations that chat templates are rendered with: each is the names a template finds."""

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather at a place <now> & \"here\"",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "A city's name"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "array", "items": {"type": "integer"}},
        "at": {"type": ["string", "null"], "default": None}},
        "required": ["city"]}}}
CLOCK = {"type": "function", "function": {
    "name": "get_time", "description": "Time now", "parameters": {"type": "object", "properties": {}}}}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def system(text):
    return {"role": "system", "content": text}


def call(name, arguments, ident="call00001"):
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


PARIS = {"city": "Paris", "unit": "celsius", "days": [1, 2], "rain": True, "at": None, "x": 1.5}

CONVERSATIONS = {
    "user": {"messages": [user("Hello, who are you?")], "add_generation_prompt": True},
    "system": {"messages": [system("You are brief.\n"), user(" Hi "), assistant("Hello."),
                            user("Name a bird.\n\nOr two.")], "add_generation_prompt": True},
    "ends with reply": {"messages": [user("1+1?"), assistant("2"), user("2+2?"), assistant(" 4 \n")],
                        "add_generation_prompt": False},
    "tools": {"messages": [system("Use tools."), user("Weather in Paris?")],
              "tools": [WEATHER, CLOCK], "add_generation_prompt": True},
    "tool result": {"messages": [
        user("Weather in Paris?"), assistant("", tool_calls=[call("get_weather", PARIS)]),
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001",
         "content": "{\"sky\": \"clear\"}"}],
        "tools": [WEATHER], "add_generation_prompt": True},
    "two calls": {"messages": [
        user("Weather in Paris, and the time?"),
        assistant("I look.", tool_calls=[call("get_weather", PARIS), call("get_time", {}, "call00002")]),
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "clear"},
        {"role": "tool", "name": "get_time", "tool_call_id": "call00002", "content": "12:00"},
        assistant("Clear, at noon."), user("Thanks")],
        "tools": [WEATHER, CLOCK], "add_generation_prompt": True},
    "calls as text": {"messages": [
        user("Time?"), {"role": "assistant", "content": None,
                        "tool_calls": [call("get_time", "{\"zone\": \"UTC\"}")]},
        {"role": "tool", "tool_call_id": "call00001", "content": "12:00"}],
        "tools": [CLOCK], "add_generation_prompt": True},
    "thinking": {"messages": [
        user("17*3?"), assistant("<think>\n17*3 is 51\n</think>\n\n51", reasoning_content="17*3"),
        user("And 18*3?")], "add_generation_prompt": True, "enable_thinking": True},
    "no thinking": {"messages": [user("17*3?"), assistant("51", thinking="17*3", reasoning="17*3"),
                                 user("18*3?")],
                    "add_generation_prompt": True, "enable_thinking": False,
                    "reasoning_effort": "low"},
    "odd roles": {"messages": [{"role": "developer", "content": "Be kind."}, user("Hi"),
                               {"role": "critic", "content": "Hm."}, user("Twice"), user("in a row")],
                  "add_generation_prompt": True},
    "empty content": {"messages": [system(""), user(""), assistant(""), user("<|im_end|> {{ x }} \u00e9\u4e2d\U0001F600")],
                      "add_generation_prompt": True},
    "parts": {"messages": [
        {"role": "system", "content": [{"type": "text", "text": "Look."}]},
        {"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": " this?"}]}],
        "documents": [{"title": "A", "text": "Alpha", "doc_id": 1}], "add_generation_prompt": True},
}


def names(name):
    given = {"tools": None, "documents": None, **TOKENS}
    given.update(CONVERSATIONS[name])
    return given
