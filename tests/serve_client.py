# SPDX-License-Identifier: Apache-2.0
"""A server of `bittern serve` for a test, and small HTTP clients. Standard library only."""
import http.client
import json
import socket
import subprocess
import tempfile
import time


class Server:
    """Starts `bittern serve` at a free port and waits until it is ready."""

    def __init__(self, program, *flags, wait=True, env=None, front=()):
        """`front`: a program that starts the server, with its arguments."""
        self.log = tempfile.NamedTemporaryFile("r")
        # The server writes at a position of its own. With the reader's position it would write
        # over its first line whenever that line and the next came beside a seek to the start.
        with open(self.log.name, "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen([*front, program, "serve", "--port", "0", *flags], stderr=errors, env=env)
        try:
            self.port = self._port()
        except RuntimeError:
            self.kill()
            raise
        if wait:
            self.wait_ready()

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def _port(self):
        for _ in range(600):
            text = self.output()
            if "/health" in text:
                return int(text.split("/health")[0].rsplit(":", 1)[1])
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {text}")
            time.sleep(0.05)
        raise RuntimeError(f"the server does not listen: {text}")

    def wait_ready(self):
        for _ in range(1200):
            if self.get("/health")[0] == 200:
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not get ready")

    def request(self, method, path, body=None, headers=None, timeout=120):
        """(status, text, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            connection.close()

    def get(self, path, headers=None):
        status, text, _ = self.request("GET", path, headers=headers)
        return status, text

    def post(self, path, body, headers=None):
        """(status, parsed JSON)"""
        status, text, _ = self.request("POST", path, body, headers)
        return status, json.loads(text)

    def stream(self, path, body):
        """The parsed events of a stream; "[DONE]" stays a text."""
        status, text, headers = self.request("POST", path, body)
        assert status == 200, (status, text)
        assert headers["Content-Type"].startswith("text/event-stream"), headers
        events = [line[6:] for line in text.split("\n\n") if line.startswith("data: ")]
        return [event if event == "[DONE]" else json.loads(event) for event in events]

    def raw(self, data, wait=5.0, shut=False):
        """Sends bytes as they are; returns what comes until the server closes or `wait` is over."""
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.settimeout(wait)
            client.sendall(data)
            if shut:
                client.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while True:
                    part = client.recv(65536)
                    if not part:
                        return answer
                    answer += part
            except (TimeoutError, ConnectionResetError):
                return answer

    def stop(self):
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()
