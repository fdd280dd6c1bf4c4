# SPDX-License-Identifier: Apache-2.0
"""Many requests at the same time on one model."""
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
        self._handle = c.make("engine", "bittern_engine_create", model.handle,
                              c.options(settings))
        self._wake = threading.Condition()
        self._jobs = {}  # by request: what must live as long as it
        self._ended = []  # callbacks of requests that ended in this step
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

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
        future = _Future()
        chosen = c.options(settings)

        def take(_, text, size):
            part = ctypes.string_at(text, size).decode("utf-8")
            return 1 if on_text is not None and on_text(part) is False else 0

        def done(_, request, status, result):
            self._finish(request, status, result, read)
        callbacks = (c.TextFn(take) if on_text is not None else c.TextFn(), c.DoneFn(done))
        request = ctypes.c_uint64()
        with self._wake:
            if self._closed:
                raise c.ArgumentError(1, "the engine is closed")
            c.call(function, self._handle, *given, chosen, *callbacks, None, ctypes.byref(request))
            future.ending = lambda: c.call("bittern_engine_cancel", self._handle,
                                           request.value)
            self._jobs[request.value] = (future, callbacks)
            self._wake.notify()
        return future

    @property
    def stats(self):
        """Steps, running and waiting requests, pages, and the prefix cache, as a dict."""
        return json.loads(c.result_json(c.make("result", "bittern_engine_stats",
                                               self._handle)))

    def close(self):
        """Cancels what has not ended and gives the memory back."""
        with self._wake:
            self._closed = True
            for request in self._jobs:
                c.call("bittern_engine_cancel", self._handle, request)
            self._wake.notify()
        self._thread.join()
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self):
        more = ctypes.c_int32()
        while True:
            with self._wake:
                while not self._jobs and not self._closed:
                    self._wake.wait()
                if not self._jobs:
                    return
            c.call("bittern_engine_step", self._handle, ctypes.byref(more))
            self._ended.clear()

    def _finish(self, request, status, result, read):
        with self._wake:
            future, callbacks = self._jobs.pop(request)
        self._ended.append(callbacks)  # one of them is running just now
        if status != 0:
            error = c.last_error(status)
            future.set_exception(error)
            return
        future.set_result(read(c.Handle("result", result)))


class _Future(concurrent.futures.Future):
    """A future whose cancel() ends the request; done() tells when it has ended."""

    ending = None

    def cancel(self):
        if self.done():
            return False
        self.ending()
        return True
