# SPDX-License-Identifier: Apache-2.0
"""Answers in OpenAI's shape, made of what an engine answers. Any thread."""
from __future__ import annotations

import os
import queue
import time
from typing import Any, Dict, Iterator, List, Union

from ._engine import Engine

Json = Dict[str, Any]


def body_of(request: Json, **given: Any) -> Json:
    """The body of a request: what is None is left to the defaults, and without max_tokens an answer
    ends where the model ends it."""
    body = {key: value for key, value in {**request, **given}.items() if value is not None}
    return {"max_tokens": -1, **body}


def finish_reason(choice: Json) -> str:
    """OpenAI's word for how a choice ended."""
    if choice.get("tool_calls"):
        return "tool_calls"
    return {"end_of_text": "stop", "stop_string": "stop"}.get(choice["finish_reason"], "length")


def _parts(engine: Engine, body: Json, ended: List[Json], *, quiet: bool) -> Iterator[str]:
    """The text of a request as it comes, nothing of it where `quiet`; the answer goes to `ended`.
    Leaving early ends the request."""
    parts: queue.SimpleQueue[Union[str, None]] = queue.SimpleQueue()
    future = engine.answer(body, on_text=None if quiet else parts.put)
    future.add_done_callback(lambda _: parts.put(None))
    try:
        while True:
            part = parts.get()
            if part is None:
                break
            yield part
        ended.append(future.result())
    finally:
        future.cancel()


class Chat:
    """A conversation's answer."""

    object = "chat.completion"
    chunk_object = "chat.completion.chunk"
    id = "chatcmpl"

    def __init__(self, model: str, body: Json) -> None:
        self._body = body
        self._head = {"id": f"{self.id}-{os.urandom(12).hex()}", "created": int(time.time()),
                      "model": model}

    def whole(self, engine: Engine) -> Json:
        """The whole answer."""
        answer = self._wait(engine)
        choices = answer.get("choices", [answer])
        used = sum(len(choice["ids"]) for choice in choices)
        return {**self._head, "object": self.object,
                "choices": [self.choice(index, choice) for index, choice in enumerate(choices)],
                "usage": {"prompt_tokens": answer["prompt_tokens"], "completion_tokens": used,
                          "total_tokens": answer["prompt_tokens"] + used}}

    def stream(self, engine: Engine) -> Iterator[Json]:
        """Its chunks. The last one says how it ended."""
        ended: List[Json] = []
        yield self._chunk({"role": "assistant"})
        quiet = bool(self._body.get("tools"))  # calls are told when they are whole
        for part in _parts(engine, self._body, ended, quiet=quiet):
            yield self._chunk({"content": part})
        answer = ended[0]
        if quiet:
            calls = [{"index": index, **call} for index, call in enumerate(answer["tool_calls"])]
            yield self._chunk({"content": answer["text"], **({"tool_calls": calls} if calls else {})})
        yield self._chunk({}, finish_reason(answer))

    def _wait(self, engine: Engine) -> Json:
        future = engine.answer(self._body)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def choice(self, index: int, choice: Json) -> Json:
        """A choice of the whole answer."""
        message = {"role": "assistant", "content": choice["text"]}
        if choice.get("tool_calls"):
            message["tool_calls"] = choice["tool_calls"]
        logprobs = {"logprobs": choice["logprobs"]} if "logprobs" in choice else {}
        return {"index": index, "finish_reason": finish_reason(choice), "message": message,
                **logprobs}

    def _chunk(self, delta: Json, reason: Union[str, None] = None) -> Json:
        return {**self._head, "object": self.chunk_object,
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
