#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_faults_test.py BITTERN MODEL   `bittern serve` under hostile and broken clients: bodies broken at every
byte, bombs, half requests, vanished clients, a thousand connections, damaged files. It must answer, or close,
and stay as it was. Also what is as long: saved slots, echo, receipts of every answer, /v1/responses."""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serve_client import Server

BITTERN, MODEL = sys.argv[1:3]
TEXT = {"prompt": "In the beginning", "max_tokens": 6, "seed": 3, "temperature": 1.0}
GOOD = json.dumps({**TEXT, "stop": ["a", "\u00e9\n"], "logit_bias": {"5": -1.5}, "n": 2, "json_schema": {"enum": [1, "x", None]},
                   "stream": False, "max_tokens": 1}).encode()


def memory_of(process):
    """Resident bytes."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server(BITTERN, "-m", MODEL, "-np", "4", "-t", "1", "--log-format", "none", "--receipts",
                            "--slot-save-path", cls.folder.name, "--timeout", "3")
        cls.before = cls.server.post("/v1/completions", TEXT)[1]["choices"]

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.output()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.server.post("/v1/completions", TEXT)[1]["choices"], self.before)

    def wait_until_idle(self):
        for _ in range(1000):
            if not any(slot["is_processing"] for slot in json.loads(self.server.get("/slots")[1])):
                return
            time.sleep(0.01)
        self.fail("a sequence goes on for 10 s")

    def test_json_broken_at_every_byte(self):
        """Cut there, that byte dropped, changed and doubled: an answer each time, and never a 500."""
        random_bytes = random.Random(7)
        self.assertEqual(self.server.post("/v1/completions", GOOD)[0], 200)
        for i in range(len(GOOD)):
            change = bytes([random_bytes.randrange(256)])
            for body in (GOOD[:i], GOOD[:i] + GOOD[i + 1:], GOOD[:i] + change + GOOD[i + 1:], GOOD[:i] + GOOD[i:i + 1] * 2 + GOOD[i + 1:]):
                status, answer = self.server.post("/v1/completions", body)
                self.assertIn(status, (200, 400), (body, answer))
                if status == 400:
                    self.assertTrue(answer["error"]["message"], body)

    def test_bombs(self):
        post = lambda body: self.server.post("/v1/completions", body)
        for opening in ("[", '{"a":', '{"prompt":[', '{"json_schema":{"items":'):
            self.assertEqual(post(opening * 100000)[0], 400)
        deep = {"type": "string"}
        for _ in range(40):
            deep = {"type": "array", "items": deep}
        self.assertIn(post({**TEXT, "json_schema": deep, "max_tokens": 1})[0], (200, 400))
        status, answer = post({**TEXT, "stop": ["x"] * 10000})
        self.assertEqual((status, answer["error"]["param"]), (400, "stop"))
        self.assertEqual(post({**TEXT, "stop": ["x" * 2000]})[0], 400)
        self.assertEqual(post({**TEXT, "prompt": "word " * 2_000_000})[0], 400)  # 10 MB
        self.assertEqual(post(b'{"prompt": "' + b"\xff\xfe" * 1000 + b'"}')[0], 400)
        self.assertEqual(post(b"[" + b"1," * 2_000_000 + b"1]")[0], 400)
        self.assertEqual(self.server.request("POST", "/v1/completions", b" " * (17 << 20))[0], 413)
        for grammar in ("root ::= " + "(" * 5000, "root ::= root", 'root ::= "a"{1000000}{1000000}', "root ::= " + '"a" | ' * 90000 + '"b"'):
            self.assertIn(post({**TEXT, "grammar": grammar, "max_tokens": 1})[0], (200, 400))
        self.assertEqual(post({**TEXT, "regex": "(a|b|ab)*" * 300 + "(" * 3})[0], 400)

    def test_slowloris(self):
        """Clients that send a byte now and then are closed after the time limit; others do not notice."""
        clients = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(50)]
        begin, ends = time.monotonic(), 0
        for client in clients:
            client.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\n")
            client.settimeout(0.05)
        while ends < len(clients) and time.monotonic() - begin < 30:
            for client in list(clients):
                try:
                    client.sendall(b"X")
                    if client.recv(4096) == b"":
                        raise ConnectionResetError
                except TimeoutError:
                    continue
                except OSError:
                    clients.remove(client)
                    client.close()
            if not clients:
                break
            self.assertLess(self.answer_time(), 2)
        self.assertEqual(len(clients), 0, "still open after 30 s")

    def answer_time(self):
        begin = time.monotonic()
        self.assertEqual(self.server.get("/health")[0], 200)
        return time.monotonic() - begin

    def test_a_thousand_connections(self):
        clients = []
        try:
            for _ in range(1000):
                clients.append(socket.create_connection(("127.0.0.1", self.server.port)))
            for client in clients:
                client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answered = sum(b"200 OK" in client.recv(4096) for client in clients)
            self.assertEqual(answered, 1000)
        finally:
            for client in clients:
                client.close()
        for _ in range(300):
            if len(os.listdir(f"/proc/{self.server.process.pid}/fd")) < 60:
                return
            time.sleep(0.02)
        self.fail("descriptors are left")

    def test_vanished_clients(self):
        body = json.dumps({**TEXT, "max_tokens": -1, "ignore_eos": True, "stream": True}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        for end in (0.0, 0.02, 0.1):
            clients = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(30)]
            for client in clients:
                client.sendall(head + body)
            time.sleep(end)
            for i, client in enumerate(clients):
                if i % 2:  # with a reset
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                client.close()
            self.wait_until_idle()

    def test_memory_stays(self):
        def load():
            threads = [threading.Thread(target=lambda: [self.server.post("/v1/completions", {**TEXT, "prompt": "x " * 40, "n": 2})
                                                        for _ in range(12)]) for _ in range(6)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        load()
        before = memory_of(self.server.process)
        load()
        load()
        self.assertLess(memory_of(self.server.process), before * 1.1 + (8 << 20))

    # What is beside the usual.

    def test_receipts_of_every_answer(self):
        self.assertIn("receipt", self.before[0])
        status, text, _ = self.server.request("POST", "/v1/completions", {**TEXT, "echo": True, "logprobs": 1})
        verify = subprocess.run([BITTERN, "verify", "-", "-m", MODEL, "-t", "1"], input=text, capture_output=True, text=True)
        self.assertEqual((status, verify.returncode), (200, 0), verify.stdout + verify.stderr)
        self.assertIn("receipt", self.server.post("/completion", {"prompt": "In", "n_predict": 2})[1])
        self.assertIn("receipt", self.server.post("/api/generate", {"prompt": "In", "raw": True, "stream": False, "options": {"num_predict": 2}})[1])

    def test_echo_of_a_text_that_ends(self):
        """Evaluation programs ask for one token and take its entry away: it is there, too, where it is the end."""
        end = json.loads(self.server.get("/tokenizer_info")[1])["eos_token"]
        end_id = self.server.post("/tokenize", {"content": end, "parse_special": True})[1]["tokens"][0]
        ids = self.server.post("/tokenize", {"content": "And he said", "add_special": True})[1]["tokens"]
        ask = {"prompt": ids, "echo": True, "logprobs": 1, "max_tokens": 1, "logit_bias": {str(end_id): 100}}
        choice = self.server.post("/v1/completions", ask)[1]["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), ("And he said", "stop"))
        self.assertEqual({key: len(values) for key, values in choice["logprobs"].items()},
                         dict.fromkeys(("tokens", "token_logprobs", "top_logprobs", "text_offset"), len(ids) + 1))
        self.assertEqual(choice["logprobs"]["tokens"][-1], end)
        self.assertLess(choice["logprobs"]["token_logprobs"][-1], 0)

    def test_echo(self):
        plain = self.server.post("/v1/completions", {**TEXT, "logprobs": 2})[1]["choices"][0]
        echo = self.server.post("/v1/completions", {**TEXT, "logprobs": 2, "echo": True})[1]["choices"][0]
        self.assertEqual(echo["text"], TEXT["prompt"] + plain["text"])
        lists = echo["logprobs"]
        count = len(lists["tokens"])
        self.assertEqual([len(lists[key]) for key in ("token_logprobs", "top_logprobs", "text_offset")], [count] * 3)
        self.assertIsNone(lists["token_logprobs"][0])
        self.assertIsNone(lists["top_logprobs"][0])
        self.assertTrue(all(value <= 0 for value in lists["token_logprobs"][1:]))
        self.assertEqual(lists["token_logprobs"][-6:], plain["logprobs"]["token_logprobs"])
        # The values are those that generating the same tokens gives.
        ids = self.server.post("/completion", {"prompt": TEXT["prompt"], "n_predict": 6, "seed": 3, "temperature": 1.0, "return_tokens": True})[1]["tokens"]
        prompt = self.server.post("/tokenize", {"content": TEXT["prompt"], "add_special": True})[1]["tokens"]
        scored = self.server.post("/v1/completions", {"prompt": prompt + ids, "echo": True, "logprobs": 2, "max_tokens": 0})[1]["choices"][0]
        self.assertEqual(scored["logprobs"]["token_logprobs"][len(prompt):], plain["logprobs"]["token_logprobs"])
        self.assertEqual(scored["finish_reason"], "length")
        self.assertEqual(scored["text"], echo["text"])
        offsets = scored["logprobs"]["text_offset"]
        self.assertEqual(sorted(offsets), offsets)
        events = self.server.stream("/v1/completions", {**TEXT, "logprobs": 2, "echo": True, "stream": True})
        parts = [c for e in events if e != "[DONE]" for c in e["choices"]]
        self.assertEqual("".join(part["text"] for part in parts), echo["text"])
        self.assertEqual(sum((part["logprobs"]["tokens"] for part in parts if part["logprobs"]), []), lists["tokens"])
        many = self.server.post("/v1/completions", {**TEXT, "prompt": ["In the", "And he"], "echo": True, "n": 2})[1]["choices"]
        self.assertEqual([c["text"].startswith(p) for c, p in zip(many, ("In the", "In the", "And he", "And he"))], [True] * 4)

    def test_responses(self):
        ask = {"input": "Hello", "max_output_tokens": 8, "seed": 3, "temperature": 1.0}
        status, error = self.server.post("/v1/responses", {**ask, "previous_response_id": "resp_1"})
        self.assertEqual((status, error["error"]["param"]), (400, "previous_response_id"))
        self.assertIn("not stored", error["error"]["message"])
        for change, param in (({"truncation": "middle"}, "truncation"), ({"input": []}, "input"), ({"background": True}, "background"),
                              ({"input": [{"type": "item_reference"}]}, "input[0].type")):
            status, error = self.server.post("/v1/responses", {**ask, **change})
            self.assertEqual((status, error["error"]["param"]), (400, param), error)

    def test_more_answers_than_can_ever_run(self):
        """Not 503: trying again would not help."""
        small = Server(BITTERN, "-m", MODEL, "-np", "2", "--queue", "3", "--log-format", "none")
        try:
            status, error = small.post("/v1/completions", {"prompt": ["a"] * 3, "n": 2, "max_tokens": 1})
            self.assertEqual((status, error["error"]["param"]), (400, "n"), error)
            self.assertIn("5 answers at most", error["error"]["message"])
            self.assertEqual(small.post("/v1/completions", {"prompt": ["a"] * 5, "max_tokens": 1})[0], 200)
        finally:
            self.assertEqual(small.stop(), 0)

    def test_slots(self):
        prompt = "In the beginning God created the heaven and the earth. " * 30
        ask = {"prompt": prompt, "n_predict": 4, "temperature": 0, "id_slot": 1}
        first = self.server.post("/completion", ask)[1]
        status, saved = self.server.post("/slots/1?action=save", {"filename": "one.bin"})
        self.assertEqual(status, 200, saved)
        tokens = first["tokens_evaluated"] + first["tokens_predicted"]
        self.assertGreaterEqual(saved["n_saved"], first["tokens_evaluated"])
        self.assertLessEqual(saved["n_saved"], tokens)
        self.assertEqual(saved["n_written"], os.path.getsize(f"{self.folder.name}/one.bin"))
        self.assertEqual(self.server.post("/slots/1?action=erase", {})[1]["n_erased"], saved["n_saved"])
        self.assertLess(self.server.post("/completion", ask)[1]["timings"]["cache_n"], 20)  # of other prompts
        self.server.post("/slots/1?action=erase", {})
        status, restored = self.server.post("/slots/2?action=restore", {"filename": "one.bin"})
        self.assertEqual((status, restored["n_restored"]), (200, saved["n_saved"]), restored)
        again = self.server.post("/completion", ask)[1]
        self.assertGreater(again["timings"]["cache_n"], first["tokens_evaluated"] - 5)
        self.assertEqual(again["content"], first["content"])
        self.damaged_slots(saved)

    def damaged_slots(self, saved):
        good = open(f"{self.folder.name}/one.bin", "rb").read()
        restore = lambda name: self.server.post("/slots/0?action=restore", {"filename": name})
        changes = random.Random(3)
        for i in range(60):
            bad = bytearray(good)
            place = i if i < 50 else changes.randrange(len(good))
            bad[place] ^= 1 << changes.randrange(8)
            data = bytes(bad) if i % 3 else good[:changes.randrange(len(good))]
            with open(f"{self.folder.name}/bad.bin", "wb") as file:
                file.write(data)
            status, answer = restore("bad.bin")
            self.assertEqual(status, 400, answer)
        for name in ("../one.bin", "/etc/passwd", "", ".hidden", "a/b", "x" * 300, "none.bin"):
            self.assertEqual(restore(name)[0], 400, name)
        for path in ("/slots/9?action=save", "/slots/x?action=save", "/slots/-1?action=save", "/slots/0?action=jump", "/slots/0"):
            self.assertEqual(self.server.post(path, {"filename": "a"})[0], 400, path)
        with open(f"{self.folder.name}/model.gguf", "wb") as file:  # the folder may hold others' files
            file.write(b"GGUF and more")
        status, answer = self.server.post("/slots/1?action=save", {"filename": "model.gguf"})
        self.assertEqual(status, 400, answer)
        with open(f"{self.folder.name}/model.gguf", "rb") as file:
            self.assertEqual(file.read(), b"GGUF and more")
        self.assertEqual(self.server.post("/slots/1?action=save", {"filename": "one.bin"})[0], 200)  # its own
        os.mkdir(f"{self.folder.name}/full.bin")  # cannot be replaced by a file
        self.assertEqual(self.server.post("/slots/1?action=save", {"filename": "full.bin"})[0], 500)
        self.assertFalse([name for name in os.listdir(self.folder.name) if ".part" in name])
        self.assertEqual(restore("one.bin")[1]["n_restored"], saved["n_saved"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
