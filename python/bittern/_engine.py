# SPDX-License-Identifier: Apache-2.0
"""Many requests at the same time on one model."""
from __future__ import annotations

import atexit
import concurrent.futures
import ctypes
import itertools
import json
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple, TypeVar, Union

from . import _library as c
from ._sequence import Text

if TYPE_CHECKING:
    from ._model import Model

T = TypeVar("T")
OnText = Optional[Callable[[str], Any]]


class Engine:
    """Runs requests together, in a thread of its own. A request's text does not depend on others.

        with bittern.Engine(model, max_sequences=16) as engine:
            futures = [engine.submit(p, n_predict=40) for p in prompts]
            texts = [f.result() for f in futures]

    submit gives a Future (asyncio.wrap_future awaits one). An engine that nobody holds ends when its
    last request has ended. Any thread. settings: context_length, kv_type, batch_size, threads,
    max_sequences, cache_tokens, prefix_cache.
    """

    def __init__(self, model: Model, **settings: Any) -> None:
        self._model = model.handle
        self._lock = threading.Lock()
        self._thread: Optional[int] = None  # the one that makes callbacks
        self._closed = False
        self._handle = c.make("engine", "bittern_engine_create", model.handle,
                              c.options(settings))
        c.call("bittern_engine_start", self._handle)

    def submit(self, prompt: Union[str, bytes, Iterable[int]], *, on_text: OnText = None,
               **settings: Any) -> Future[Text]:
        """Queues a prompt (a text or ids). on_text(part) is called by the engine's thread with new
        text; False ends it, and so does an error, which the future then raises."""
        ids = (c.tokenize(self._model, prompt) if isinstance(prompt, (str, bytes))
               else list(prompt))
        return self._submit("bittern_engine_submit", c.array(ids), on_text, settings, Text.of)

    def answer(self, body: Union[Dict[str, Any], bytes], *, on_text: OnText = None,
               **settings: Any) -> Future[Dict[str, Any]]:
        """Queues a request as the server takes it: a dict with "messages" or "prompt", "tools",
        "response_format", "logprobs", "n", "stop", "temperature", ...; `settings` for what it leaves
        open. Gives a future of a dict: "text", "ids", "finish_reason", "prompt_tokens", "seed", and
        "logprobs", "tool_calls", "choices" where they were asked for. on_text as in submit."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8")
        return self._submit("bittern_engine_submit_json", (text, len(text)), on_text, settings,
                            lambda result: json.loads(c.result_json(result)))

    def line(self, text: Union[str, bytes], number: int = 1, **settings: Any) -> Future[str]:
        """Queues line `number` of a file for `bittern batch`; `settings` for what it leaves open, the
        seed being 0. Gives a future of the line that `bittern batch` writes, with its end: what is
        wrong with the line stands in it as "error"."""
        data = c.text_bytes(text)
        return self._queue("bittern_engine_submit_line", (data, len(data), number), (), None,
                           settings, c.result_json)

    def _submit(self, function: str, given: Tuple[Any, int], on_text: OnText,
                settings: Dict[str, Any], read: Callable[[c.Handle], Any]) -> Future[Any]:
        callbacks = (_no_take if on_text is None else _take,)
        return self._queue(function, given, callbacks, on_text, settings, read)

    def _queue(self, function: str, given: Tuple[Any, ...], callbacks: Tuple[Any, ...],
               on_text: OnText, settings: Dict[str, Any],
               read: Callable[[c.Handle], Any]) -> Future[Any]:
        chosen = c.options(settings)
        job = _Job(self, on_text, read)
        request = ctypes.c_uint64()
        with self._lock:
            if self._closed:
                raise c.ArgumentError(1, "the engine is closed")
            number = next(_numbers)
            _jobs[number] = job
        try:
            c.call(function, self._handle, *given, chosen, *callbacks, _finish, number,
                   ctypes.byref(request))
        except BaseException:
            del _jobs[number]
            raise
        job.future.start(self._handle, request.value)
        return job.future

    @property
    def stats(self) -> Dict[str, Any]:
        """Steps, running and waiting requests, pages, and the prefix cache, as a dict."""
        stats: Dict[str, Any] = json.loads(
            c.result_json(c.make("result", "bittern_engine_stats", self._handle)))
        return stats

    def close(self) -> None:
        """Cancels what has not ended and gives the memory back. Not from a callback."""
        if threading.get_ident() == self._thread:
            raise RuntimeError("close() of an engine cannot wait for its own callback")
        with self._lock:
            self._closed = True
        futures = [job.future for job in list(_jobs.values()) if job.engine is self]
        for future in futures:
            future.cancel()
        concurrent.futures.wait(futures)
        self._handle.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def called_back(self) -> None:
        """Notes the thread that makes callbacks."""
        self._thread = threading.get_ident()


class Future(concurrent.futures.Future[T]):
    """A future of an engine's request. cancel() ends the request and drops its text; stop() ends
    it and keeps the text made until then."""

    def __init__(self) -> None:
        super().__init__()
        self._known = threading.Lock()
        self._request: Optional[Tuple[c.Handle, int]] = None  # once it is queued
        self._wanted = self._ended = False

    def start(self, engine: c.Handle, number: int) -> None:
        """Tells which request it is; by Engine only."""
        with self._known:
            if self._ended:
                return
            self._request = engine, number
            if self._wanted:
                c.call("bittern_engine_cancel", engine, number)

    def end(self) -> None:
        """Lets go of the engine; by Engine only."""
        with self._known:
            self._request, self._ended = None, True

    def stop(self) -> None:
        """Ends the request: result() gives the text made until then, which may be empty, with the
        finish_reason "cancelled". Any thread."""
        with self._known:
            self._wanted = True
            if self._request is not None:
                c.call("bittern_engine_cancel", *self._request)

    def cancel(self) -> bool:
        """Ends the request; cancelled() is true and result() raises CancelledError. False, and
        nothing happens, where it has ended."""
        if not super().cancel():
            return False
        self.stop()
        return True


def text_part_logprobs() -> List[Dict[str, Any]]:
    """Inside on_text: the log-probabilities of the tokens since the last part."""
    part = json.loads(c.result_json(c.make("result", "bittern_text_part")))
    found: List[Dict[str, Any]] = part.get("logprobs", [])
    return found


class _Job:
    """A request from its submission to its end. It keeps its engine alive."""

    def __init__(self, engine: Engine, on_text: OnText, read: Callable[[c.Handle], Any]) -> None:
        self.engine = engine
        self.on_text = on_text
        self.read = read
        self.future: Future[Any] = Future()
        self.error: Optional[BaseException] = None  # of on_text


# The two callbacks of all engines' threads: `number` says whose. They live as long as the process,
# so that no thread returns into one that is gone. Numbers begin at 1: ctypes gives 0 back as None.
_jobs: Dict[int, _Job] = {}
_numbers = itertools.count(1)


def _take_text(number: int, text: int, size: int) -> int:
    job = _jobs[number]
    job.engine.called_back()
    try:
        assert job.on_text is not None
        return 1 if job.on_text(ctypes.string_at(text, size).decode("utf-8")) is False else 0
    except BaseException as error:  # pylint: disable=broad-except  # the future's
        job.error = error
        return 1


def _finish_job(number: int, _: int, status: int, result: int) -> None:
    job = _jobs[number]
    job.engine.called_back()
    job.future.end()
    given = c.Handle("result", result)
    error = c.last_error(status) if status != 0 else None
    if job.future.set_running_or_notify_cancel():
        try:
            if job.error is not None or error is not None:
                job.future.set_exception(job.error or error)
            else:
                job.future.set_result(job.read(given))
        except BaseException as raised:  # pylint: disable=broad-except  # handed on
            job.future.set_exception(raised)
    del _jobs[number]


_take, _no_take, _finish = c.TextFn(_take_text), c.TextFn(), c.DoneFn(_finish_job)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_jobs.clear)  # their threads are the parent's


@atexit.register
def _close_all() -> None:
    """No thread of an engine may call Python once it ends."""
    for job in list(_jobs.values()):
        job.engine.close()
