#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_random_test.py BITTERN [COUNT] [CLIENTS] [ISA...]   random requests to `bittern serve`: all
doors, samplers, constraints, functions, streamed or not, shared prefixes, clients that go away. Each is asked
alone, then all by CLIENTS at once, then after a restart with other threads, slots and memory, then with each ISA
of BITTERN_ISA: what comes must be the same bytes, but for ids, times and what the cache held. Calls in whole
answers of chats must be as the request has them. One receipt of each kind of answer is verified. RANDOM_SEED names
another set."""
import atexit
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time

from serve_client import Server

BITTERN = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 60
CLIENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 16
ISAS = sys.argv[4:]
SEED = int(os.environ.get("RANDOM_SEED", "1"))

WORDS = "what is a tern gull river law of the mind that moves in water and Wärme 水 🐦 house \n {\"a\": 1} stone".split(" ")
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "legs": {"type": "integer",
          "minimum": 0, "maximum": 9}}, "required": ["name", "legs"], "additionalProperties": False}
CHANGING = {"id", "item_id", "call_id", "created", "created_at", "timings", "cached_tokens", "tokens_cached", "cache_read_input_tokens",
            "input_tokens", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration"}


LAMP = {"type": "object", "properties": {"on": {"type": "boolean"}, "at": {"type": "array", "maxItems": 2, "items": {
        "type": "integer", "minimum": 0, "maximum": 99}}}, "required": ["on"], "additionalProperties": False}
CITY = {"type": "object", "properties": {"city": {"enum": ["Rom", "Wien", "水"]}}, "required": ["city"]}
# Functions by name, with their parameters and whether arguments are such.
FUNCTIONS = {"find": (SCHEMA, lambda a: a.keys() == {"name", "legs"} and len(a["name"]) <= 12 and a["legs"] in range(10)),
             "weather": (CITY, lambda a: a["city"] in ("Rom", "Wien", "水")),
             "lamp_2": (LAMP, lambda a: {"on"} <= a.keys() <= {"on", "at"} and isinstance(a["on"], bool)
                        and len(a.get("at", [])) <= 2 and all(one in range(100) for one in a.get("at", [])))}


def text(rng, least, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def sampling(rng):
    """Fields that say how tokens are drawn."""
    fields = {"temperature": rng.choice([0, 0.2, 0.8, 1.0, 1.7]), "seed": rng.randrange(1 << 32)}
    choices = {"top_k": [0, 1, 5, 40, 1000], "top_p": [0.1, 0.5, 0.9, 1.0], "min_p": [0, 0.05, 0.3],
               "typical_p": [0.2, 0.7, 1.0], "top_n_sigma": [-1, 1.0, 2.5], "xtc_probability": [0, 0.5, 1.0],
               "xtc_threshold": [0.05, 0.1], "dynatemp_range": [0, 0.5], "dynatemp_exponent": [0.5, 2.0],
               "dry_multiplier": [0, 0.8], "dry_allowed_length": [1, 3], "dry_penalty_last_n": [-1, 0, 32],
               "repeat_penalty": [1.0, 1.1, 1.5], "repeat_last_n": [-1, 0, 16, 64], "presence_penalty": [0, 0.6],
               "frequency_penalty": [0, 0.4], "mirostat": [0, 1, 2], "mirostat_tau": [2.0, 5.0], "min_keep": [0, 3],
               "adaptive_target": [-1, 0.5], "stop_on_loop": [False, True], "ignore_eos": [False, True],
               "samplers": [["top_k", "temperature"], ["penalties", "min_p", "xtc", "temperature"], ["dry", "top_p", "adaptive_p"]],
               "logit_bias": [{"100": 2.5, "200": -100}, [[300, False]]], "stop": [[" the"], ["a", "zzz"], ["\n"]]}
    for name in rng.sample(sorted(choices), rng.randint(0, 5)):
        fields[name] = rng.choice(choices[name])
    return fields


def functions(rng, shape):
    """Fields with functions and how they may be called, as the door of this shape writes them."""
    tools = [{"name": name, "description": text(rng, 1, 6), "parameters": FUNCTIONS[name][0]}
             for name in rng.sample(sorted(FUNCTIONS), rng.randint(1, 3))]
    choice, parallel = rng.choice(["auto", "required", "required", "named", "none", None]), rng.choice([True, False, None])
    if shape == "messages":
        written = {"required": {"type": "any"}, "named": {"type": "tool", "name": tools[0]["name"]}}.get(choice, {"type": choice})
        if parallel is not None and choice in ("auto", "required", "named"):
            written["disable_parallel_tool_use"] = not parallel
        body = {"tools": [{"input_schema" if name == "parameters" else name: tool[name] for name in tool} for tool in tools]}
        return {**body, **({"tool_choice": written} if choice else {})}
    if shape == "ollama":
        return {"tools": [{"type": "function", "function": tool} for tool in tools]}
    named = {"type": "function", "name": tools[0]["name"]}
    if shape == "responses":
        body = {"tools": [{"type": "function", **tool} for tool in tools]}
    else:
        body = {"tools": [{"type": "function", "function": tool} for tool in tools]}
        named = {"type": "function", "function": {"name": tools[0]["name"]}}
    if choice:
        body["tool_choice"] = named if choice == "named" else choice
    return body if parallel is None else {**body, "parallel_tool_calls": parallel}


def chat_elsewhere(rng, kind, prompt, count, stream):
    """A conversation at Anthropic's door, at Ollama's or at OpenAI's responses, with functions or without."""
    drawn, body = sampling(rng), functions(rng, kind) if rng.random() < 0.4 else {}
    count += 60 if "tools" in body else 0  # a call is long
    messages = [{"role": "user", "content": prompt}]
    if kind == "ollama":
        options = {name: drawn[name] for name in ("temperature", "seed", "top_k", "top_p", "repeat_penalty", "stop") if name in drawn}
        return "/api/chat", {**body, "model": "m", "messages": messages, "stream": stream, "options": {**options, "num_predict": count}}
    body.update({name: drawn[name] for name in ("temperature", "seed", "top_k", "top_p") if name in drawn})
    body["stream"] = stream
    if kind == "responses":
        return "/v1/responses", {**body, "input": prompt, "max_output_tokens": count}
    body["temperature"] = min(body["temperature"], 1.0)
    return "/v1/messages", {**body, "max_tokens": count, "messages": messages}


def request(rng, prefixes):
    """(path, body)"""
    kind = rng.choice(["native", "native", "completions", "completions", "chat", "chat", "chat", "chat", "messages", "responses",
                       "ollama", "generate"])
    prompt = rng.choice(prefixes) + text(rng, 1, 12)
    body, count = sampling(rng), rng.randint(1, 40)
    stream = rng.random() < 0.5
    if kind == "generate":
        names = {"dry_sequence_breakers", "samplers", "logit_bias", "stop_on_loop", "ignore_eos", "adaptive_target", "top_n_sigma"}
        options = {name: value for name, value in body.items() if name not in names}
        return "/api/generate", {"model": "m", "prompt": prompt, "raw": True, "stream": stream,
                                 "options": {**options, "num_predict": count}}
    if kind in ("messages", "responses", "ollama"):
        return chat_elsewhere(rng, kind, prompt, count, stream)
    constraint = rng.random()
    if kind == "chat" and rng.random() < 0.4:
        body.update(functions(rng, kind))
        count += 60  # a call is long
        constraint = rng.choice([0, 1])  # a schema beside functions, or none; grammars are refused there
    if constraint < 0.1:
        body["json_schema"] = SCHEMA
    elif constraint < 0.2:
        body["grammar"] = 'root ::= ("ab" | "c")* " end"'
    elif constraint < 0.25:
        body["regex"] = "[a-z]{3,20}( [0-9]+)?"
    if rng.random() < 0.2:
        body["receipt"] = True
    if rng.random() < 0.15:
        body["n"] = rng.randint(2, 3)
    body.update({"stream": stream, "max_tokens": count})
    if kind == "native":
        return "/completion", {**body, "prompt": prompt, "n_probs": rng.choice([0, 0, 3]), "return_tokens": rng.random() < 0.5}
    if kind == "completions":
        if rng.random() < 0.2:
            body["logprobs"] = rng.randint(0, 5)
        if rng.random() < 0.1:
            body["echo"] = True
        return "/v1/completions", {**body, "prompt": prompt if rng.random() < 0.8 else [prompt, text(rng, 1, 5)]}
    if rng.random() < 0.2:
        body.update({"logprobs": True, "top_logprobs": rng.randint(0, 5)})
    messages = [{"role": "user", "content": prompt}]
    if rng.random() < 0.3:
        messages = [{"role": "system", "content": text(rng, 1, 8)}, *messages, {"role": "assistant", "content": text(rng, 1, 8)},
                    {"role": "user", "content": text(rng, 1, 8)}]
    if stream:
        body["stream_options"] = {"include_usage": rng.random() < 0.5}
    return "/v1/chat/completions", {**body, "messages": messages}


def bare(value):
    """Without what may differ: ids, times, what the cache held."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key not in CHANGING}
    return [bare(one) for one in value] if isinstance(value, list) else value


def choice_of(piece):
    """Pieces of several choices of one request come as the engine runs them: each choice has its order."""
    if not isinstance(piece, dict) or "stop_reason" in piece:
        return 1 << 30
    if "type" in piece:  # an event of Anthropic's or of responses: these have one choice
        return 0
    choices = piece.get("choices", [piece])
    return choices[0].get("index", 0) if choices else 1 << 30


def parts(status, content):
    """Status and the parsed pieces of an answer, in order. Of a stream that was cut: its whole pieces."""
    lines = content.split("\n")
    if content.startswith("data: ") or content.startswith("event: ") or content.startswith(":"):
        lines = [line[6:] for line in lines[:-1] if line.startswith("data: ")]
    elif len(lines) > 1:
        lines = lines[:-1]
    pieces = [line if line == "[DONE]" else bare(json.loads(line)) for line in lines if line]
    pieces = [piece for piece in pieces if piece != {"type": "ping"}]  # Anthropic's, after some silence
    return [status, *sorted(pieces, key=choice_of)]


def ask(server, path, body, cut=None):
    """The answer's parts; `cut`: the client goes away after so many bytes, what it has is returned."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=1800)
    try:
        for _ in range(200):
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            if answer.status != 503:  # the queue is full
                break
            answer.read()
            time.sleep(0.05)
        if cut is None:
            return parts(answer.status, answer.read().decode())
        got = answer.read(cut)
        while not answer.isclosed() and len(got) < cut and (more := answer.read(cut - len(got))):
            got += more
        return parts(answer.status, got.decode(errors="ignore").rpartition("\n\n")[0] + "\n\n")
    finally:
        connection.close()


def one_choice(body):
    return "n" not in body and not isinstance(body.get("prompt"), list)


def together(server, requests, rng):
    """All answers, asked by CLIENTS at once in a random order; some clients go away."""
    order = list(range(len(requests)))
    rng.shuffle(order)
    cuts = {i: rng.randint(1, 3000) for i in order if rng.random() < 0.1 and requests[i][1].get("stream", False)
            and requests[i][0] != "/api/generate" and one_choice(requests[i][1])}
    answers, lock, errors = [None] * len(requests), threading.Lock(), []

    def client():
        while True:
            with lock:
                if not order:
                    return
                i = order.pop()
            try:
                answers[i] = ask(server, *requests[i], cut=cuts.get(i))
            except Exception as error:  # one lost request must not hide the others
                errors.append((i, repr(error)))

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[:3]
    return answers, cuts


def started(*flags, env=None):
    """A server that does not outlive a failed test."""
    server = Server(BITTERN, *flags, "--log-format", "none", env=env)
    atexit.register(server.kill)
    return server


def compare(name, requests, alone, answers, cuts):
    wrong = []
    for i, (expected, found) in enumerate(zip(alone, answers)):
        if found != (expected[:len(found)] if i in cuts else expected):
            wrong.append(i)
    for i in wrong[:3]:
        print(f"{name}: request {i} {requests[i]}\n alone {alone[i]}\n found {answers[i]}")
    assert not wrong, f"{name}: {len(wrong)} of {len(requests)} differ"
    print(f"{name}: {len(requests)} answers, {len(cuts)} of them cut by the client: the same bytes", flush=True)


def check_calls(requests, answers):
    """Counts the calls in whole answers of chats; each is what its request allows."""
    counts = {"auto": 0, "required": 0, "named": 0}
    for (path, body), answer in zip(requests, answers):
        if path != "/v1/chat/completions" or body["stream"] or answer[0] != 200 or "tools" not in body:
            continue
        choice = body.get("tool_choice", "auto")
        offered = [tool["function"]["name"] for tool in body["tools"]]
        if isinstance(choice, dict):
            choice, offered = "named", [choice["function"]["name"]]
        for one in answer[1]["choices"]:
            calls = [call["function"] for call in one["message"].get("tool_calls") or []]
            if one["finish_reason"] == "length":  # the last call is cut
                calls = calls[:-1]
            elif choice in ("required", "named") and "json_schema" not in body:
                assert calls or one["finish_reason"] == "stop" and "stop" in body, (body, one)
            assert choice != "none" or not calls, (body, one)
            assert len(calls) <= 1 or choice != "named" and body.get("parallel_tool_calls", True), (body, one)
            for call in calls:
                assert call["name"] in offered and FUNCTIONS[call["name"]][1](json.loads(call["arguments"])), (body, one)
                counts[choice] += 1
    print(f"calls that are as asked: {counts}", flush=True)


def receipts(value):
    if isinstance(value, dict):
        if "bittern_receipt" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from receipts(one)


def verify(found, env=None):
    for receipt in found:
        run = subprocess.run([BITTERN, "verify", "-", "-t", "1"], input=json.dumps(receipt), capture_output=True, text=True,
                             env=env, check=False)
        assert run.returncode == 0, (run.stdout, run.stderr, receipt)


def main():
    rng = random.Random(SEED)
    prefixes = ["", *(text(rng, 2, most) + " " for most in (5, 20, 60, 110))]
    requests = [request(rng, prefixes) for _ in range(COUNT)]
    server = started("-np", "1", "-t", "1")
    alone = [ask(server, *one) for one in requests]
    assert server.stop() == 0
    good = sum(answer[0] == 200 for answer in alone)
    print(f"alone: {good} answers, {COUNT - good} refused (statuses {sorted({answer[0] for answer in alone})})", flush=True)
    assert good > 0.9 * COUNT, [(one, answer) for one, answer in zip(requests, alone) if answer[0] != 200][:3]
    check_calls(requests, alone)
    runs = [("beside others", ["-np", "16", "-t", "2"], None), ("restarted", ["-np", "64", "-t", "1", "--cache-mib", "8"], None),
            *((f"BITTERN_ISA={isa}", ["-np", "16", "-t", "3"], {**os.environ, "BITTERN_ISA": isa}) for isa in ISAS)]
    for name, flags, env in runs:
        server = started(*flags, env=env)
        answers, cuts = together(server, requests, rng)
        compare(name, requests, alone, answers, cuts)
        assert server.stop() == 0, server.output()
    found = list(receipts(alone))
    chosen = found[:: max(1, len(found) // 10)]
    verify(chosen)
    print(f"{len(chosen)} of {len(found)} receipts verified")


main()
