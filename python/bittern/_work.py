# SPDX-License-Identifier: Apache-2.0
"""Long calls: run where Ctrl-C and asyncio can reach them, a few at the same time."""
from __future__ import annotations

import asyncio
import collections
import os
import queue
import threading
from typing import (Any, AsyncIterator, Callable, Deque, Iterator, NamedTuple, Optional, TypeVar,
                    Union)

from . import _library as c

T = TypeVar("T")
Put = Callable[[str], None]
Progress = Optional[Callable[[float], Any]]


class _End(NamedTuple):
    """The last thing that a work puts."""
    error: Optional[BaseException]


class Workers:
    """Threads that run works in the order in which they came, `limit` at the same time. A thread
    ends when nothing waits."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.forget()

    def forget(self) -> None:
        """Begins anew, in a process that was forked: the threads are not there."""
        self._lock = threading.Lock()
        self._waiting: Deque[Callable[[], None]] = collections.deque()
        self._running = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Queues a work, which must not raise."""
        with self._lock:
            self._waiting.append(work)
            if self._running == self._limit:
                return
            self._running += 1
        try:
            threading.Thread(target=self._run, daemon=True).start()
        except BaseException:
            with self._lock:
                self._running -= 1
                if self._running == 0:  # else another thread takes it
                    self._waiting.remove(work)
                    raise

    def drop(self, work: Callable[[], None]) -> bool:
        """Takes back a work that has not begun; False: it has."""
        with self._lock:
            if work not in self._waiting:
                return False
            self._waiting.remove(work)
            return True

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                work = self._waiting.popleft()
            work()
            del work


# Each call of a model has a sequence with its own memory and threads, so that few run at once.
workers = Workers(8)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=workers.forget)


def _own_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def _stop(work: Callable[[], None], ended: threading.Event, cancel: Callable[[], Any]) -> None:
    """Takes a work back, or cancels it until it has ended: a cancel before the library's call begins
    is not seen by it."""
    while not ended.is_set() and not workers.drop(work):
        cancel()
        ended.wait(0.05)


def interruptible(work: Callable[[], T], cancel: Callable[[], Any], *, bounded: bool = False) -> T:
    """work() in another thread while the main thread can still be interrupted; an interrupt calls
    cancel() and waits. In other threads, which Ctrl-C does not reach, just work(). bounded: by one
    of the workers, whichever thread calls."""
    if not bounded and threading.current_thread() is not threading.main_thread():
        return work()
    value: T
    error: Optional[BaseException] = None
    ended = threading.Event()

    def run() -> None:
        nonlocal value, error
        try:
            value = work()
        except BaseException as raised:  # pylint: disable=broad-except  # handed on
            error = raised
        ended.set()

    (workers.submit if bounded else _own_thread)(run)
    try:
        ended.wait()
    except BaseException:
        _stop(run, ended, cancel)
        raise
    if error is not None:
        raise error
    return value


def pieces(work: Callable[[Put], Any], cancel: Callable[[], Any]) -> Iterator[str]:
    """Yields what work(put) puts, as it comes. Leaving the loop early calls cancel() and waits."""
    parts: queue.SimpleQueue[Union[str, _End]] = queue.SimpleQueue()
    ended = threading.Event()

    def run() -> None:
        end = _End(None)
        try:
            work(parts.put)
        except BaseException as error:  # pylint: disable=broad-except  # handed on
            end = _End(error)
        parts.put(end)
        ended.set()

    workers.submit(run)
    try:
        while True:
            part = parts.get()
            if isinstance(part, _End):
                if part.error is not None:
                    raise part.error
                return
            yield part
    finally:
        _stop(run, ended, cancel)


def _tell(loop: asyncio.AbstractEventLoop, function: Callable[..., Any], *arguments: Any) -> None:
    """function(*arguments) in the loop; nothing where the loop has been closed."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        pass


async def async_pieces(work: Callable[[Put], Any],
                       cancel: Callable[[], Any]) -> AsyncIterator[str]:
    """As pieces, without holding up the event loop."""
    loop = asyncio.get_running_loop()
    parts: asyncio.Queue[Union[str, _End]] = asyncio.Queue()
    ended = threading.Event()

    def put(part: Union[str, _End]) -> None:
        _tell(loop, parts.put_nowait, part)

    def run() -> None:
        end = _End(None)
        try:
            work(put)
        except BaseException as error:  # pylint: disable=broad-except  # handed on
            end = _End(error)
        ended.set()
        put(end)

    workers.submit(run)
    try:
        while True:
            part = await parts.get()
            if isinstance(part, _End):
                if part.error is not None:
                    raise part.error
                return
            yield part
    finally:
        while not ended.is_set() and not workers.drop(run):
            cancel()
            await asyncio.sleep(0.02)


async def awaited(work: Callable[[], T], cancel: Callable[[], Any]) -> T:
    """work() by one of the workers, without holding up the event loop. A task that is cancelled
    calls cancel() and does not wait."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def end(value: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def run() -> None:
        try:
            _tell(loop, end, work(), None)
        except BaseException as error:  # pylint: disable=broad-except  # handed on
            _tell(loop, end, None, error)

    workers.submit(run)
    try:
        return await future
    except asyncio.CancelledError:
        if not workers.drop(run):
            cancel()
        raise


class Cancel:
    """A progress callback that can be told to stop. What `progress` raises stops the work, too, and
    is raised by run()."""

    def __init__(self, progress: Progress = None) -> None:
        self.stopped = False
        self._error: Optional[BaseException] = None

        def told(_: Any, done: float) -> int:
            try:
                if progress is not None and progress(done) is False:
                    self.stopped = True
            except BaseException as error:  # pylint: disable=broad-except  # handed on
                self._error, self.stopped = error, True
            return 1 if self.stopped else 0

        self.function = c.ProgressFn(told)

    def __call__(self) -> None:
        self.stopped = True

    def run(self, work: Callable[[], T]) -> T:
        """work(), which is given `function` as its callback, as interruptible."""
        try:
            return interruptible(work, self)
        except c.CancelledError:
            if self._error is not None:
                raise self._error from None
            raise
