#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_engine.py BITTERN [TEST...]

Many requests at the same time: their ends, their threads and their memory."""
import asyncio
import concurrent.futures
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import weakref

import bittern

MODEL = bittern.Model()
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/kjv-5m-i2s.gguf")
GREEDY = {"n_predict": 20, "temperature": 0}
ENDLESS = {"n_predict": -1, "ignore_eos": True, "temperature": 1}


def threads():
    """Threads of this process, the library's own too."""
    return len(os.listdir("/proc/self/task"))


def until(true, seconds=20):
    """Waits until true() is; says whether it is."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def slow(sequence, chosen, put=None):
    """A text that takes long, and knows of no cancel."""
    time.sleep(3)


class Engines(unittest.TestCase):
    def test_texts(self):
        prompts = ["A tern is", "On the", "The sea", "A dog is"] * 4
        with bittern.Engine(MODEL, max_sequences=5) as engine:
            seen = []
            first = engine.submit(prompts[0], on_text=seen.append, **GREEDY)
            futures = [first] + [engine.submit(prompt, **GREEDY) for prompt in prompts[1:]]
            for prompt, future in zip(prompts, futures):
                self.assertEqual(future.result(60), MODEL.generate(prompt, **GREEDY))
            self.assertEqual("".join(seen), first.result())
            with self.assertRaises(bittern.ArgumentError):
                engine.submit([-1])
        with self.assertRaises(bittern.ArgumentError):
            engine.submit("too late")

    def test_lines_of_a_batch(self):
        """Good and bad ones: the bytes that `bittern batch` writes."""
        lines = [b'{"id": "a", "prompt": "A tern is", "n_predict": 4}', b'{"prompt": "On the", "n": 2, "logprobs": 1}',
                 b'{"id": [1, "\xc3\xa4"], "messages": [{"role": "user", "content": "x"}], "max_tokens": 3}', b"not json",
                 b'{"id": "\xff"}', b"[1]", b'{"id": "b", "temprature": 1}', b'{"id": "c", "prompt": ""}',
                 b'{"id": "d", "prompt_ids": [99999999]}', b'{"id": "e", "prompt_ids": ' + str([5] * 3000).encode() + b"}",
                 b'{"custom_id": "f", "body": {"prompt": "x", "max_tokens": 0}}\r', b'{"prompt": "x", "head=y": 1}',
                 b'{"id": "g", "prompt": "x", "id_slot": 500, "max_tokens": 1}', b'{"prompt": "x", "receipt": true}']
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/in", "wb") as file:
                file.write(b"\n".join(lines))
            done = subprocess.run([sys.argv[1], "batch", f"{folder}/in", "-n", "9", "--min-p", "0.1", "-np", "3"],
                                  capture_output=True, check=True)
        with bittern.Engine(MODEL, max_sequences=4) as engine:
            futures = [engine.line(line, number, n_predict=9, min_p=0.1) for number, line in enumerate(lines, 1)]
            self.assertEqual("".join(future.result() for future in futures), done.stdout.decode())
            with self.assertRaises(TypeError):
                engine.line(5)
            future = engine.line('{"prompt": "x", "n_predict": -1, "ignore_eos": true}')
            self.assertTrue(future.cancel())
        with self.assertRaises(bittern.ArgumentError):
            engine.line("{}")

    def test_cancel_and_stop(self):
        with bittern.Engine(MODEL) as engine:
            begun = threading.Event()
            cancelled = engine.submit("On", on_text=lambda _: begun.set(), **ENDLESS)
            self.assertTrue(begun.wait(60))
            self.assertTrue(cancelled.cancel())
            self.assertTrue(cancelled.cancelled())
            with self.assertRaises(concurrent.futures.CancelledError):
                cancelled.result(60)
            begun = threading.Event()
            stopped = engine.submit("On", on_text=lambda _: begun.set(), **ENDLESS)
            self.assertTrue(begun.wait(60))
            stopped.stop()
            self.assertEqual(stopped.result(60).finish_reason, "cancelled")
            self.assertFalse(stopped.cancel())
            self.assertFalse(stopped.cancelled())
            self.assertTrue(until(lambda: engine.stats["running"] == 0))

    def test_a_task_that_is_cancelled(self):
        async def main(engine):
            future = engine.submit("On", **ENDLESS)
            task = asyncio.ensure_future(asyncio.wrap_future(future))
            await asyncio.sleep(0.05)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return future
        with bittern.Engine(MODEL) as engine:
            self.assertTrue(asyncio.run(main(engine)).cancelled())
            self.assertTrue(until(lambda: engine.stats["running"] == 0))

    def test_an_error_in_on_text(self):
        def fail(_):
            raise ZeroDivisionError("of on_text")
        with bittern.Engine(MODEL) as engine:
            future = engine.submit("On the", on_text=fail, **ENDLESS)
            with self.assertRaisesRegex(ZeroDivisionError, "of on_text"):
                future.result(60)
            body = {"prompt": "On the", "max_tokens": 400, "ignore_eos": True}
            with self.assertRaisesRegex(ZeroDivisionError, "of on_text"):
                engine.answer(body, on_text=fail).result(60)

    def test_dropped_without_close(self):
        alone = MODEL.generate("A tern is", **GREEDY)
        before = threads()
        engine = bittern.Engine(MODEL, threads=2)
        self.assertGreater(threads(), before)
        future = engine.submit("A tern is", **GREEDY)
        known = weakref.ref(engine)
        del engine
        self.assertEqual(future.result(60), alone)
        gc.disable()  # no cycle to be collected
        try:
            self.assertTrue(until(lambda: known() is None))
            self.assertTrue(until(lambda: threads() <= before))
        finally:
            gc.enable()

    def test_a_failing_step_fails_all(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "m.gguf")
            shutil.copy(FILE, copy)
            with bittern.Engine(bittern.Model(copy), max_sequences=3) as engine:
                begun = threading.Event()
                futures = [engine.submit("In the beginning", on_text=lambda _: begun.set(),
                                         **ENDLESS) for _ in range(6)]
                self.assertTrue(begun.wait(60))
                with open(copy, "r+b") as file:  # the model's file changes while it is mapped
                    file.seek(-1, os.SEEK_END)
                    last = file.read(1)
                    file.seek(-1, os.SEEK_END)
                    file.write(last)
                for future in futures:
                    with self.assertRaises(bittern.FileError):
                        future.result(60)


class ManyCalls(unittest.TestCase):
    def test_200_at_once(self):
        alone = MODEL.generate("A tern is", threads=2, **GREEDY)
        before, most, stop = threads(), [0], threading.Event()

        def watch():
            while not stop.wait(0.002):
                most[0] = max(most[0], threads())

        async def main():
            texts = await asyncio.gather(*(MODEL.generate_async("A tern is", threads=2, **GREEDY)
                                           for _ in range(200)))

            async def streamed():
                return "".join([part async for part in MODEL.stream_async("A tern is", threads=2,
                                                                          **GREEDY)])
            return texts + await asyncio.gather(*(streamed() for _ in range(200)))
        thread = threading.Thread(target=watch)
        thread.start()
        texts = asyncio.run(main())
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            texts += list(pool.map(lambda _: MODEL.generate("A tern is", threads=2, **GREEDY),
                                   range(50)))
        stop.set()
        thread.join()
        self.assertEqual(set(texts), {alone})
        # 50 are the last pool's own; each of 8 workers has a sequence of two threads
        self.assertLessEqual(most[0] - before, 50 + 1 + 8 * 3)

    def test_chats_share_an_engine(self):
        model = bittern.Model()
        message, settings = "What is a tern?", {"max_tokens": 8, "temperature": 0}
        alone = model.create_chat_completion(message, **settings)["choices"][0]
        before = threads()
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(lambda _: model.create_chat_completion(message, **settings),
                                    range(60)))
        self.assertTrue(all(answer["choices"][0] == alone for answer in answers))
        self.assertTrue(until(lambda: threads() <= before))
        self.assertEqual(len(model.create_chat_completion(message, n=9, **settings)["choices"]), 9)
        model.close()
        self.assertTrue(until(lambda: threads() < before))

    def test_a_call_that_waits_is_cancelled(self):
        async def main():
            tasks = [asyncio.ensure_future(MODEL.generate_async("On", **ENDLESS))
                     for _ in range(20)]
            await asyncio.sleep(0.2)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        asyncio.run(main())
        begin = time.monotonic()
        self.assertEqual(MODEL.generate("A tern is", **GREEDY).finish_reason, "end_of_text")
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_stream_that_waits_is_left(self):
        """It does not wait for the eight that work."""
        async def read(stream):
            async for _ in stream:
                pass

        async def main():
            tasks = [asyncio.ensure_future(read(MODEL.stream_async("On", **ENDLESS)))
                     for _ in range(12)]
            await asyncio.sleep(0.3)
            for task in tasks[8:]:
                task.cancel()
            await asyncio.wait(tasks[8:], timeout=30)
            ended = [task.done() for task in tasks]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            return ended
        with unittest.mock.patch.object(bittern._sequence.Sequence, "_generate", slow):
            self.assertEqual(asyncio.run(main()), [False] * 8 + [True] * 4)

    def test_after_a_fork(self):
        model = bittern.Model()
        text = model.create_chat_completion("What is a tern?", max_tokens=8, temperature=0)
        child = os.fork()
        if child == 0:
            try:
                again = model.create_chat_completion("What is a tern?", max_tokens=8, temperature=0)
                same = again["choices"] == text["choices"]
                del model
                os._exit(0 if same else 1)
            finally:
                os._exit(2)
        end = time.monotonic() + 30
        pid, status = os.waitpid(child, os.WNOHANG)
        while pid == 0 and time.monotonic() < end:
            time.sleep(0.01)
            pid, status = os.waitpid(child, os.WNOHANG)
        if pid == 0:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.assertEqual((pid, status), (child, 0), "the child hangs or fails")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
