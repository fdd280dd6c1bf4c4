#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_many_test.py BITTERN MODEL   `bittern serve --path` (files of one folder and nothing else) and
`--models-dir` (models that come and go)."""
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serve_client import Server

BITTERN, MODEL = sys.argv[1:3]
TEXT = {"prompt": "In the beginning", "max_tokens": 12, "seed": 3, "temperature": 1.0}
LONG = {"prompt": "In the beginning", "max_tokens": 400, "seed": 3, "ignore_eos": True, "stream": True}


class PathTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.work.name) / "site"
        (cls.root / "sub").mkdir(parents=True)
        (cls.root / "index.html").write_text("<p>ours</p>")
        (cls.root / "sub" / "index.html").write_text("<p>sub</p>")
        (cls.root / "a b.js").write_text("1")
        (cls.root / ".hidden").write_text("secret")
        (cls.root / "slots").write_text("shadowed")
        (pathlib.Path(cls.work.name) / "site2").mkdir()
        (pathlib.Path(cls.work.name) / "site2" / "x").write_text("secret")
        (cls.root / "out").symlink_to(cls.work.name)
        (cls.root / "passwd").symlink_to("/etc/passwd")
        (cls.root / "in").symlink_to(cls.root / "sub")
        os.mkfifo(cls.root / "pipe")
        with open(cls.root / "big", "wb") as big:
            big.truncate((64 << 20) + 1)
        cls.server = Server(BITTERN, "-m", MODEL, "--path", str(cls.root), "--api-key", "k", "--log-format", "none")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        cls.work.cleanup()

    def raw_status(self, path):
        return int(self.server.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()).split()[1])

    def test_files(self):
        for path, text, kind in (("/", "<p>ours</p>", "text/html"), ("/index.html", "<p>ours</p>", "text/html"),
                                 ("/sub", "<p>sub</p>", "text/html"), ("/sub/", "<p>sub</p>", "text/html"),
                                 ("/in/index.html", "<p>sub</p>", "text/html"), ("/a%20b.js", "1", "text/javascript")):
            status, body, headers = self.server.request("GET", path)
            self.assertEqual((status, body), (200, text), path)
            self.assertTrue(headers["Content-Type"].startswith(kind), headers)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        tag = self.server.request("GET", "/")[2]["ETag"]
        self.assertEqual(self.server.request("GET", "/", headers={"If-None-Match": tag})[0], 304)
        status, body, headers = self.server.request("HEAD", "/index.html")
        self.assertEqual((status, body, headers["Content-Length"]), (200, "", "11"))

    def test_nothing_else(self):
        for path in ("/nothing", "/.hidden", "/../site2/x", "/%2e%2e/site2/x", "/sub/../../site2/x", "/sub/%2e%2e/%2e%2e/site2/x",
                     "//etc/passwd", "/passwd", "/out/site2/x", "/pipe", "/index.html%00.js", "/sub\\..\\index.html", "/..", "/.",
                     "/%252e%252e/site2/x"):
            self.assertEqual(self.raw_status(path), 404, path)
        self.assertEqual(self.raw_status("/big"), 413)

    def test_doors_stay(self):
        self.assertEqual(self.server.get("/slots")[0], 401)
        self.assertEqual(self.server.get("/health")[0], 200)
        self.assertEqual(self.server.request("POST", "/index.html", "{}")[0], 401)
        self.assertEqual(self.server.post("/completion", TEXT, {"X-Api-Key": "k"})[0], 200)
        run = subprocess.run([BITTERN, "serve", "-m", MODEL, "--port", "0", "--path", "/no/such"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("--path /no/such: a folder expected", run.stderr)


class ModelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.work.name)
        (root / "deep" / "er").mkdir(parents=True)
        for name in ("a", "b", "deep/er/c"):
            shutil.copy(MODEL, root / f"{name}.gguf")
        (root / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
        alone = Server(BITTERN, "-m", MODEL, "--log-format", "none")
        cls.expected = alone.post("/v1/completions", TEXT)[1]["choices"]
        alone.stop()

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def start(self, *flags):
        server = Server(BITTERN, "--models-dir", self.work.name, "--cache-mib", "64", "--log-format", "none", "-np", "16", *flags)
        self.addCleanup(lambda: server.process.poll() is None and server.kill())
        return server

    def states(self, server):
        return {one["id"]: one["status"]["value"] for one in json.loads(server.get("/v1/models")[1])["data"]}

    def ask(self, server, model):
        status, answer = server.post("/v1/completions", {**TEXT, "model": model})
        self.assertEqual((status, answer.get("model"), answer.get("choices")), (200, model, self.expected), answer)

    def stream(self, server, model):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        connection.request("POST", "/v1/completions", json.dumps({**LONG, "model": model}))
        return connection, connection.getresponse()

    def wait_for(self, what):
        for _ in range(3000):
            if what():
                return
            time.sleep(0.02)
        self.fail("waited a minute in vain")

    def test_oldest_goes(self):
        server = self.start("--models-max", "2")
        self.assertEqual(self.states(server), dict.fromkeys(["a", "b", "broken", "deep/er/c"], "unloaded"))
        for model in ("a", "b", "a", "deep/er/c"):
            self.ask(server, model)
        self.assertEqual(self.states(server), {"a": "loaded", "b": "unloaded", "broken": "unloaded", "deep/er/c": "loaded"})
        for body, status, word in (({**TEXT}, 400, "4 models"), ({**TEXT, "model": "z"}, 404, '"z"'), ("{", 400, "JSON")):
            code, answer = server.post("/v1/completions", body)
            self.assertEqual(code, status, answer)
            self.assertIn(word, answer["error"]["message"])
        code, answer = server.post("/v1/completions", {**TEXT, "model": "broken"})
        self.assertNotEqual(code, 200)
        self.assertIn("error", answer)
        self.ask(server, "a")
        self.assertEqual(server.post("/api/show", {"model": "a:latest"})[0], 200)
        self.assertEqual(json.loads(server.get("/props?model=a")[1])["model_alias"], "a")
        self.assertEqual(json.loads(server.get("/props")[1])["role"], "router")
        self.assertEqual(len(json.loads(server.get("/api/tags")[1])["models"]), 4)
        self.assertEqual(server.stop(), 0)

    def test_busy_stays(self):
        server = self.start("--models-max", "1")
        connection, answer = self.stream(server, "a")
        answer.read(200)
        done = []
        other = threading.Thread(target=lambda: done.append(server.post("/v1/completions", {**TEXT, "model": "b"})))
        other.start()
        rest = answer.read().decode()
        self.assertIn('"finish_reason":"length"', rest)
        self.assertTrue(rest.endswith("data: [DONE]\n\n"))
        other.join()
        self.assertEqual(done[0][1]["choices"], self.expected)
        self.assertEqual((self.states(server)["a"], self.states(server)["b"]), ("unloaded", "loaded"))
        connection.close()
        # A client that goes away while it waits costs nobody a model.
        connection, answer = self.stream(server, "b")
        answer.read(200)
        gone, _ = http.client.HTTPConnection("127.0.0.1", server.port), None
        gone.request("POST", "/v1/completions", json.dumps({**TEXT, "model": "a"}))
        time.sleep(0.01)  # the other answer takes some 60 ms
        gone.close()
        self.assertTrue(answer.read().endswith(b"[DONE]\n\n"))
        time.sleep(0.5)
        self.assertEqual((self.states(server)["a"], self.states(server)["b"]), ("unloaded", "loaded"))
        self.assertEqual(server.stop(), 0)

    def test_many_at_once(self):
        server = self.start("--models-max", "2")
        errors = []

        def client(number):
            try:
                for turn in range(4):
                    self.ask(server, ("a", "b", "deep/er/c")[(number * 7 + turn * turn) % 3])
            except Exception as error:  # an assertion in a thread would be lost
                errors.append(repr(error))

        threads = [threading.Thread(target=client, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(server.stop(), 0)

    def test_budget_and_commands(self):
        server = self.start("--models-mib", "100", "--no-models-autoload", "--metrics")
        self.assertEqual(server.post("/v1/completions", {**TEXT, "model": "a"})[0], 400)
        for model in ("a", "b"):  # 64 MiB of cache and the file: two do not fit
            self.assertEqual(server.post("/models/load", {"model": model}), (200, {"success": True}))
            self.ask(server, model)
        self.assertEqual((self.states(server)["a"], self.states(server)["b"]), ("unloaded", "loaded"))
        self.assertIn("bittern_models_loaded 1\n", server.get("/metrics")[1])
        self.assertEqual(server.post("/models/unload", {"model": "b"})[0], 200)
        self.wait_for(lambda: self.states(server)["b"] == "unloaded")
        self.assertEqual(server.post("/models/load", {"model": "z"})[0], 404)
        self.assertEqual(server.get("/models/load")[0], 405)
        self.assertEqual(server.stop(), 0)
        tight = self.start("--models-mib", "10")
        status, answer = tight.post("/v1/completions", {**TEXT, "model": "a"})
        self.assertEqual(status, 503, answer)
        self.assertIn("all models together may take 10", answer["error"]["message"])
        self.assertEqual(tight.stop(), 0)

    def test_flags(self):
        for flags, word in ((("--models-dir", "/no/such"), "/no/such"), (("--models-dir", self.work.name, "-m", MODEL), "leave out -m")):
            run = subprocess.run([BITTERN, "serve", "--port", "0", *flags], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(word, run.stderr)


unittest.main(argv=sys.argv[:1])
