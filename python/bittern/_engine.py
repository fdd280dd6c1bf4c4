# SPDX-License-Identifier: Apache-2.0
"""Many requests at the same time on one model."""
import atexit
import concurrent.futures
import ctypes
import json
import threading

from . import _library as c
from ._sequence import Text


class Engine:
    """Runs requests together, in a thread of its own. A request's text does not depend on others.

        with bittern.Engine(model, max_sequences=16) as engine:
            futures = [engine.submit(p, n_predict=40) for p in prompts]
            texts = [f.result() for f in futures]

    submit gives a concurrent.futures.Future (asyncio.wrap_future awaits one); its cancel() ends the
    request, with the text made until then or a CancelledError. Any thread. settings: context_length, kv_type, batch_size, threads, max_sequences,
    cache_tokens, prefix_cache.
    """

    def __init__(self, model, **settings):
        self._model = model
        self._lock = threading.Lock()
        self._jobs = {}  # by number: a job from its submission to its end
        self._next = 1  # ctypes gives 0 back as None
        self._thread = None  # the one that makes callbacks
        self._closed = False
        self._callbacks = c.TextFn(self._take), c.TextFn(), c.DoneFn(self._finish)
        self._handle = c.make("engine", "bittern_engine_create", model.handle,
                              c.options(settings))
        c.call("bittern_engine_start", self._handle)

    def submit(self, prompt, *, on_text=None, **settings):
        """Queues a prompt (a text or ids). on_text(part) is called by the engine's thread with new
        text; False ends it."""
        ids = (self._model.tokenize(prompt) if isinstance(prompt, (str, bytes)) else list(prompt))
        return self._submit("bittern_engine_submit", c.array(ids), on_text, settings, Text.of)

    def answer(self, body, *, on_text=None, **settings):
        """Queues a request as the server takes it: a dict with "messages" or "prompt", "tools",
        "response_format", "logprobs", "n", "stop", "temperature", ...; `settings` for what it leaves
        open. Gives a future of a dict: "text", "ids", "finish_reason", "prompt_tokens", "seed", and
        "logprobs", "tool_calls", "choices" where they were asked for. on_text as in submit."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8")
        return self._submit("bittern_engine_submit_json", (text, len(text)), on_text, settings,
                            lambda result: json.loads(c.result_json(result)))

    def _submit(self, function, given, on_text, settings, read):
        chosen = c.options(settings)
        job = _Job(on_text, read)
        take, no_take, done = self._callbacks
        request = ctypes.c_uint64()
        with self._lock:
            if self._closed:
                raise c.ArgumentError(1, "the engine is closed")
            number = self._next
            self._next += 1
            self._jobs[number] = job
            _working.add(self)
        try:
            c.call(function, self._handle, *given, chosen, no_take if on_text is None else take,
                   done, number, ctypes.byref(request))
        except BaseException:
            self._end(number)
            raise
        job.future.start(self._handle, request.value)
        return job.future

    @property
    def stats(self):
        """Steps, running and waiting requests, pages, and the prefix cache, as a dict."""
        return json.loads(c.result_json(c.make("result", "bittern_engine_stats",
                                               self._handle)))

    def close(self):
        """Cancels what has not ended and gives the memory back. Not from a callback."""
        if threading.get_ident() == self._thread:
            raise RuntimeError("close() of an engine cannot wait for its own callback")
        with self._lock:
            self._closed = True
            jobs = list(self._jobs.values())
        for job in jobs:
            job.future.cancel()
        concurrent.futures.wait([job.future for job in jobs])
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _end(self, number):
        with self._lock:
            job = self._jobs.pop(number)
            if not self._jobs:
                _working.discard(self)
            return job

    # The two callbacks of the engine's thread; `number` says whose.

    def _take(self, number, text, size):
        self._thread = threading.get_ident()
        part = ctypes.string_at(text, size).decode("utf-8")
        return 1 if self._jobs[number].on_text(part) is False else 0

    def _finish(self, number, _, status, result):
        self._thread = threading.get_ident()
        job = self._end(number)
        if status != 0:
            job.future.set_exception(c.last_error(status))
            return
        job.future.set_result(job.read(c.Handle("result", result)))


class _Job:
    def __init__(self, on_text, read):
        self.on_text = on_text
        self.read = read
        self.future = _Future()


class _Future(concurrent.futures.Future):
    """A future whose cancel() ends the request; done() tells when it has ended."""

    def __init__(self):
        super().__init__()
        self._known = threading.Lock()
        self._request = None  # (engine, number), once it is queued
        self._wanted = False

    def start(self, engine, number):
        with self._known:
            self._request = engine, number
            if self._wanted:
                c.call("bittern_engine_cancel", engine, number)

    def cancel(self):
        if self.done():
            return False
        with self._known:
            self._wanted = True
            if self._request is not None:
                c.call("bittern_engine_cancel", *self._request)
        return True


_working = set()  # engines with requests that have not ended: they live as long


@atexit.register
def _close_all():
    """No thread of an engine may call Python once it ends."""
    for engine in list(_working):
        engine.close()
