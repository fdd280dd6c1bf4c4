# SPDX-License-Identifier: Apache-2.0
"""Answers in OpenAI's shape, made of what an engine answers. Any thread."""
from __future__ import annotations

import os
import queue
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from ._engine import Engine, text_part_logprobs

Json = Dict[str, Any]
Part = Tuple[str, Optional[List[Json]]]  # new text, and its tokens' log-probabilities


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


class Chat:
    """A conversation's answer."""

    object = "chat.completion"
    chunk_object = "chat.completion.chunk"
    id = "chatcmpl"

    def __init__(self, model: str, body: Json) -> None:
        self._body = body
        self._head = {"id": f"{self.id}-{os.urandom(12).hex()}", "created": int(time.time()),
                      "model": body.get("model", model)}

    def whole(self, engine: Engine) -> Json:
        """The whole answer."""
        future = engine.answer(self._body)
        try:
            answer = future.result()
        except BaseException:
            future.cancel()
            raise
        choices = answer.get("choices", [answer])
        used = sum(len(choice["ids"]) for choice in choices)
        return {**self._head, "object": self.object,
                "choices": [self._choice(index, choice) for index, choice in enumerate(choices)],
                "usage": {"prompt_tokens": answer["prompt_tokens"], "completion_tokens": used,
                          "total_tokens": answer["prompt_tokens"] + used}}

    def stream(self, engine: Engine) -> Iterator[Json]:
        """Its chunks. The last one says how it ended."""
        ended: List[Json] = []
        yield from self._begin()
        for text, logprobs in self._parts(engine, ended):
            yield self._chunk(self._delta(text, logprobs))
        yield from self._end(ended[0])
        yield self._chunk({**self._last(), "finish_reason": finish_reason(ended[0])})

    def _parts(self, engine: Engine, ended: List[Json]) -> Iterator[Part]:
        """The text as it comes; the whole answer goes to `ended`. Leaving early ends the request."""
        parts: queue.SimpleQueue[Optional[Part]] = queue.SimpleQueue()
        wanted = "logprobs" in self._body

        def put(text: str) -> None:
            parts.put((text, text_part_logprobs() if wanted else None))
        future = engine.answer(self._body, on_text=None if self._is_quiet() else put)
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

    def _chunk(self, choice: Json) -> Json:
        return {**self._head, "object": self.chunk_object, "choices": [choice]}

    # What a conversation's answer has otherwise than a text's.

    def _is_quiet(self) -> bool:
        return bool(self._body.get("tools"))  # calls are told when they are whole

    def _begin(self) -> Iterator[Json]:
        yield self._chunk({**self._last(), "delta": {"role": "assistant"}})

    def _delta(self, text: str, logprobs: Optional[List[Json]]) -> Json:
        content = {} if logprobs is None else {"logprobs": {"content": logprobs}}
        return {**self._last(), "delta": {"content": text}, **content}

    def _end(self, answer: Json) -> Iterator[Json]:
        if self._is_quiet():
            calls = [{"index": index, **call} for index, call in enumerate(answer["tool_calls"])]
            yield self._chunk({**self._last(), "delta": {
                "content": answer["text"], **({"tool_calls": calls} if calls else {})}})

    def _last(self) -> Json:
        return {"index": 0, "delta": {}, "finish_reason": None}

    def _choice(self, index: int, choice: Json) -> Json:
        message = {"role": "assistant", "content": choice["text"]}
        if choice.get("tool_calls"):
            message["tool_calls"] = choice["tool_calls"]
        logprobs = {"logprobs": choice["logprobs"]} if "logprobs" in choice else {}
        return {"index": index, "finish_reason": finish_reason(choice), "message": message,
                **logprobs}


class Completion(Chat):
    """A text that goes on. echo: the text that stands in front of the answer, "" for none."""

    object = "text_completion"
    chunk_object = "text_completion"
    id = "cmpl"

    def __init__(self, model: str, body: Json, echo: str = "") -> None:
        super().__init__(model, body)
        self._echo = echo
        self._offset = len(echo)

    def _is_quiet(self) -> bool:
        return False

    def _begin(self) -> Iterator[Json]:
        if self._echo:
            yield self._chunk({**self._last(), "text": self._echo})

    def _delta(self, text: str, logprobs: Optional[List[Json]]) -> Json:
        return {**self._last(), "text": text, "logprobs": self._legacy(logprobs)}

    def _end(self, answer: Json) -> Iterator[Json]:
        return iter(())

    def _last(self) -> Json:
        return {"index": 0, "text": "", "logprobs": None, "finish_reason": None}

    def _choice(self, index: int, choice: Json) -> Json:
        self._offset = len(self._echo)
        content = choice["logprobs"]["content"] if "logprobs" in choice else None
        return {"index": index, "finish_reason": finish_reason(choice),
                "text": self._echo + choice["text"], "logprobs": self._legacy(content)}

    def _legacy(self, tokens: Optional[List[Json]]) -> Union[Json, None]:
        """Log-probabilities as completions write them."""
        if tokens is None:
            return None
        offsets = []
        for token in tokens:
            offsets.append(self._offset)
            self._offset += len(token["token"])
        return {"tokens": [token["token"] for token in tokens],
                "text_offset": offsets,
                "token_logprobs": [token["logprob"] for token in tokens],
                "top_logprobs": [{top["token"]: top["logprob"] for top in token["top_logprobs"]}
                                 for token in tokens]}
