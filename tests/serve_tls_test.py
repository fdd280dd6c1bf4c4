#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_tls_test.py BITTERN   `bittern serve` with a certificate: what it says by HTTPS is what it says by HTTP."""
import http.client
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serve_client import Server

BITTERN = sys.argv[1]
CHAT = {"messages": [{"role": "user", "content": "What is a tern?"}], "max_tokens": 24, "seed": 7, "temperature": 1.0}
LONG = {"prompt": "A tern is", "max_tokens": 1500, "ignore_eos": True, "stream": True}


class TlsServer(Server):
    """As Server; requests go by HTTPS and the certificate is checked."""

    def __init__(self, folder, *flags):
        self.context = ssl.create_default_context(cafile=folder / "cert.pem")
        super().__init__(BITTERN, "--ssl-cert-file", str(folder / "cert.pem"), "--ssl-key-file",
                         str(folder / "key.pem"), "--log-format", "none", "-t", "1", *flags)

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context)

    def request(self, method, path, body=None, headers=None, timeout=120):
        connection = self.connect()
        try:
            connection.request(method, path, body if body is None else json.dumps(body), headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            connection.close()


def make_certificate(folder, name="", *flags):
    done = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", folder / f"{name}key.pem", "-out", folder / f"{name}cert.pem",
         *(flags or ("-nodes",))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.work.name)
        make_certificate(cls.folder)
        cls.server = TlsServer(cls.folder, "--timeout", "2")

    @classmethod
    def tearDownClass(cls):
        cls.server.process.terminate()
        assert cls.server.process.wait(20) == 0
        cls.work.cleanup()

    def test_answers_are_those_of_http(self):
        plain = Server(BITTERN, "--log-format", "none", "-t", "1")
        try:
            for body in (CHAT, {**CHAT, "temperature": 0}):
                texts = [server.post("/v1/chat/completions", body)[1]["choices"][0]["message"]["content"]
                         for server in (plain, self.server)]
                self.assertEqual(texts[0], texts[1])
            streams = []
            for server in (plain, self.server):
                events = server.stream("/v1/chat/completions", {**CHAT, "stream": True})
                self.assertEqual(events[-1], "[DONE]")
                streams.append("".join(e["choices"][0]["delta"].get("content") or "" for e in events[:-1]))
            self.assertEqual(streams[0], streams[1])
            self.assertTrue(streams[0])
        finally:
            plain.process.terminate()
            plain.process.wait(20)

    def test_the_address_is_told(self):
        self.assertIn(f"https://127.0.0.1:{self.server.port}", self.server.output())

    def test_a_connection_is_kept(self):
        connection = self.server.connect()
        for _ in range(5):
            connection.request("POST", "/tokenize", json.dumps({"content": "A tern"}))
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            answer.read()
        connection.close()

    def test_the_end_of_a_connection_is_told(self):
        connection = self.server.connect()
        connection.request("GET", "/health", headers={"Connection": "close"})
        self.assertEqual(connection.getresponse().read(), b'{"status":"ok"}')
        # Without close_notify Python would say that the stream was cut.
        with socket.create_connection(("127.0.0.1", self.server.port)) as raw:
            with self.server.context.wrap_socket(raw, server_hostname="127.0.0.1", suppress_ragged_eofs=False) as tls:
                tls.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                text = b""
                while part := tls.recv(4096):
                    text += part
        self.assertTrue(text.startswith(b"HTTP/1.1 200"), text)

    def test_old_tls_is_refused(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", self.server.port)) as raw, self.assertRaises((ssl.SSLError, OSError)):
            context.wrap_socket(raw)

    def test_versions_as_openssl_sees_them(self):
        for flag, version in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3"), ("-tls1_1", None)):
            shown = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", flag, "-CAfile", self.folder / "cert.pem",
                 "-verify_ip", "127.0.0.1", "-verify_return_error", "-cipher", "ALL:@SECLEVEL=0", "-quiet", "-no_ign_eof", "-brief"],
                input="GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" if version else "",
                capture_output=True, text=True, timeout=60)
            if version is None:
                self.assertNotEqual(shown.returncode, 0, shown)
                self.assertNotIn("Protocol version", shown.stderr)
                continue
            self.assertIn(f"Protocol version: {version}", shown.stderr)
            self.assertIn("Verification: OK", shown.stderr)

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl(self):
        def curl(*words):
            done = subprocess.run(["curl", "-sS", "--max-time", "20", *words], capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr

        at, trusted = f"127.0.0.1:{self.server.port}", ["--cacert", str(self.folder / "cert.pem")]
        for version in ("1.2", "1.3"):
            self.assertEqual(curl(*trusted, "--tlsv" + version, "--tls-max", version, f"https://{at}/health")[:2],
                             (0, '{"status":"ok"}'), version)
        code, _, error = curl(*trusted, "--ciphers", "DEFAULT@SECLEVEL=0", "--tls-max", "1.1", f"https://{at}/health")
        self.assertEqual(code, 35, error)
        make_certificate(self.folder, "wrong-")
        code, _, error = curl("--cacert", str(self.folder / "wrong-cert.pem"), f"https://{at}/health")
        self.assertEqual(code, 60, error)
        code, text, error = curl("-d", json.dumps(CHAT), "-w", " %{http_code}", f"http://{at}/v1/chat/completions")
        self.assertEqual((code, text), (0, "this port answers https:// only, the request was http://\n 400"), error)

    def test_plain_http_and_noise_end_and_harm_nobody(self):
        for noise in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 70000, b"\0" * 5000):
            with socket.create_connection(("127.0.0.1", self.server.port)) as client:
                client.settimeout(10)
                try:
                    client.sendall(noise)
                    while client.recv(4096):
                        pass
                except ConnectionError:
                    pass
        self.assertEqual(self.server.get("/health")[0], 200)

    def test_a_client_that_never_greets_is_closed(self):
        start = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.server.port)) as silent:
            silent.settimeout(20)
            self.assertEqual(self.server.get("/health")[0], 200)
            self.assertEqual(silent.recv(10), b"")
        self.assertLess(time.monotonic() - start, 10)

    def test_a_client_that_goes_away_frees_its_sequence(self):
        connection = self.server.connect()
        connection.request("POST", "/v1/completions", json.dumps(LONG))
        connection.getresponse().read(200)
        connection.sock.close()
        connection.close()
        for _ in range(100):
            slots = json.loads(self.server.get("/slots")[1])
            if not any(slot["is_processing"] for slot in slots):
                return
            time.sleep(0.05)
        self.fail("the sequence goes on")

    def test_many_clients_at_once(self):
        wrong = []

        def ask():
            status, answer = self.server.post("/v1/chat/completions", CHAT)
            if status != 200:
                wrong.append(answer)

        threads = [threading.Thread(target=ask) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_bad_files_are_told(self):
        make_certificate(self.folder, "other-")
        make_certificate(self.folder, "secret-", "-passout", "pass:hush")
        (self.folder / "noise.pem").write_text("noise\n")
        cases = [("cert.pem", "other-key.pem", "private key"), ("noise.pem", "key.pem", "noise.pem"),
                 ("cert.pem", "noise.pem", "noise.pem"), ("none.pem", "key.pem", "none.pem"),
                 ("secret-cert.pem", "secret-key.pem", "password"), ("cert.pem", None, "--ssl-key-file")]
        for certificate, key, word in cases:
            flags = ["--ssl-cert-file", self.folder / certificate]
            flags += ["--ssl-key-file", self.folder / key] if key else []
            done = subprocess.run([BITTERN, "serve", "--port", "0", *flags], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=20)
            self.assertEqual(done.returncode, 1, (certificate, key, done.stderr))
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
