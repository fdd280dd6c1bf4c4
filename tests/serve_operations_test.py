#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_operations_test.py BITTERN MODEL   What who runs `bittern serve` relies on: the log, the health check, a folder
of models that changes, what a GET may do, and what clients are not told."""
import calendar
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from serve_client import Server

BITTERN, MODEL = sys.argv[1:3]
PLAIN = os.environ.get("BITTERN_TEST_SYSTEM") == "plain"  # a system that tells less of its processes
ASK = {"prompt": "In the beginning", "max_tokens": 3, "seed": 1}
FLAGS = ("-t", "1", "-np", "1", "--cache-mib", "64")


class OperationsTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.work.name).resolve() / "models"
        self.root.mkdir()

    def tearDown(self):
        self.work.cleanup()

    def serve(self, *flags):
        server = Server(BITTERN, *FLAGS, *flags)
        self.addCleanup(server.kill)
        return server

    def states(self, server):
        return {one["id"]: one["status"]["value"] for one in json.loads(server.get("/v1/models")[1])["data"]}

    def test_get_moves_no_model(self):
        for name in "ab":
            shutil.copy(MODEL, self.root / f"{name}.gguf")
        server = self.serve("--models-dir", str(self.root), "--models-max", "1", "--metrics", "--log-format", "none")
        for path in ("/props?model=a", "/slots?model=a", "/metrics?model=a", "/props?model=none"):
            for method in ("GET", "HEAD"):
                status, text, _ = server.request(method, path)
                self.assertEqual(status, 404, (path, text))
                if method == "GET" and "none" not in path:
                    self.assertIn("POST /models/load", text)
        self.assertEqual(self.states(server), {"a": "unloaded", "b": "unloaded"})
        self.assertEqual(server.post("/v1/completions", {**ASK, "model": "b"})[0], 200)
        for path in ("/props?model=b", "/slots?model=b", "/metrics?model=b"):
            self.assertEqual(server.get(path)[0], 200)
        self.assertEqual(server.get("/props?model=a")[0], 404)
        self.assertEqual(self.states(server), {"a": "unloaded", "b": "loaded"})

    def test_folder_that_changes(self):
        shutil.copy(MODEL, self.root / "a.gguf")
        server = self.serve("--models-dir", str(self.root), "--log-format", "none")
        self.assertEqual(set(self.states(server)), {"a"})
        shutil.copy(MODEL, self.root / "b.gguf")
        time.sleep(1.1)
        self.assertEqual(set(self.states(server)), {"a", "b"})
        shutil.copy(MODEL, self.root / "c.gguf")
        time.sleep(1.1)
        self.assertEqual(server.post("/v1/completions", {**ASK, "model": "c"})[0], 200)
        for name in "bc":
            (self.root / f"{name}.gguf").unlink()
        time.sleep(1.1)
        self.assertEqual(server.post("/v1/completions", {**ASK, "model": "b"})[0], 404 if len(self.states(server)) > 1 else 200)
        for _ in range(8):
            if set(self.states(server)) == {"a"}:
                break
            time.sleep(0.5)
        self.assertEqual(set(self.states(server)), {"a"})
        self.assertEqual(server.post("/v1/completions", {**ASK, "model": "a"})[0], 200)

    def test_what_clients_are_not_told(self):
        """No bytes of a file that is no model, no place of a file; the log has both. Links lead nowhere outside."""
        secret = self.root.parent / "secret"
        secret.write_text("root:x:0:0:the secret:/root\n" * 50)
        shutil.copytree(self.root, self.root.parent / "outside")
        shutil.copy(MODEL, self.root.parent / "outside" / "far.gguf")
        (self.root.parent / "outside" / "config.json").write_text("{}")
        shutil.copy(MODEL, self.root / "a.gguf")
        (self.root / "own.gguf").symlink_to("a.gguf")
        (self.root / "evil.gguf").symlink_to(secret)
        (self.root / "far.gguf").symlink_to(self.root.parent / "outside" / "far.gguf")
        (self.root / "tree").symlink_to(self.root.parent / "outside")
        (self.root / "half").mkdir()
        (self.root / "half" / "config.json").symlink_to(secret)
        shutil.copy(secret, self.root / "text.gguf")
        server = self.serve("--models-dir", str(self.root), "--metrics")
        self.assertEqual(set(self.states(server)), {"a", "own", "text"})
        told = ""
        for name in ("text", "evil", "far", "tree", "half"):
            status, text, _ = server.request("POST", "/v1/completions", {**ASK, "model": name})
            self.assertNotEqual(status, 200, text)
            told += text
        server.post("/v1/completions", {**ASK, "model": "a"})
        for path in ("/v1/models", "/v1/models/text", "/props", "/props?model=a", "/api/tags", "/api/ps", "/metrics"):
            told += server.get(path)[1]
        self.assertIn("damaged, or no model", told)
        self.assertNotIn("secret", told)
        self.assertNotIn(str(self.root), told)
        self.assertIn("the secret", server.output())
        self.assertIn(str(self.root / "text.gguf"), server.output())

    def test_health_of_a_ruined_file(self):
        model = self.root / "a.gguf"
        shutil.copy(MODEL, model)
        server = self.serve("-m", str(model), "--log-format", "none")
        self.assertEqual(server.get("/health")[0], 200)
        with open(model, "r+b") as file:
            file.truncate(100000)
        status, text = server.get("/health")
        self.assertEqual(status, 503)
        for text in (text, json.dumps(server.post("/v1/completions", ASK)[1])):
            self.assertIn("a.gguf: changed while it was in use", text)
            self.assertNotIn(str(self.root), text)
        gone = self.root / "b.gguf"
        shutil.copy(MODEL, gone)
        server = self.serve("-m", str(gone), "--log-format", "none")
        gone.unlink()  # who has it open still has it whole
        self.assertEqual(server.get("/health")[0], 200)

    def test_log(self):
        for kind in ("json", "text"):
            server = self.serve("-m", MODEL, "--log-format", kind)
            before = time.time()
            status, _, headers = server.request("POST", "/v1/completions", {**ASK, "ignore_eos": True})
            self.assertEqual(status, 200)
            server.raw(b"x\r\n\r\n", wait=2)
            self.assertEqual(server.stop(), 0)
            lines = server.output().splitlines()
            line = next(one for one in lines if "/v1/completions" in one)
            stamp = re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line)[0]
            at = time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")
            self.assertLess(abs(calendar.timegm(at) - before), 5)
            self.assertIn(headers["X-Request-Id"], line)
            if kind == "json":
                record = json.loads(line)
                self.assertEqual((record["time"], record["id"], record["model"]), (stamp, headers["X-Request-Id"], pathlib.Path(MODEL).stem))
                self.assertEqual(record["completion_tokens"], 3)
                self.assertGreater(record["prompt_tokens"], 0)
                self.assertTrue(any(json.loads(one)["status"] == 400 for one in lines if one.startswith("{")))
            else:
                self.assertTrue(line.startswith(stamp + " " + headers["X-Request-Id"] + " 127.0.0.1 POST"), line)

    def check_metrics(self, text):
        """The figures by name. Each is described once, before its lines, and has one type; buckets only grow."""
        kinds, figures, current = {}, {}, None
        for line in text.splitlines():
            if line.startswith("# HELP "):
                current = line.split()[2]
                self.assertNotIn(current, kinds)
                kinds[current] = None
                self.assertGreater(len(line.split()), 3)
            elif line.startswith("# TYPE "):
                self.assertEqual(line.split()[2], current)
                kinds[current] = line.split()[3]
            else:
                key, value = line.rsplit(" ", 1)
                name = key.split("{")[0]
                is_part = kinds[current] == "histogram" and re.sub("_(bucket|sum|count)$", "", name) == current
                self.assertTrue(name == current or is_part, line)
                self.assertNotIn(key, figures)
                figures[key] = float(value)
        for name, kind in kinds.items():
            self.assertIn(kind, ("counter", "gauge", "histogram"), name)
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            if name.startswith("llamacpp:"):
                self.assertEqual(figures[name], figures["bittern_" + name[9:]])
            if kind == "histogram":
                buckets = [value for key, value in figures.items() if key.startswith(name + "_bucket")]
                self.assertEqual(buckets, sorted(buckets))
                self.assertEqual(buckets[-1], figures[name + "_count"])
        return figures

    def test_metrics(self):
        shutil.copy(MODEL, self.root / "a.gguf")
        alone = self.serve("-m", MODEL, "--metrics", "--log-format", "none")
        many = self.serve("--models-dir", str(self.root), "--metrics", "--log-format", "none")
        for server, path in ((alone, "/metrics"), (many, "/metrics?model=a"), (many, "/metrics")):
            for _ in range(3):
                self.assertEqual(server.post("/v1/completions", {**ASK, "model": "a", "ignore_eos": True})[0], 200)
            text = server.get(path)[1]
            figures = self.check_metrics(text)
            self.assertIn("bittern_build_info{version=", text)
            if PLAIN:
                self.assertFalse({"process_resident_memory_bytes", "process_open_fds"} & set(figures))
            else:
                self.assertGreater(figures["process_resident_memory_bytes"], 1 << 20)
                self.assertGreater(figures["process_open_fds"], 3)
                self.assertLess(abs(figures["process_start_time_seconds"] - time.time()), 100)
            if path == "/metrics" and server is many:
                continue
            times = [figures[f"bittern_{name}_seconds_{end}"] for end in ("count", "sum")
                     for name in ("queue_wait", "time_to_first_token", "request")]
            self.assertEqual(times[:3], [3] * 3)
            self.assertTrue(times[3] <= times[4] < times[5], times)
            self.assertEqual(figures["bittern_tokens_predicted_total"], 9)
            promtool = shutil.which("promtool")
            if promtool:  # its only remark is the colon of llama-server's names
                ours = re.sub(r"(?m)^(# (HELP|TYPE) )?llamacpp:.*\n", "", text)
                run = subprocess.run([promtool, "check", "metrics"], input=ours, capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_descriptors(self):
        """Each connection has one; a shell's soft limit is raised as far as it may be."""
        for limit, most in (("256:6000", 4096 + 256), ("256:1500", 1500)):
            server = Server(BITTERN, *FLAGS, "--metrics", "--log-format", "none", front=("prlimit", f"--nofile={limit}"))
            self.addCleanup(server.kill)
            self.assertEqual(re.findall(r"^process_max_fds (\d+)", server.get("/metrics")[1], re.M), [str(most)])
            self.assertEqual(server.stop(), 0)

    def test_start(self):
        """Folders must be there, and errors name their flag; a server that everyone reaches says so."""
        with tempfile.TemporaryDirectory() as empty:
            for flag, folder, words in (("--slot-save-path", "/no/such", "a folder expected, nothing found"), ("--path", MODEL, "a folder expected, something else found"),
                                        ("--models-dir", "/no/such", "a folder expected, nothing found"), ("--models-dir", empty, "models (*.gguf, or folders with config.json) expected, none found")):
                run = subprocess.run([BITTERN, "serve", "--port", "0", flag, folder], capture_output=True, text=True, check=False, timeout=60)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(f"{flag} {folder}: {words}", run.stderr)
        for flags, warns in ((("--host", "0.0.0.0"), 1), (("--host", "0.0.0.0", "--api-key", "k"), 0), (("--host", "127.0.0.1"), 0), (("--host", "localhost"), 0)):
            server = self.serve("-m", MODEL, "--log-format", "none", *flags)
            self.assertEqual(server.output().count("warning: anyone who reaches"), warns, flags)
            server.kill()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
