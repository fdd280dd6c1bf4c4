#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: ray_test.py BITTERN MODEL [TEST...]

bittern.ray on a cluster of two nodes on this machine: files beside those of `bittern batch` while workers and a node
are killed, and a server beside `bittern serve`. tests/pypi_ray/run.sh makes the environment."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

BITTERN, MODEL = (os.path.abspath(path) for path in sys.argv[1:3])
MARK = f"BITTERN_RAY_TEST={os.getpid()}"  # in the environment of all that this test begins
os.environ.update([MARK.split("=")], BITTERN=BITTERN, RAY_AUTH_MODE="disabled", RAY_DATA_DISABLE_PROGRESS_BARS="1")
import ray  # noqa: E402  # pylint: disable=wrong-import-position
from ray.cluster_utils import Cluster  # noqa: E402  # pylint: disable=wrong-import-position

import bittern  # noqa: E402  # pylint: disable=wrong-import-position
import bittern.ray  # noqa: E402  # pylint: disable=wrong-import-position

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from serve_client import Server  # noqa: E402  # pylint: disable=wrong-import-position

LINES = 5000


def make_requests(path):
    """Every fourth line is odd: wrong, empty, of several answers, with log-probabilities, without an id."""
    chance = random.Random(7)
    odd = [b"\n", b" \t\r\n", b"not json\n", b'{"id": "bytes", "prompt": "\xff"}\n', b'{"id": [1], "temprature": 1}\n',
           b'{"prompt": "Behold", "n_predict": 2, "logprobs": 2}\n', b'{"id": "two", "prompt": "In the", "n": 2}\n',
           b'{"custom_id": "o", "body": {"prompt": "And", "max_tokens": 2, "id_slot": 9}}\r\n', b"[1]\n", b'"\xc3\xa4"\n',
           '{"id": "\u00e4\\n\\u0000", "prompt": "\u00e4", "n_predict": 0}\n'.encode(), b'{"id": "kernel=x", "head=a": 1}\n']
    with open(path, "wb") as out:
        count = 0
        while count < LINES - 1:
            if chance.random() < 0.25:
                line = chance.choice(odd)
            else:
                prompt = " ".join(chance.choices(("In", "the", "beginning", "God", "unto", "them"), k=chance.randint(1, 9)))
                line = json.dumps({"id": f"r{count}", "prompt": prompt, "n_predict": chance.randint(1, 8),
                                   "seed": chance.randint(0, 99)}).encode() + b"\n"
            out.write(line)
            count += 1 if line.strip(b" \t\r\n") else 0
        out.write(b'{"id": "last"}')


def of_this_test(title):
    """The processes that this test has begun whose command line begins so."""
    found = []
    for name in os.listdir("/proc"):
        try:
            command = pathlib.Path(f"/proc/{name}/cmdline").read_bytes() if name.isdigit() else b""
            mine = command.startswith(title) and MARK.encode() in pathlib.Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if mine:
            found.append(int(name))
    return sorted(found)


def workers():
    return of_this_test(b"ray::_PoolWorker")


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="bittern-ray-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        size = {"num_cpus": 2, "object_store_memory": 100 << 20}
        cls.size = size
        cls.cluster = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.node = cls.cluster.add_node(**size)
        ray.init(address=cls.cluster.address, log_to_driver=False, logging_level="ERROR")
        cls.addClassCleanup(ray.shutdown)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)


class Batch(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_requests(cls.path("in"))
        subprocess.run([BITTERN, "batch", cls.path("in"), "-o", cls.path("whole"), "-m", MODEL, "-n", "4", "--quiet",
                        "--temp", "0.9"], check=True)
        cls.whole = pathlib.Path(cls.path("whole")).read_bytes()

    def run_batch(self, name, workers_wanted, **more):
        path = self.path(name)
        start = time.monotonic()
        count = bittern.ray.batch(self.path("in"), path, MODEL, workers=workers_wanted, n_predict=4, temperature=0.9, **more)
        self.assertEqual(count, self.whole.count(b"\n"))
        self.assertEqual(pathlib.Path(path).read_bytes(), self.whole)
        print(f"\n-- {name}: {count} lines on {workers_wanted} workers in {time.monotonic() - start:.1f} s", flush=True)

    def test_one_two_and_four_workers(self):
        for count in (1, 2, 4):
            self.run_batch(f"of{count}", count)

    def test_workers_and_a_node_die(self):
        """A worker twice, then the second node with its workers; a new node takes its place."""
        done = []

        def kill_one():
            os.kill(workers()[-1], signal.SIGKILL)

        def remove_node():
            self.cluster.remove_node(self.node, allow_graceful=False)

        def add_node():
            type(self).node = self.cluster.add_node(**self.size)

        plan = [(600, kill_one), (1500, kill_one), (2500, remove_node), (3300, add_node)]

        def progress(lines, _):
            if plan and lines >= plan[0][0]:
                action = plan.pop(0)[1]
                action()
                done.append((action.__name__, lines))

        self.run_batch("killed", 4, progress=progress)
        print(f"-- {done}", flush=True)
        self.assertEqual([name for name, _ in done], ["kill_one", "kill_one", "remove_node", "add_node"])

    def test_cancelled_and_resumed(self):
        with self.assertRaises(bittern.CancelledError):
            self.run_batch("stopped", 2, progress=lambda lines, total: lines < 700)
        there = pathlib.Path(self.path("stopped")).read_bytes()
        self.assertEqual(there, self.whole[:len(there)])
        self.assertEqual(there.count(b"\n"), 700)
        until = time.monotonic() + 30
        while workers():
            self.assertLess(time.monotonic(), until, "the workers of a run that was cancelled still run")
            time.sleep(0.2)
        with self.assertRaisesRegex(FileExistsError, "stopped exists already"):
            self.run_batch("stopped", 2)
        with open(self.path("stopped"), "ab") as file:
            file.write(self.whole[len(there):len(there) + 9])  # what an interrupted run leaves
        self.run_batch("stopped", 2, resume=True)
        self.run_batch("stopped", 2, resume=True)
        with open(self.path("other"), "wb") as file:
            file.write(self.whole.replace(b'"r0"', b'"x0"').replace(b'"r1"', b'"x1"'))
        with self.assertRaisesRegex(bittern.ArgumentError, 'line [12]: the id "r[01]" expected, "x[01]" found'):
            self.run_batch("other", 2, resume=True)

    def test_what_a_worker_would_refuse(self):
        before = set(workers())  # of a test before, which are about to end
        for settings, kind in (({"temprature": 1}, bittern.UnknownSettingError), ({"kernel": "auto"}, bittern.ArgumentError),
                               ({"n_predict": "x"}, bittern.ArgumentError)):
            with self.assertRaises(kind):
                bittern.ray.batch(self.path("in"), self.path("refused"), MODEL, **settings)
        self.assertLessEqual(set(workers()), before)

    def test_a_file_that_is_no_model(self):
        with self.assertRaisesRegex(bittern.BitternError, "in: "):
            bittern.ray.batch(self.path("in"), self.path("none"), self.path("in"), workers=2)

    def test_workers_that_are_always_lost(self):
        """An error in the end, not a loop without one."""
        ended = threading.Event()

        def kill_all():
            while not ended.wait(0.1):
                for worker in workers():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)

        killer = threading.Thread(target=kill_all)
        killer.start()
        try:
            with self.assertRaisesRegex(RuntimeError, "9 workers were lost over the same work"):
                bittern.ray.batch(self.path("in"), self.path("lost"), MODEL, workers=1)
        finally:
            ended.set()
            killer.join()

    def test_dataset_of_prompts(self):
        rows = bittern.ray.prompts(["In the beginning", "And he said"], max_tokens=3)
        found = bittern.ray.answers(ray.data.from_items(rows), MODEL, workers=1).take_all()
        with bittern.Engine(bittern.Model(MODEL)) as engine:
            expected = [engine.line(row["text"], row["line"]).result() for row in rows]
        self.assertEqual([row["result"] for row in sorted(found, key=lambda row: row["line"])], expected)


class Serve(Folder):
    REQUESTS = (("POST", "/v1/completions", {"prompt": "In the", "max_tokens": 9, "seed": 1, "logprobs": 2}),
                ("POST", "/v1/completions", {"prompt": "In the", "max_tokens": 9, "seed": 1, "stream": True}),
                ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Behold"}], "max_tokens": 9,
                                                  "seed": 2, "stream": True, "stream_options": {"include_usage": True}}),
                ("POST", "/v1/embeddings", {"input": ["x", "y"]}), ("POST", "/v1/completions", {"prompt": 3, "n": "x"}),
                ("POST", "/v1/completions?x=1%20y", b"not json"), ("POST", "/tokenize", {"content": "x"}),
                ("GET", "/v1/models", None), ("GET", "/nothing", None), ("GET", "/health", None))

    def ask(self, port, method, path, body):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = answer.status, answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as error:
            found = error.code, error.headers["Content-Type"], error.read()
        # What differs between two requests to one server, and what a replica has cached: the other one may have had
        # the request before.
        text = re.sub(rb'"(id|created|cached_tokens|cache_n|prompt_n|\w+_(ms|per_second))":("[\w-]+"|[\d.e+-]+)', rb'"\1":0', found[2])
        return found[0], found[1], text

    def test_the_same_server(self):
        from ray import serve
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        serve.start(http_options={"port": port})
        self.addCleanup(serve.shutdown)
        serve.run(bittern.ray.deployment(MODEL, num_replicas=2, flags=["-np", "4"]), route_prefix="/")
        alone = Server(BITTERN, "-m", MODEL, "-np", "4")
        self.addCleanup(alone.process.wait)
        self.addCleanup(alone.process.terminate)
        for request in self.REQUESTS:
            self.assertEqual(self.ask(port, *request), self.ask(alone.port, *request), request)
        # A replica that dies takes its server along, and another one takes its place.
        servers = of_this_test(BITTERN.encode() + b"\0serve\0--host")
        self.assertEqual(len(servers), 2)
        os.kill(of_this_test(b"ray::ServeReplica")[0], signal.SIGKILL)
        until = time.monotonic() + 60
        while len(set(of_this_test(BITTERN.encode() + b"\0serve\0--host")) - set(servers)) != 1 or \
                len(of_this_test(BITTERN.encode() + b"\0serve\0--host")) != 2:
            self.assertLess(time.monotonic(), until, "one server of two expected to be replaced")
            time.sleep(0.2)


class Import(unittest.TestCase):
    def test_without_ray(self):
        program = "import sys; sys.modules['ray'] = None; import bittern.ray"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertIn('ImportError: bittern.ray needs Ray: pip install "ray[data,serve]"', done.stderr)
        program = "import sys, bittern; assert 'ray' not in sys.modules"
        subprocess.run([sys.executable, "-c", program], check=True)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
