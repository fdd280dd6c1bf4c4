# SPDX-License-Identifier: Apache-2.0
"""A text being read and made, token by token."""
import asyncio
import ctypes
import json

from . import _library as c
from ._work import async_pieces, interruptible, pieces


class Text(str):
    """A text that a model made: a str with `ids`, `finish_reason`, `seed`, `drafted`, `accepted`,
    and `logprobs` where they were asked for (logprobs=0 or more)."""

    __slots__ = ("__dict__",)
    ids: list
    finish_reason: str
    seed: int

    @classmethod
    def of(cls, result):
        text = cls(c.result_text(result).decode("utf-8"))
        text.ids = c.result_ids(result)
        text.__dict__.update(json.loads(c.result_json(result)))
        return text


class Sequence:
    """Holds tokens with their keys and values. Forks share memory with it.

    Any thread; one call at a time among a sequence and its forks, further ones wait. settings:
    context_length, kv_type, batch_size, threads, max_sequences, hidden.
    """

    def __init__(self, model, **settings):
        self._model = model
        self._handle = c.make("sequence", "bittern_sequence_create", model.handle,
                              c.options(settings))

    def close(self):
        """Gives the memory back now; arrays of logits() must not be used afterwards."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        length = ctypes.c_size_t()
        c.call("bittern_sequence_length", self._handle, ctypes.byref(length))
        return length.value

    @property
    def tokens(self):
        """The ids held."""
        return c.result_ids(c.make("result", "bittern_sequence_tokens", self._handle))

    def cancel(self):
        """Ends the call that another thread makes with this sequence, if any."""
        if self._handle.value is not None:
            c.call("bittern_sequence_cancel", self._handle)

    def eval(self, ids):
        """Reads ids behind those that are held."""
        self._run("bittern_sequence_eval", *c.array(ids))

    def set_tokens(self, ids):
        """Makes the sequence hold exactly these ids; what it holds already is not read again."""
        self._run("bittern_sequence_set_tokens", *c.array(ids))

    def truncate(self, length):
        """Forgets all but the first `length` tokens."""
        if length < 0:
            raise c.ArgumentError(1, f"a length of 0 or more expected, {length} found")
        c.call("bittern_sequence_truncate", self._handle, length)

    def fork(self, length=None):
        """Another sequence with the first `length` tokens (all, without it)."""
        length = len(self) if length is None else length
        if length < 0:
            raise c.ArgumentError(1, f"a length of 0 or more expected, {length} found")
        fork = Sequence.__new__(Sequence)
        fork._model = self._model
        fork._handle = c.make("sequence", "bittern_sequence_fork", self._handle, length)
        return fork

    def save(self):
        """The state as bytes, for restore(), also in another process."""
        return c.result_text(c.make("result", "bittern_sequence_save", self._handle))

    def restore(self, state):
        """Takes the state of save() in place of what is held."""
        c.call("bittern_sequence_restore", self._handle, bytes(state), len(state))

    def logits(self):
        """The last position's logits: a NumPy float32 array over the library's own memory, not a
        copy, read-only. Valid until the next call of this sequence or a fork."""
        return self._floats("bittern_sequence_logits")

    def hidden(self):
        """The last position's hidden state after the final norm, like logits(). Needs hidden=True
        when the sequence is made."""
        return self._floats("bittern_sequence_hidden")

    def logits_of_all(self, ids):
        """Reads ids and returns the logits of each: a NumPy array (len(ids), vocab_size)."""
        import numpy
        rows, (values, count) = [], c.array(ids)

        def take(_, position, logits, size):  # pylint: disable=unused-argument
            rows.append(numpy.ctypeslib.as_array(logits, (size,)).copy())
            return 0
        self._run("bittern_sequence_eval_all", values, count, c.LogitsFn(take), None)
        return numpy.stack(rows)

    def generate(self, **settings):
        """Continues the text: a Text. settings: n_predict, temperature, top_k, top_p, min_p,
        seed, stop, ... (see bittern.options())."""
        chosen = c.options(settings)
        return interruptible(lambda: self._generate(chosen), self.cancel)

    def stream(self, **settings):
        """As generate, yielding new text as it comes."""
        chosen = c.options(settings)
        return pieces(lambda put: self._generate(chosen, put), self.cancel)

    async def generate_async(self, **settings):
        """As generate, in an event loop."""
        chosen = c.options(settings)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(None, lambda: self._generate(chosen))
        except asyncio.CancelledError:
            self.cancel()
            raise

    def stream_async(self, **settings):
        """As stream, for `async for`."""
        chosen = c.options(settings)
        return async_pieces(lambda put: self._generate(chosen, put), self.cancel)

    def _generate(self, chosen, put=None):
        def take(_, text, size):
            put(ctypes.string_at(text, size).decode("utf-8"))
            return 0
        on_text = c.TextFn() if put is None else c.TextFn(take)
        return Text.of(c.make("result", "bittern_sequence_generate", self._handle, chosen,
                              on_text, None))

    def _run(self, name, *arguments):
        interruptible(lambda: c.call(name, self._handle, *arguments), self.cancel)

    def _floats(self, name):
        import numpy
        floats, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        c.call(name, self._handle, ctypes.byref(floats), ctypes.byref(count))
        memory = (ctypes.c_float * count.value).from_address(
            ctypes.addressof(floats.contents))
        memory.owner = self  # the array keeps `memory`, which keeps the sequence
        return numpy.frombuffer(memoryview(memory).toreadonly(), dtype=numpy.float32)
