# SPDX-License-Identifier: Apache-2.0
"""A model with its tokenizer, and the short ways to use it."""
from __future__ import annotations

import ctypes
import json
import os
import threading
from typing import (TYPE_CHECKING, Any, AsyncIterator, Dict, Iterable, Iterator, List, Optional,
                    Tuple, Union, overload)

from . import _completions
from . import _library as c
from ._engine import Engine
from ._files import Path, pull
from ._proof import Provable
from ._sequence import Call, Sequence, Text
from ._work import Cancel, Progress, async_pieces, awaited, interruptible, pieces

if TYPE_CHECKING:
    from typing import Literal

    from ._sequence import Floats

Prompt = Union[str, bytes, Iterable[int]]
Messages = Union[str, List[Dict[str, Any]]]

_SEQUENCE_KEYS = ("context_length", "kv_type", "batch_size", "threads", "max_sequences", "hidden")
_PULL_KEYS = ("cache", "endpoint", "token", "offline", "update", "connections", "retries")


def _layout_cache() -> Optional[str]:
    """Where the command line keeps which layout of weights is faster on this machine."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(folder, "bittern", "layouts.json") if os.path.isabs(folder) else None


def _split(settings: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The settings of a sequence, and those of a generation."""
    of_sequence = {key: value for key, value in settings.items() if key in _SEQUENCE_KEYS}
    return of_sequence, {key: value for key, value in settings.items() if key not in of_sequence}


class _Number(property):
    """A number of the model as a property."""

    def __init__(self, name: str, meaning: str) -> None:
        def read(model: Model) -> int:
            value = ctypes.c_int64()
            c.call("bittern_model_number", model.handle, name.encode(), ctypes.byref(value))
            return value.value
        super().__init__(read, doc=meaning)

    if TYPE_CHECKING:
        def __get__(  # type: ignore[override]
            self, model: Any, owner: Optional[type] = None, /) -> int: ...


class Model(Provable):
    """A GGUF file, a Hugging Face folder, or without a path the small built-in model.

    Any number of threads may use one; of generate(), stream() and their kind 8 work at the same time,
    further ones wait. settings: threads, kernel, batch_kernel, head, zero_skip, activations,
    isa, override_kv (a list), layout_cache. progress(done) is told 0 to 1 while loading and may return False to
    stop.
    """

    def __init__(self, path: Optional[Path] = None, *, progress: Progress = None,
                 **settings: Any) -> None:
        settings.setdefault("layout_cache", _layout_cache())
        chosen = c.options(settings)
        if path is None:
            self._begin(c.make("model", "bittern_model_load_builtin", chosen))
            return
        cancel = Cancel(progress)
        self._begin(cancel.run(lambda: c.make("model", "bittern_model_load", c.path_bytes(path),
                                              chosen, cancel.function, None)))

    def _begin(self, handle: c.Handle) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._engine: Optional[Tuple[int, Engine]] = None  # of a process

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "a GGUF file in memory",
                   progress: Progress = None, **settings: Any) -> Model:
        """The model of a GGUF file that lies in memory; its bytes are copied. name: stands in
        messages where a path would. progress and settings: as of a file, without layout_cache."""
        if isinstance(data, str):
            raise TypeError("the bytes of a file expected, str found: a path goes to Model()")
        file = c.text_bytes(data)
        model = cls.__new__(cls)
        cancel, chosen = Cancel(progress), c.options(settings)
        model._begin(cancel.run(lambda: c.make(
            "model", "bittern_model_load_memory", file, len(file), c.path_bytes(name), chosen,
            cancel.function, None)))
        return model

    @classmethod
    def from_pretrained(cls, name: str, *, progress: Progress = None, **settings: Any) -> Model:
        """The model of a name, as pull() takes it: from the cache, or downloaded where it is not
        there. settings: those of pull() and those of a model. progress(done) is told 0 to 1 of the
        download, then again of the loading."""
        of_pull = {key: settings.pop(key) for key in _PULL_KEYS if key in settings}
        return cls(pull(name, progress=progress, **{"update": False, **of_pull}),
                   progress=progress, **settings)

    @property
    def handle(self) -> c.Handle:
        """The handle, for the C interface."""
        return self._handle

    def close(self) -> None:
        """Gives the memory back now; sequences and engines keep what they need."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None and engine[0] == os.getpid():
            engine[1].close()
        self._handle.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._handle.value is None:
            return "<bittern.Model, closed>"
        info = self.info
        return (f"<bittern.Model {self.name!r}: {info['architecture']}, {info['kind']}, "
                f"{info['parameters'] / 1e6:.1f} million parameters>")

    # -- what is known ---------------------------------------------------------------------------

    @property
    def info(self) -> Dict[str, Any]:
        """Path, architecture, sizes and decisions, as a dict."""
        info: Dict[str, Any] = json.loads(
            c.result_json(c.make("result", "bittern_model_info", self.handle)))
        return info

    def memory(self, **settings: Any) -> Dict[str, Any]:
        """What a sequence or an engine with these settings would take beside the model: a dict with
        "context_length", "pages", "page_bytes", "kv_bytes", "state_bytes", "scratch_bytes", "threads",
        "model_bytes"."""
        sizes: Dict[str, Any] = json.loads(c.result_json(
            c.make("result", "bittern_model_memory", self.handle, c.options(settings))))
        return sizes

    vocab_size = _Number("vocab_size", "Number of token ids.")
    context_length = _Number("context_length", "Tokens of a text at most.")
    hidden_size = _Number("hidden_size", "Numbers of a hidden state.")
    bos_id = _Number("bos_id", "The id of BOS; -1: there is none.")
    eos_id = _Number("eos_id", "The id of EOS; -1: there is none.")

    def metadata(self, key: str) -> Any:
        """A metadata value of the file. Raises NotFoundError where there is none."""
        result = c.make("result", "bittern_model_metadata", self.handle, key.encode())
        return json.loads(c.result_json(result))["value"]

    def metadata_keys(self) -> List[str]:
        """The file's metadata keys, in its order."""
        count, key = ctypes.c_size_t(), ctypes.c_char_p()
        c.call("bittern_model_metadata_count", self.handle, ctypes.byref(count))
        keys = []
        for index in range(count.value):
            c.call("bittern_model_metadata_key", self.handle, index, ctypes.byref(key))
            keys.append((key.value or b"").decode("utf-8", "replace"))
        return keys

    # -- tokens ----------------------------------------------------------------------------------

    def tokenize(self, text: Union[str, bytes], *, bos: bool = True,
                 special: bool = False, eos: bool = False) -> List[int]:
        """The ids of a text (str or bytes): with BOS where the model wants one; `special` reads
        special tokens written in the text as such; `eos`: with EOS where the model wants one, as
        models for embeddings do."""
        return c.tokenize(self.handle, text, bos=bos, special=special, eos=eos)

    def detokenize(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text of ids."""
        result = c.make("result", "bittern_detokenize", self.handle, *c.array(ids),
                        1 if special else 0)
        return c.result_text(result).decode("utf-8")

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token as they are, special ones too: parts of characters are possible."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        c.call("bittern_token_bytes", self.handle, c.array([token])[0][0], ctypes.byref(data),
               ctypes.byref(size))
        return ctypes.string_at(data, size.value) if data else b""

    def token_is_end(self, token: int) -> bool:
        """Whether a token ends what the model says."""
        is_end = ctypes.c_int32()
        c.call("bittern_token_is_end", self.handle, c.array([token])[0][0], ctypes.byref(is_end))
        return is_end.value != 0

    def apply_template(self, messages: Union[List[Dict[str, Any]], Dict[str, Any]], *,
                       chat_template: Optional[str] = None) -> Tuple[str, List[int]]:
        """A conversation (a list of {"role", "content"}, or a dict with "messages" and further
        names) as the model reads it: (text, ids)."""
        data = json.dumps(messages).encode()
        result = c.make("result", "bittern_apply_template", self.handle, data, len(data),
                        None if chat_template is None else chat_template.encode())
        return c.result_text(result).decode("utf-8", "replace"), c.result_ids(result)

    # -- texts -----------------------------------------------------------------------------------

    def sequence(self, **settings: Any) -> Sequence:
        """An empty Sequence."""
        return Sequence(self, **settings)

    def generate(self, prompt: Prompt, **settings: Any) -> Text:
        """Continues a prompt (a text or ids): a Text, which is a str with ids and finish_reason."""
        call = self._call(prompt, settings)
        return interruptible(call.run, call.cancel, bounded=True)

    def stream(self, prompt: Prompt, **settings: Any) -> Iterator[str]:
        """As generate, yielding new text as it comes."""
        call = self._call(prompt, settings)
        return pieces(call.run, call.cancel)

    def stream_async(self, prompt: Prompt, **settings: Any) -> AsyncIterator[str]:
        """As stream, for `async for`."""
        call = self._call(prompt, settings)
        return async_pieces(call.run, call.cancel)

    async def generate_async(self, prompt: Prompt, **settings: Any) -> Text:
        """As generate, in an event loop."""
        call = self._call(prompt, settings)
        return await awaited(call.run, call.cancel)

    @overload
    def chat(self, messages: Messages, *, chat_template: Optional[str] = None,
             stream: Literal[False] = False, **settings: Any) -> Text: ...

    @overload
    def chat(self, messages: Messages, *, chat_template: Optional[str] = None,
             stream: Literal[True], **settings: Any) -> Iterator[str]: ...

    def chat(self, messages: Messages, *, chat_template: Optional[str] = None,
             stream: bool = False, **settings: Any) -> Union[Text, Iterator[str]]:
        """The reply to a conversation: a Text, or with stream=True its parts."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        _, ids = self.apply_template(messages, chat_template=chat_template)
        return self.stream(ids, **settings) if stream else self.generate(ids, **settings)

    @overload
    def create_chat_completion(self, messages: Messages, *, stream: Literal[False] = False,
                               **request: Any) -> Dict[str, Any]: ...

    @overload
    def create_chat_completion(self, messages: Messages, *, stream: Literal[True],
                               **request: Any) -> Iterator[Dict[str, Any]]: ...

    def create_chat_completion(self, messages: Messages, *, stream: bool = False, **request: Any
                               ) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """The answer to a request in OpenAI's shape: max_tokens, temperature, stop, tools,
        response_format, logprobs, n, ... as the server takes them. With stream=True its chunks."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body = _completions.body_of(request, messages=messages)
        answer = _completions.Chat(self.name, body)
        engine = self._shared_engine()
        return answer.stream(engine) if stream else answer.whole(engine)

    @overload
    def create_completion(self, prompt: Prompt, *, stream: Literal[False] = False,
                          **request: Any) -> Dict[str, Any]: ...

    @overload
    def create_completion(self, prompt: Prompt, *, stream: Literal[True],
                          **request: Any) -> Iterator[Dict[str, Any]]: ...

    def create_completion(self, prompt: Prompt, *, stream: bool = False, **request: Any
                          ) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """A prompt (a text or ids) that goes on, in OpenAI's shape of completions: max_tokens,
        temperature, stop, logprobs (a number), echo, n, ... as the server takes them. With
        stream=True its chunks."""
        answer = self.completion(prompt, request)
        engine = self._shared_engine()
        return answer.stream(engine) if stream else answer.whole(engine)

    def completion(self, prompt: Prompt, request: Dict[str, Any]) -> _completions.Completion:
        """The answer of create_completion(), to be asked of an engine."""
        text = prompt if isinstance(prompt, str) else None
        ids = None if text is not None else self._ids(prompt)
        echo = request.get("echo") and (text if ids is None else self.detokenize(ids))
        rest = {key: value for key, value in request.items() if key != "echo"}
        body = _completions.body_of(rest, prompt=text if ids is None else ids)
        if echo and "logprobs" in body:
            raise c.ArgumentError(1, "echo: not with logprobs, which the prompt would need, too",
                                  "Sequence.logits_of_all() gives the logits of a prompt")
        return _completions.Completion(self.name, body, echo or "")

    @property
    def name(self) -> str:
        """The model's name, else its path."""
        info = self.info
        return str(info["name"] or info["path"])

    def _shared_engine(self) -> Engine:
        """The engine of all create_...completion() of this process: four answers at the same time,
        further ones wait; the beginning of a conversation is not read again."""
        with self._lock:
            if self._engine is None or self._engine[0] != os.getpid():
                self._engine = os.getpid(), Engine(self, max_sequences=4)
            return self._engine[1]

    def logits(self, prompt: Prompt, **settings: Any) -> Floats:
        """The logits after a prompt (a text or ids): a NumPy array of vocab_size floats. For those
        of growing texts, use a Sequence."""
        of_sequence, rest = _split(settings)
        c.options(rest)  # wrong ones are told before the work
        sequence = Sequence(self, **of_sequence)
        sequence.eval(self._ids(prompt))
        return sequence.logits()

    def embedding(self, prompt: Prompt, **settings: Any) -> Floats:
        """A text as one vector: its hidden states after the final norm, pooled; a NumPy array.

        settings: pooling ("auto": as the model's file says, else the last; "last", "first",
        "mean"), normalize, and those of a sequence.
        """
        return self._pooled(self._ids_for_vector(prompt), settings)

    def vector(self, prompt: Prompt, **settings: Any) -> List[float]:
        """As embedding, as a list: without NumPy."""
        return self._vector(self._ids_for_vector(prompt), settings)

    def trace(self, prompt: Prompt, folder: Optional[Path] = None, **settings: Any) -> str:
        """What each operation computes for a prompt: a line each, for its last token. folder: gets
        the trace of all tokens, as `bittern trace --dump` writes it.

        settings: values (write all values, too), kv_type, threads.
        """
        return c.result_text(c.make(
            "result", "bittern_trace", self.handle, *c.array(self._ids(prompt)),
            None if folder is None else c.path_bytes(folder), c.options(settings))).decode()

    def _ids_for_vector(self, prompt: Prompt) -> List[int]:
        text = isinstance(prompt, (str, bytes))
        return self.tokenize(prompt, eos=True) if text else list(prompt)  # type: ignore[arg-type]

    def _ids(self, prompt: Prompt) -> List[int]:
        return self.tokenize(prompt) if isinstance(prompt, (str, bytes)) else list(prompt)

    def _call(self, prompt: Prompt, settings: Dict[str, Any]) -> Call:
        of_sequence, rest = _split(settings)
        return Call(self, self._ids(prompt), of_sequence, c.options(rest))
