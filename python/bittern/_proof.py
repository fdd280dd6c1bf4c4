# SPDX-License-Identifier: Apache-2.0
"""Models measured, proved and used for vectors."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Tuple, Union

from . import _library as c
from ._work import Cancel, Progress

if TYPE_CHECKING:
    from ._sequence import Floats

Json = Union[str, bytes, Dict[str, Any], List[Any]]


def _object(result: c.Handle) -> Dict[str, Any]:
    found: Dict[str, Any] = json.loads(c.result_json(result))
    return found


def _bytes(text: Union[str, bytes], name: str) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, (bytes, bytearray)):
        return bytes(text)
    raise TypeError(f"{name}: str or bytes expected, {type(text).__name__} found")


class Provable:
    """The part of Model that is about proof, scores and vectors."""

    @property
    def handle(self) -> c.Handle:
        """The model's handle, for the C interface."""
        raise NotImplementedError

    def certify(self, *, progress: Progress = None, **settings: Any) -> str:
        """The line that is the same on every machine where the model answers alike."""
        cancel = Cancel(progress)
        chosen = c.options(settings)
        result = cancel.run(lambda: c.make("result", "bittern_certify", self.handle, chosen,
                                           cancel.function, None))
        return c.result_text(result).decode()

    def verify(self, receipts: Json) -> Dict[str, Any]:
        """Replays the answers that receipts stand for: a dict with "identical" and "what".

        receipts: a receipt (Text.receipt), an answer of the server, or the JSON text of either.
        """
        text = json.dumps(receipts) if isinstance(receipts, (dict, list)) else receipts
        data = _bytes(text, "receipts")
        return _object(c.make("result", "bittern_verify", self.handle, data, len(data), None))

    def score_text(self, text: Union[str, bytes], *, progress: Progress = None,
                   **settings: Any) -> Dict[str, Any]:
        """How well the model predicts a text: "perplexity", "bits_per_byte", "tokens", ...

        settings: window, stride, most, every_token, threads, kv_type, batch_size.
        """
        return self._score("bittern_score_text", _bytes(text, "text"), progress, settings)

    def score_choices(self, lines: Union[str, bytes], *, progress: Progress = None,
                      **settings: Any) -> Dict[str, Any]:
        """How many multiple-choice questions, a JSON object a line, it answers rightly: "acc", ..."""
        return self._score("bittern_score_choices", _bytes(lines, "lines"), progress, settings)

    def _score(self, name: str, data: bytes, progress: Progress,
               settings: Dict[str, Any]) -> Dict[str, Any]:
        cancel = Cancel(progress)
        chosen = c.options(settings)
        return _object(cancel.run(lambda: c.make("result", name, self.handle, data, len(data),
                                                 chosen, cancel.function, None)))

    def _pooled(self, ids: Iterable[int], settings: Dict[str, Any]) -> Floats:
        floats: Floats = c.result_array(self._embed(ids, settings))
        return floats

    def _vector(self, ids: Iterable[int], settings: Dict[str, Any]) -> List[float]:
        return c.result_floats(self._embed(ids, settings))

    def _embed(self, ids: Iterable[int], settings: Dict[str, Any]) -> c.Handle:
        values, count = c.array(ids)
        return c.make("result", "bittern_embed", self.handle, values, count, c.options(settings))

    def parse_answer(self, text: Union[str, bytes]) -> Tuple[str, List[Dict[str, Any]]]:
        """The calls of functions in a text that the model has made: the text beside them, and the
        calls in OpenAI's form."""
        data = _bytes(text, "text")
        result = c.make("result", "bittern_parse_answer", self.handle, data, len(data))
        return c.result_text(result).decode(), _object(result)["tool_calls"]
