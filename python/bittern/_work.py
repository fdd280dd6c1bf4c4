# SPDX-License-Identifier: Apache-2.0
"""Long calls: run where Ctrl-C and asyncio can reach them."""
import asyncio
import json
import os
import queue
import threading

from . import _library as c

_END = object()


def interruptible(work, cancel):
    """work() in a thread of its own while the main thread can still be interrupted; an interrupt
    calls cancel() and waits. In other threads, which Ctrl-C does not reach, just work()."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome = queue.SimpleQueue()

    def run():
        try:
            outcome.put((work(), None))
        except BaseException as error:  # pylint: disable=broad-except  # handed on
            outcome.put((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        value, error = outcome.get()
    except BaseException:
        cancel()
        thread.join()
        raise
    thread.join()
    if error is not None:
        raise error
    return value


def pieces(work, cancel):
    """Yields what work(put) puts, as it comes. Leaving the loop early calls cancel() and waits."""
    parts = queue.SimpleQueue()

    def run():
        try:
            work(parts.put)
            parts.put((_END, None))
        except BaseException as error:  # pylint: disable=broad-except  # handed on
            parts.put((_END, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            part = parts.get()
            if isinstance(part, tuple) and part[0] is _END:
                thread.join()
                if part[1] is not None:
                    raise part[1]
                return
            yield part
    finally:
        if thread.is_alive():
            cancel()
            thread.join()


async def async_pieces(work, cancel):
    """As pieces, without holding up the event loop."""
    loop = asyncio.get_running_loop()
    parts = asyncio.Queue()

    def put(part):
        loop.call_soon_threadsafe(parts.put_nowait, part)

    def run():
        try:
            work(put)
            put((_END, None))
        except BaseException as error:  # pylint: disable=broad-except  # handed on
            put((_END, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            part = await parts.get()
            if isinstance(part, tuple) and part[0] is _END:
                if part[1] is not None:
                    raise part[1]
                return
            yield part
    finally:
        cancel()
        await loop.run_in_executor(None, thread.join)


class Cancel:
    """A progress callback that can be told to stop."""

    def __init__(self, progress=None):
        self.stopped = False

        def told(_, done):
            if progress is not None and progress(done) is False:
                self.stopped = True
            return 1 if self.stopped else 0

        self.function = c.ProgressFn(told)

    def __call__(self):
        self.stopped = True


def convert(source, target, to, *, progress=None, **settings):
    """Converts a model to another format, e.g. convert("m.gguf", "out.gguf", "tq2_0").

    settings: embeddings, scale_type, prove, overwrite, threads, override_kv, ... (see options()).
    progress(done) is told 0 to 1 and may return False to stop. Returns a report as a dict.
    """
    cancel = Cancel(progress)
    chosen = c.options({**settings, "to": to})

    def work():
        return c.make("result", "bittern_convert", c.path_bytes(source), c.path_bytes(target),
                      chosen, cancel.function, None)
    return json.loads(c.result_json(interruptible(work, cancel)))


def pull(name, *, progress=None, **settings):
    """Finds a model by its name in Hugging Face's cache folder, or fetches it; returns its path.

    name: "USER/REPO", "USER/REPO:FILE" (a path, or a word of the file's name as "i2_s"),
    "USER/REPO@REVISION", a short name as "bitnet-2b", or an address of huggingface.co.
    settings: cache, endpoint, token, offline, update, connections, retries (see options()); where
    one is not given, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the like hold.
    progress(done) is told 0 to 1 and may return False to stop; an interrupted download goes on
    where it was.
    """
    cancel = Cancel(progress)
    chosen, data = c.options(settings), str(name).encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise c.ArgumentError(1, "a name without zero characters expected")
    result = interruptible(
        lambda: c.make("result", "bittern_pull", data, c.environment(), chosen, cancel.function,
                       None), cancel)
    return os.fsdecode(c.result_text(result))
