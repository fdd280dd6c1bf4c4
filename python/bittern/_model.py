# SPDX-License-Identifier: Apache-2.0
"""A model with its tokenizer, and the short ways to use it."""
import asyncio
import ctypes
import json
import os
import time

from . import _library as c
from ._sequence import Sequence, Text
from ._work import Cancel, async_pieces, interruptible, pieces, pull

_SEQUENCE_KEYS = ("context_length", "kv_type", "batch_size", "threads", "max_sequences", "hidden")


_PULL_KEYS = ("cache", "endpoint", "token", "offline", "update", "connections", "retries")


def _layout_cache():
    """Where the command line keeps which layout of weights is faster on this machine."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(folder, "bittern", "layouts.json") if os.path.isabs(folder) else None


def _split(settings):
    """The settings of a sequence, and those of a generation."""
    of_sequence = {key: settings.pop(key) for key in _SEQUENCE_KEYS if key in settings}
    return of_sequence, settings


class Model:
    """A GGUF file, a Hugging Face folder, or without a path the small built-in model.

    Any number of threads may use one. settings: threads, kernel, batch_kernel, head, zero_skip, isa, override_kv
    (a list), layout_cache. progress(done) is told 0 to 1 while loading and may return False to
    stop.
    """

    def __init__(self, path=None, *, progress=None, **settings):
        settings.setdefault("layout_cache", _layout_cache())
        chosen = c.options(settings)
        if path is None:
            self._handle = c.make("model", "bittern_model_load_builtin", chosen)
            return
        cancel = Cancel(progress)
        self._handle = interruptible(
            lambda: c.make("model", "bittern_model_load", c.path_bytes(path), chosen,
                           cancel.function, None), cancel)

    @classmethod
    def from_pretrained(cls, name, *, progress=None, **settings):
        """The model of a name, as pull() takes it: from the cache, or downloaded where it is not
        there. settings: those of pull() and those of a model. progress(done) is told 0 to 1 of the
        download, then again of the loading."""
        of_pull = {key: settings.pop(key) for key in _PULL_KEYS if key in settings}
        return cls(pull(name, progress=progress, **{"update": False, **of_pull}),
                   progress=progress, **settings)

    @property
    def handle(self):
        """The handle, for the C interface."""
        return self._handle

    def close(self):
        """Gives the memory back now; sequences and engines keep what they need."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- what is known ---------------------------------------------------------------------------

    @property
    def info(self):
        """Path, architecture, sizes and decisions, as a dict."""
        return json.loads(c.result_json(c.make("result", "bittern_model_info", self.handle)))

    def _number(self, name):
        value = ctypes.c_int64()
        c.call("bittern_model_number", self.handle, name, ctypes.byref(value))
        return value.value

    vocab_size = property(lambda self: self._number(b"vocab_size"))
    context_length = property(lambda self: self._number(b"context_length"))
    hidden_size = property(lambda self: self._number(b"hidden_size"))
    bos_id = property(lambda self: self._number(b"bos_id"))
    eos_id = property(lambda self: self._number(b"eos_id"))

    def metadata(self, key):
        """A metadata value of the file. Raises NotFoundError where there is none."""
        result = c.make("result", "bittern_model_metadata", self.handle, key.encode())
        return json.loads(c.result_json(result))["value"]

    def metadata_keys(self):
        """The file's metadata keys, in its order."""
        count, key = ctypes.c_size_t(), ctypes.c_char_p()
        c.call("bittern_model_metadata_count", self.handle, ctypes.byref(count))
        keys = []
        for index in range(count.value):
            c.call("bittern_model_metadata_key", self.handle, index, ctypes.byref(key))
            keys.append(key.value.decode("utf-8", "replace"))
        return keys

    # -- tokens ----------------------------------------------------------------------------------

    def tokenize(self, text, *, bos=True, special=False):
        """The ids of a text (str or bytes): with BOS where the model wants one; `special` reads
        special tokens written in the text as such."""
        data = c.text_bytes(text)
        flags = (1 if bos else 0) | (2 if special else 0)
        return c.result_ids(c.make("result", "bittern_tokenize", self.handle, data, len(data),
                                   flags))

    def detokenize(self, ids, *, special=False):
        """The text of ids."""
        result = c.make("result", "bittern_detokenize", self.handle, *c.array(ids),
                        1 if special else 0)
        return c.result_text(result).decode("utf-8")

    def apply_template(self, messages, *, chat_template=None):
        """A conversation (a list of {"role", "content"}, or a dict with "messages" and further
        names) as the model reads it: (text, ids)."""
        data = json.dumps(messages).encode()
        result = c.make("result", "bittern_apply_template", self.handle, data, len(data),
                        None if chat_template is None else chat_template.encode())
        return c.result_text(result).decode("utf-8", "replace"), c.result_ids(result)

    # -- texts -----------------------------------------------------------------------------------

    def sequence(self, **settings):
        """An empty Sequence."""
        return Sequence(self, **settings)

    def generate(self, prompt, **settings):
        """Continues a prompt (a text or ids): a Text, which is a str with ids and finish_reason."""
        sequence, rest = self._prompted(prompt, settings)
        return sequence.generate(**rest)

    def stream(self, prompt, **settings):
        """As generate, yielding new text as it comes."""
        ids, of_sequence, chosen = self._prepared(prompt, settings)
        sequence = Sequence(self, **of_sequence)
        return pieces(lambda put: _read_and_go(sequence, ids, chosen, put), sequence.cancel)

    def stream_async(self, prompt, **settings):
        """As stream, for `async for`."""
        ids, of_sequence, chosen = self._prepared(prompt, settings)
        sequence = Sequence(self, **of_sequence)
        return async_pieces(lambda put: _read_and_go(sequence, ids, chosen, put), sequence.cancel)

    async def generate_async(self, prompt, **settings):
        """As generate, in an event loop."""
        ids, of_sequence, chosen = self._prepared(prompt, settings)
        sequence = Sequence(self, **of_sequence)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(None,
                                              lambda: _read_and_go(sequence, ids, chosen, None))
        except asyncio.CancelledError:
            sequence.cancel()
            raise

    def chat(self, messages, *, chat_template=None, stream=False, **settings):
        """The reply to a conversation: a Text, or with stream=True its parts."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        _, ids = self.apply_template(messages, chat_template=chat_template)
        return self.stream(ids, **settings) if stream else self.generate(ids, **settings)

    def create_chat_completion(self, messages, *, stream=False, **request):
        """The answer to a request in OpenAI's shape: max_tokens, temperature, stop, tools,
        response_format, logprobs, n, ... as the server takes them. With stream=True its chunks."""
        from ._engine import Engine
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body = {"max_tokens": -1, **{key: value for key, value in request.items()
                                     if value is not None}, "messages": messages}
        count = body.get("n", 1)
        head = {"id": f"chatcmpl-{os.urandom(12).hex()}", "created": int(time.time()),
                "model": self.info["name"] or self.info["path"]}
        engine = Engine(self, max_sequences=count if isinstance(count, int) and 0 < count <= 128 else 1)
        if stream:
            return _chunks(head, engine, body)
        with engine:
            answer = engine.answer(body).result()
        choices = answer.get("choices", [answer])
        used = sum(len(choice["ids"]) for choice in choices)
        return {**head, "object": "chat.completion",
                "choices": [_choice(index, choice) for index, choice in enumerate(choices)],
                "usage": {"prompt_tokens": answer["prompt_tokens"], "completion_tokens": used,
                          "total_tokens": answer["prompt_tokens"] + used}}

    def logits(self, prompt, **settings):
        """The logits after a prompt (a text or ids): a NumPy array of vocab_size floats. For those
        of growing texts, use a Sequence."""
        sequence, _ = self._prompted(prompt, settings)
        return sequence.logits()

    def certify(self, *, progress=None, **settings):
        """The line that is the same on every machine where the model answers alike."""
        cancel = Cancel(progress)
        chosen = c.options(settings)
        result = interruptible(
            lambda: c.make("result", "bittern_certify", self.handle, chosen,
                           cancel.function, None), cancel)
        return c.result_text(result).decode()

    def _ids(self, prompt):
        return self.tokenize(prompt) if isinstance(prompt, (str, bytes)) else list(prompt)

    def _prepared(self, prompt, settings):
        of_sequence, rest = _split(dict(settings))
        return self._ids(prompt), of_sequence, c.options(rest)

    def _prompted(self, prompt, settings):
        of_sequence, rest = _split(dict(settings))
        c.options(rest)  # wrong ones are told before the work
        sequence = Sequence(self, **of_sequence)
        sequence.eval(self._ids(prompt))
        return sequence, rest


def _read_and_go(sequence, ids, chosen, put):
    c.call("bittern_sequence_eval", sequence._handle, *c.array(ids))
    return sequence._generate(chosen, put)


def _openai_reason(choice):
    if choice.get("tool_calls"):
        return "tool_calls"
    return {"end_of_text": "stop", "stop_string": "stop"}.get(choice["finish_reason"], "length")


def _choice(index, choice):
    message = {"role": "assistant", "content": choice["text"]}
    if choice.get("tool_calls"):
        message["tool_calls"] = choice["tool_calls"]
    logprobs = {"logprobs": choice["logprobs"]} if "logprobs" in choice else {}
    return {"index": index, "finish_reason": _openai_reason(choice), "message": message, **logprobs}


def _chunks(head, engine, body):
    def chunk(delta, reason=None):
        return {**head, "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    ended, quiet = {}, bool(body.get("tools"))  # calls are told when they are whole

    def run(put):
        future = ended["future"] = engine.answer(body, on_text=None if quiet else put)
        return future.result()
    with engine:
        yield chunk({"role": "assistant"})
        for part in pieces(run, lambda: ended["future"].cancel()):
            yield chunk({"content": part})
        answer = ended["future"].result()
        if quiet:
            calls = [{"index": index, **call} for index, call in enumerate(answer["tool_calls"])]
            yield chunk({"content": answer["text"], **({"tool_calls": calls} if calls else {})})
        yield chunk({}, _openai_reason(answer))


__all__ = ["Model", "Text"]
