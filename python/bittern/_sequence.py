# SPDX-License-Identifier: Apache-2.0
"""A text being read and made, token by token."""
from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterable, Iterator, List, Optional

from . import _library as c
from ._work import Put, async_pieces, awaited, interruptible, pieces

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from ._model import Model

    Floats = NDArray[numpy.float32]


class Text(str):
    """A text that a model made: a str with its ids and how it came about."""

    __slots__ = ("__dict__",)
    ids: List[int]
    finish_reason: str
    seed: int
    drafted: int
    accepted: int
    logprobs: Dict[str, Any]  # where they were asked for (logprobs=0 or more)
    receipt: Dict[str, Any]  # where one was asked for (receipt=True): Model.verify() takes it

    @classmethod
    def of(cls, result: c.Handle) -> Text:
        """The text of a result."""
        text = cls(c.result_text(result).decode("utf-8"))
        text.ids = c.result_ids(result)
        text.__dict__.update(json.loads(c.result_json(result)))
        return text


class Sequence:
    """Holds tokens with their keys and values. Forks share memory with it.

    Any thread; one call at a time among a sequence and its forks, further ones wait. settings:
    context_length, kv_type, batch_size, threads, max_sequences, hidden.
    """

    def __init__(self, model: Model, **settings: Any) -> None:
        self._handle = c.make("sequence", "bittern_sequence_create", model.handle,
                              c.options(settings))

    def close(self) -> None:
        """Gives the memory back now; arrays of logits() must not be used afterwards."""
        self._handle.close()

    def __enter__(self) -> Sequence:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        length = ctypes.c_size_t()
        c.call("bittern_sequence_length", self._handle, ctypes.byref(length))
        return length.value

    @property
    def tokens(self) -> List[int]:
        """The ids held."""
        return c.result_ids(c.make("result", "bittern_sequence_tokens", self._handle))

    def cancel(self) -> None:
        """Ends the call that another thread makes with this sequence, if any."""
        if self._handle.value is not None:
            c.call("bittern_sequence_cancel", self._handle)

    def eval(self, ids: Iterable[int]) -> None:
        """Reads ids behind those that are held."""
        self._run("bittern_sequence_eval", *c.array(ids))

    def set_tokens(self, ids: Iterable[int]) -> None:
        """Makes the sequence hold exactly these ids; what it holds already is not read again."""
        self._run("bittern_sequence_set_tokens", *c.array(ids))

    def truncate(self, length: int) -> None:
        """Forgets all but the first `length` tokens."""
        if length < 0:
            raise c.ArgumentError(1, f"a length of 0 or more expected, {length} found")
        c.call("bittern_sequence_truncate", self._handle, length)

    def fork(self, length: Optional[int] = None) -> Sequence:
        """Another sequence with the first `length` tokens (all, without it)."""
        length = len(self) if length is None else length
        if length < 0:
            raise c.ArgumentError(1, f"a length of 0 or more expected, {length} found")
        fork = Sequence.__new__(Sequence)
        fork._handle = c.make("sequence", "bittern_sequence_fork", self._handle, length)
        return fork

    def save(self) -> bytes:
        """The state as bytes, for restore(), also in another process."""
        return c.result_text(c.make("result", "bittern_sequence_save", self._handle))

    def restore(self, state: bytes) -> None:
        """Takes the state of save() in place of what is held."""
        c.call("bittern_sequence_restore", self._handle, bytes(state), len(state))

    def logits(self) -> Floats:
        """The last position's logits: a NumPy float32 array over the library's own memory, not a
        copy, read-only. Valid until the next call of this sequence or a fork."""
        return self._floats("bittern_sequence_logits")

    def hidden(self) -> Floats:
        """The last position's hidden state after the final norm, like logits(). Needs hidden=True
        when the sequence is made."""
        return self._floats("bittern_sequence_hidden")

    def logits_of_all(self, ids: Iterable[int]) -> Floats:
        """Reads ids and returns the logits of each: a NumPy array (len(ids), vocab_size)."""
        return self._rows("bittern_sequence_eval_all", ids)

    def hidden_of_all(self, ids: Iterable[int]) -> Floats:
        """Reads ids and returns the hidden state of each after the final norm: a NumPy array
        (len(ids), hidden_size)."""
        return self._rows("bittern_sequence_eval_hidden", ids)

    def _rows(self, name: str, ids: Iterable[int]) -> Floats:
        import numpy
        rows: List[Floats] = []
        values, count = c.array(ids)

        def take(_: Any, position: int, row: Any, size: int) -> int:
            rows.append(numpy.ctypeslib.as_array(row, (size,)).copy())
            return 0
        self._run(name, values, count, c.LogitsFn(take), None)
        return numpy.stack(rows)

    def generate(self, **settings: Any) -> Text:
        """Continues the text: a Text. settings: n_predict, temperature, top_k, top_p, min_p,
        seed, stop, ... (see bittern.options())."""
        chosen = c.options(settings)
        return interruptible(lambda: self._generate(chosen), self.cancel)

    def stream(self, **settings: Any) -> Iterator[str]:
        """As generate, yielding new text as it comes."""
        chosen = c.options(settings)
        return pieces(lambda put: self._generate(chosen, put), self.cancel)

    async def generate_async(self, **settings: Any) -> Text:
        """As generate, in an event loop."""
        chosen = c.options(settings)
        return await awaited(lambda: self._generate(chosen), self.cancel)

    def stream_async(self, **settings: Any) -> AsyncIterator[str]:
        """As stream, for `async for`."""
        chosen = c.options(settings)
        return async_pieces(lambda put: self._generate(chosen, put), self.cancel)

    def _generate(self, chosen: c.Handle, put: Optional[Put] = None) -> Text:
        def take(_: Any, text: int, size: int) -> int:
            assert put is not None
            put(ctypes.string_at(text, size).decode("utf-8"))
            return 0
        on_text = c.TextFn() if put is None else c.TextFn(take)
        return Text.of(c.make("result", "bittern_sequence_generate", self._handle, chosen,
                              on_text, None))

    def _run(self, name: str, *arguments: Any) -> None:
        interruptible(lambda: c.call(name, self._handle, *arguments), self.cancel)

    def _floats(self, name: str) -> Floats:
        import numpy
        floats, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        c.call(name, self._handle, ctypes.byref(floats), ctypes.byref(count))
        memory: Any = (ctypes.c_float * count.value).from_address(
            ctypes.addressof(floats.contents))
        memory.owner = self  # the array keeps `memory`, which keeps the sequence
        return numpy.frombuffer(memoryview(memory).toreadonly(), dtype=numpy.float32)


class Call:
    """One text of a prompt, from its sequence's making to its end: begun by one of the workers, and
    cancelled by any thread, also before it begins."""

    def __init__(self, model: Model, ids: List[int], of_sequence: Dict[str, Any],
                 chosen: c.Handle) -> None:
        c.options(of_sequence)  # wrong ones are told before the work
        self._given = model, ids, of_sequence, chosen
        self._sequence: Optional[Sequence] = None
        self._cancelled = False

    def run(self, put: Optional[Put] = None) -> Text:
        """Reads the prompt and continues it."""
        model, ids, of_sequence, chosen = self._given
        self._check()
        with Sequence(model, **of_sequence) as sequence:
            self._sequence = sequence
            sequence.eval(ids)
            self._check()
            return sequence._generate(chosen, put)

    def _check(self) -> None:
        if self._cancelled:
            raise c.CancelledError(c.CANCELLED, "cancelled before it began")

    def cancel(self) -> None:
        """Ends it."""
        self._cancelled = True
        if self._sequence is not None:
            self._sequence.cancel()
