#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_wire_test.py BITTERN   HTTP/1.1 by the RFC, in raw bytes and without a proxy in front: a table of requests,
each with the answers that it gets, and whether the connection goes on afterwards. Then connections: limits, time, HTTP/1.0."""
import json
import re
import resource
import socket
import sys
import time
import unittest

from serve_client import Server

BITTERN = sys.argv[1]
NEXT = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"  # sent behind each case
BODY = b'{"content": "a tern"}'
KEEP, CLOSE = "keep", "close"


def get(fields=b"Host: localhost\r\n", line=b"GET /health HTTP/1.1"):
    return line + b"\r\n" + fields + b"\r\n"


def post(fields, body=b"", line=b"POST /tokenize HTTP/1.1"):
    return line + b"\r\nHost: localhost\r\n" + fields + b"\r\n" + body


def chunked(body, coding=b"Transfer-Encoding: chunked\r\n"):
    return post(coding, body)


def whole(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
TINY = b"".join(b"1\r\n%c\r\n" % c for c in BODY) + b"0\r\n\r\n"

# The RFC's section (9112, or 9110 where it says so), bytes, statuses of their answers, the connection afterwards.
GOOD = [
    ("3", get(), [200], KEEP),
    ("3", get(line=b"HEAD /health HTTP/1.1"), [200], KEEP),
    ("9110 9.3.7", get(line=b"OPTIONS * HTTP/1.1"), [200], KEEP),
    ("9110 9.3.7", get(line=b"OPTIONS http://localhost HTTP/1.1"), [200], KEEP),
    ("3.1", get(line=b"BREW /health HTTP/1.1"), [405], KEEP),
    ("3.1", get(line=b"get /health HTTP/1.1"), [405], KEEP),
    ("3.2.1", get(line=b"GET /health?a=b&c=%20 HTTP/1.1"), [200], KEEP),
    ("3.2.1", get(line=b"GET /nothing HTTP/1.1"), [404], KEEP),
    ("3.2.2", get(line=b"GET http://localhost/health HTTP/1.1"), [200], KEEP),
    ("3.2.2", get(line=b"GET HTTP://127.0.0.1:8080/health?x=1 HTTP/1.1"), [200], KEEP),
    ("3.2.2", get(line=b"GET https://localhost/health HTTP/1.1"), [200], KEEP),
    ("3.2.2", get(line=b"GET http://localhost HTTP/1.1"), [200], KEEP),
    ("3.2.2", get(line=b"GET http://localhost?x HTTP/1.1"), [200], KEEP),
    ("3.2.2", get(line=b"GET http://evil.example/health HTTP/1.1"), [403], KEEP),
    ("3.2.2", get(b"Host: evil.example\r\n", b"GET http://localhost/health HTTP/1.1"), [200], KEEP),
    ("9110 4.2.3", get(line=b"GET /%68ealth HTTP/1.1"), [200], KEEP),
    ("9110 4.2.3", get(line=b"GET /v1%2Fmodels HTTP/1.1"), [200], KEEP),
    ("3986 2.1", get(line=b"GET /%zz HTTP/1.1"), [404], KEEP),
    ("3986 2.1", get(line=b"GET /health%00 HTTP/1.1"), [404], KEEP),
    ("2.2", b"\r\n" + get(), [200], KEEP),
    ("2.2", b"\r\n\r\n\r\n" + get(), [200], KEEP),
    ("9110 2.5", get(line=b"GET /health HTTP/1.2"), [200], KEEP),
    ("5", get(b"hOsT:localhost\r\n"), [200], KEEP),
    ("5", get(b"Host: \t localhost \t \r\n"), [200], KEEP),
    ("5", get(b"Host: localhost\r\nX-Empty:\r\nX-Latin: \xe9\xff\r\nX!#$%&'*+-.^_`|~: y\r\n"), [200], KEEP),
    ("3.2", get(b"Host: localhost:8080\r\n"), [200], KEEP),
    ("3.2", get(b"Host: [::1]:8080\r\n"), [200], KEEP),
    ("3.2", get(b"Host: localhost:\r\n"), [200], KEEP),
    ("3.2", get(b"Host:\r\n"), [200], KEEP),
    ("6.2", post(LENGTH, BODY), [200], KEEP),
    ("6.2", post(b"Content-Length: 000%d\r\n" % len(BODY), BODY), [200], KEEP),
    ("6.2", get(b"Host: localhost\r\nContent-Length: 3\r\n") + b"abc", [200], KEEP),
    ("6.2", get(b"Host: localhost\r\nContent-Length: 0\r\n"), [200], KEEP),
    ("6.3", post(b""), [400], KEEP),
    ("6.2", post(b"Content-Length: 2\r\n", b"{x"), [400], KEEP),
    ("7.1", chunked(whole(BODY)), [200], KEEP),
    ("7.1", chunked(whole(BODY), b"transfer-encoding:CHUNKED\r\n"), [200], KEEP),
    ("7.1", chunked(TINY), [200], KEEP),
    ("7.1", chunked(b"0000%x\r\n%s\r\n000\r\n\r\n" % (len(BODY), BODY)), [200], KEEP),
    ("7.1", chunked(b"%X\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)), [200], KEEP),
    ("7.1.1", chunked(b"%x;a=b;c\r\n%s\r\n0;last\r\n\r\n" % (len(BODY), BODY)), [200], KEEP),
    ("7.1.1", chunked(b"%x \t;a=\"b c\"\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)), [200], KEEP),
    ("7.1.2", chunked(b"%x\r\n%s\r\n0\r\nX-T: 1\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\n" % (len(BODY), BODY)), [200], KEEP),
    ("9.3", get(b"Host: localhost\r\nConnection: close\r\n"), [200], CLOSE),
    ("9.3", get(b"Host: localhost\r\nConnection: x , CLOSE\r\n"), [200], CLOSE),
    ("9.3", get(b"Host: localhost\r\nConnection: keep-alive, close\r\n"), [200], CLOSE),
    ("9.3", get(b"Host: localhost\r\nConnection: keep-alive\r\nConnection: close\r\n"), [200], CLOSE),
    ("9.3", get(b"Host: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"), [200], KEEP),
    ("9.3", get(b"", b"GET /health HTTP/1.0"), [200], CLOSE),
    ("9.3", get(b"Connection: close\r\n", b"GET /health HTTP/1.0"), [200], CLOSE),
    ("9.3", get(b"Connection: Keep-Alive\r\n", b"GET /health HTTP/1.0"), [200], KEEP),
    ("9.3", get(b"Connection: keep-alive, close\r\n", b"GET /health HTTP/1.0"), [200], CLOSE),
    ("3.2.2", get(b"", b"GET http://evil.example/health HTTP/1.0"), [403], CLOSE),
    ("6.2", b"POST /tokenize HTTP/1.0\r\n" + LENGTH + b"\r\n" + BODY, [200], CLOSE),
    ("9.3.2", get() + get() + post(LENGTH, BODY) + chunked(TINY), [200, 200, 200, 200], KEEP),
    ("9110 10.1.1", post(b"Expect: 100-Continue\r\n" + LENGTH, BODY), [200], KEEP),
    ("9110 10.1.1", b"POST /tokenize HTTP/1.0\r\nExpect: x\r\n" + LENGTH + b"\r\n" + BODY, [200], CLOSE),
]

LINES = [  # request lines that are refused
    ("3", b"GET /health"), ("3", b"GET"), ("3", b"GET  /health HTTP/1.1"), ("3", b"GET /health  HTTP/1.1"), ("3", b" GET /health HTTP/1.1"),
    ("3", b"GET\t/health\tHTTP/1.1"), ("3", b"GET /health HTTP/1.1 "), ("3", b"GET /a b HTTP/1.1"), ("3.1", b"G(T /health HTTP/1.1"),
    ("3.1", b"G\x80T /health HTTP/1.1"), ("2.3", b"GET /health http/1.1"), ("2.3", b"GET /health HTTP/1"), ("2.3", b"GET /health HTTP/1.10"),
    ("2.3", b"GET /health HTTP/1,1"), ("2.3", b"GET /health HTTPS/1.1"), ("2.3", b"GET /health HTTP/x.1"), ("2.3", b"GET /health HTTP/ 1.1"),
    ("3.2", b"GET health HTTP/1.1"), ("3.2", b"GET * HTTP/1.1"), ("3.2", b"GET /health\xe9 HTTP/1.1"), ("3.2", b"GET /health#top HTTP/1.1"),
    ("3.2", b"GET /\x7f HTTP/1.1"), ("3.2", b"GET /\x00 HTTP/1.1"), ("3.2.2", b"GET ftp://localhost/health HTTP/1.1"),
    ("3.2.2", b"GET http:///health HTTP/1.1"), ("3.2.2", b"GET http://user@localhost/health HTTP/1.1"), ("3.2.2", b"GET http:/health HTTP/1.1"), ("3.2.2", b"GET http HTTP/1.1"), ("3.2.2", b"GET HTTPS HTTP/1.1"),
    ("3.2.2", b"GET http://localhost:x/health HTTP/1.1"),
]
FIELDS = [  # fields beside which a request is refused
    ("3.2", b""), ("3.2", b"Host: localhost\r\nHost: localhost\r\n"), ("3.2", b"Host: localhost\r\nhost: evil.example\r\n"),
    ("3.2", b"Host: evil.example\r\nHost: localhost\r\n"), ("3.2", b"Host: a b\r\n"), ("3.2", b"Host: user@localhost\r\n"), ("3.2", b"Host: localhost/x\r\n"),
    ("3.2", b"Host: localhost, localhost\r\n"), ("3.2", b"Host: localhost:80x\r\n"), ("3.2", b"Host: [::1\r\n"),
    ("5.1", b"Host : localhost\r\n"), ("5.1", b"Host: localhost\r\nX-A\t: b\r\n"), ("5", b"Host: localhost\r\nX-A\r\n"), ("5", b"Host: localhost\r\n: b\r\n"),
    ("5", b"Host: localhost\r\nX A: b\r\n"), ("5", b"Host: localhost\r\nX(A): b\r\n"), ("5", b"Host: localhost\r\nX\xe9: b\r\n"),
    ("5.2", b"Host: localhost\r\nX-A: b\r\n c\r\n"), ("5.2", b"Host: localhost\r\nX-A: b\r\n\tc\r\n"), ("5.2", b"Host: localhost\r\n \r\n"),
    ("2.2", b" Host: localhost\r\n"), ("2.2", b"Host: localhost\nX-A: b\r\n"), ("2.2", b"Host: localhost\rX-A: b\r\n"), ("2.2", b"Host: localhost\r\r\n"),
    ("5.5", b"Host: localhost\r\nX-A: b\x00c\r\n"), ("5.5", b"Host: localhost\r\nX-A: b\x01\r\n"), ("5.5", b"Host: localhost\r\nX\x00: b\r\n"),
    ("5.5", b"Host: localhost\r\nX-A: b\x7f\r\n"), ("5.5", b"Host: localhost\r\nX-A: b\x0bc\r\n"),
]
FRAMING = [  # of a POST, with the status
    ("6.3", LENGTH + CHUNKED, 400), ("6.3", CHUNKED + LENGTH, 400), ("6.3", CHUNKED + b"Content-Length: 0\r\n", 400),
    ("6.3", b"Content-Length: 5\r\nContent-Length: 6\r\n", 400), ("6.3", LENGTH + LENGTH, 400), ("6.3", b"Content-Length: 5, 6\r\n", 400),
    ("6.3", b"Content-Length: 5, 5\r\n", 400), ("6.2", b"Content-Length: +5\r\n", 400), ("6.2", b"Content-Length: -1\r\n", 400),
    ("6.2", b"Content-Length: 0x5\r\n", 400), ("6.2", b"Content-Length: 5 5\r\n", 400), ("6.2", b"Content-Length: 5.0\r\n", 400),
    ("6.2", b"Content-Length: 1e1\r\n", 400), ("6.2", b"Content-Length:\r\n", 400), ("6.2", b"Content-Length: five\r\n", 400), ("6.2", b"Content-Length: ,5\r\n", 400),
    ("6.2", b"Content-Length : 5\r\n", 400), ("6.2", b"Content-Length: 5\r\n 6\r\n", 400), ("6.2", b"Content-Length: \xb2\r\n", 400),
    ("6.2", b"Content-Length: 16777217\r\n", 413), ("6.2", b"Content-Length: 18446744073709551616\r\n", 413),
    ("6.2", b"Content-Length: 18446744073709551621\r\n", 413), ("6.2", b"Content-Length: " + b"9" * 400 + b"\r\n", 413),
    ("6.3", b"Transfer-Encoding: xchunked\r\n" + LENGTH, 400), ("6.3", b"Transfer-Encoding: identity\r\n" + LENGTH, 400),
    ("6.3", b"Transfer-Encoding: gzip\r\n" + LENGTH, 400), ("6.3", b"Transfer-Encoding: xchunked\r\n", 400), ("6.3", b"Transfer-Encoding: identity\r\n", 400),
    ("6.3", b"Transfer-Encoding: gzip\r\n", 400), ("6.3", b"Transfer-Encoding: chunked, identity\r\n", 400), ("6.3", b"Transfer-Encoding: chunked, gzip\r\n", 400),
    ("6.3", CHUNKED + b"Transfer-Encoding: identity\r\n", 400), ("6.1", b"Transfer-Encoding: identity\r\n" + CHUNKED, 501),
    ("6.1", b"Transfer-Encoding: gzip, chunked\r\n", 501), ("6.1", b"Transfer-Encoding: x\r\n" + CHUNKED, 501), ("7", b"Transfer-Encoding: chunked, chunked\r\n", 400),
    ("7", CHUNKED + CHUNKED, 400), ("7.1", b"Transfer-Encoding: chunked;q=1\r\n", 400), ("6.1", b"Transfer-Encoding: \"chunked\"\r\n", 400),
    ("6.1", b"Transfer-Encoding:\r\n", 400), ("6.1", b"Transfer-Encoding: chunked,\r\n", 400), ("6.1", b"Transfer-Encoding: ,chunked\r\n", 400),
    ("6.1", b"Transfer-Encoding : chunked\r\n", 400), ("6.1", b"Transfer-Encoding\t: chunked\r\n" + LENGTH, 400), ("6.1", b"Transfer-Encoding: \x0bchunked\r\n", 400),
    ("6.1", b"Transfer-Encoding:\r\n chunked\r\n" + LENGTH, 400), ("6.1", b"X: y\rTransfer-Encoding: chunked\r\n" + LENGTH, 400),
    ("6.1", b"X: y\nTransfer-Encoding: chunked\r\n" + LENGTH, 400), ("9110 10.1.1", b"Expect: 200-ok\r\n" + LENGTH, 417),
    ("9110 10.1.1", b"Expect: 100-continue, other\r\n" + LENGTH, 417),
]
CHUNKS = [  # bodies in chunks that are refused
    (b"+5\r\nhello\r\n0\r\n\r\n", 400), (b"-5\r\nhello\r\n0\r\n\r\n", 400), (b"0x5\r\nhello\r\n0\r\n\r\n", 400), (b" 5\r\nhello\r\n0\r\n\r\n", 400),
    (b"5 \r\nhello\r\n0\r\n\r\n", 400), (b"5\t\r\nhello\r\n0\r\n\r\n", 400), (b"5 5\r\nhello\r\n0\r\n\r\n", 400), (b"\r\n5\r\nhello\r\n0\r\n\r\n", 400),
    (b";a\r\n0\r\n\r\n", 400), (b"g\r\n\r\n", 400), (b"5h\r\nhello\r\n0\r\n\r\n", 400), (b"5.0\r\nhello\r\n0\r\n\r\n", 400), (b"5,a\r\nhello\r\n0\r\n\r\n", 400),
    (b"5\nhello\r\n0\r\n\r\n", 400), (b"5\rhello\r\n0\r\n\r\n", 400), (b"5;a\nhello\r\n0\r\n\r\n", 400), (b"5;a\rb\r\nhello\r\n0\r\n\r\n", 400),
    (b"5;\x00\r\nhello\r\n0\r\n\r\n", 400), (b"5\r\nhello0\r\n\r\n", 400), (b"5\r\nhello\n0\r\n\r\n", 400), (b"5\r\nhelloo\r\n0\r\n\r\n", 400),
    (b"5\r\nhello\r0\r\n\r\n", 400), (b"0\n\r\n", 400), (b"0\r\n\n", 400), (b"0\r\n\rX", 400), (b"0\r\nX\r\n\r\n", 400), (b"0\r\n X: y\r\n\r\n", 400),
    (b"0\r\nX : y\r\n\r\n", 400), (b"0\r\nX: \x01\r\n\r\n", 400), (b"0\r\nX: y\n\r\n", 400), (b"\xef\xbc\x95\r\nhello\r\n0\r\n\r\n", 400),
    (b"ffffffffffffffff\r\n", 413), (b"10000000000000000\r\n", 413), (b"10000000000000005\r\nhello\r\n0\r\n\r\n", 413), (b"f" * 60 + b"\r\n", 413),
    (b"8000000000000005\r\nhello\r\n0\r\n\r\n", 413), (b"1000001\r\n", 413), (b"5\r\nhello\r\n1000000\r\n", 413), (b"5;" + b"a" * 40000, 431),
    (b"0" * 40000 + b"5\r\nhello\r\n0\r\n\r\n", 431), (b"0\r\nX: " + b"a" * 40000, 431), (b"0\r\n" + b"X: a\r\n" * 8000, 431),
    (b"1;" + b"a" * 100 + b"\r\na\r\n", None),  # sent 400 times: 431
]
OTHERS = [
    ("9110 9.3.6", get(line=b"CONNECT localhost:443 HTTP/1.1"), 501), ("9110 9.3.6", get(line=b"CONNECT / HTTP/1.1"), 501),
    ("9110 2.5", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), ("9110 2.5", get(line=b"GET /health HTTP/2.0"), 505), ("9110 2.5", get(line=b"GET /health HTTP/0.9"), 505),
    ("2.2", b"\n" + get(), 400), ("2.2", b"\r\r\n" + get(), 400), ("2", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400), ("2", b"SSH-2.0-x\r\n", 400),
    ("2.2", b"\r\n" * 20000, 431), ("9110 5.4", get(b"Host: localhost\r\nX: " + b"a" * 40000 + b"\r\n"), 431), ("9110 5.4", get(b"Host: localhost\r\n" + b"X: a\r\n" * 8000), 431),
    ("3", get(line=b"GET /" + b"a" * 40000 + b" HTTP/1.1"), 431), ("6.1", b"POST /tokenize HTTP/1.0\r\n" + CHUNKED + b"\r\n" + whole(BODY), 400),
    ("6.1", b"POST /tokenize HTTP/1.0\r\nConnection: keep-alive\r\n" + CHUNKED + LENGTH + b"\r\n" + whole(BODY), 400),
]
TABLE = (GOOD + [(rfc, get(line=line), [400], CLOSE) for rfc, line in LINES] + [(rfc, get(fields), [400], CLOSE) for rfc, fields in FIELDS]
         + [(rfc, post(fields, whole(BODY)), [status], CLOSE) for rfc, fields, status in FRAMING]
         + [("7.1", chunked(body if status else body * 400), [status or 431], CLOSE) for body, status in CHUNKS]
         + [(rfc, data, [status], CLOSE) for rfc, data, status in OTHERS])


def answers_in(data, heads=()):
    """(status, head, body) of each answer in turn; `heads`: numbers of those that a HEAD asked for."""
    answers = []
    while data:
        head, mark, data = data.partition(b"\r\n\r\n")
        assert mark, head
        status = int(re.match(rb"HTTP/1\.1 (\d{3}) [A-Z]", head)[1])
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        size = int(length[1]) if length and len(answers) not in heads else 0
        assert len(data) >= size, (head, data)
        if status != 100:
            answers.append((status, head + b"\r\n", data[:size]))
        data = data[size:]
    return answers


class Client:
    def __init__(self, port, wait=10):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # refused in the middle
        return self

    def read(self, count):
        """Bytes until `count` empty lines have come, or the end; whether it was the end."""
        data = b""
        while data.count(b"\r\n\r\n") < count:
            try:
                part = self.socket.recv(65536)
            except ConnectionResetError:
                part = b""
            if not part:
                return data, True
            data += part
        return data, False

    def is_closed(self):
        return self.read(1) == (b"", True)


class WireTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-t", "1", "-np", "1", "--log-format", "none")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.output()

    def client(self):
        return Client(self.server.port)

    def test_table(self):
        """Each case with a whole request behind it, which is answered once where the connection goes on, and not at all
        where it does not: nothing of a refused request is taken for a next one."""
        self.assertGreater(len(TABLE), 220)
        for rfc, data, statuses, after in TABLE:
            with self.subTest(rfc=rfc, data=data[:200], size=len(data)), self.client() as client:
                closing = NEXT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
                client.send(data + closing)
                got, ended = client.read(1 << 20)
                self.assertTrue(ended)
                heads = [0] if data.startswith(b"HEAD") else []
                answers = answers_in(got, heads)
                self.assertEqual([answer[0] for answer in answers], statuses + ([200] if after == KEEP else []), got)
                if after == KEEP:
                    self.assertIn(b'"object":"list"', answers[-1][2])
                    for _, head, _ in answers[:-1]:
                        self.assertNotIn(b"Connection: close\r\n", head)
                self.assertIn(b"Connection: close\r\n", answers[-1][1])
                for _, head, _ in answers:
                    self.assertRegex(head, rb"\r\nDate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n")

    def test_bytes_one_by_one(self):
        """What a request gets does not depend on how its bytes are cut into packets."""
        for rfc, data, statuses, after in TABLE:
            if len(data) > 400:
                continue
            with self.subTest(rfc=rfc, data=data), self.client() as client:
                client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in data:
                    client.send(bytes([byte]))
                client.send(NEXT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                got, ended = client.read(1 << 20)
                self.assertTrue(ended)
                if got == b"" and after == CLOSE and statuses[0] != 200:
                    continue  # the rest of the bytes met a closed socket, and the answer was reset
                answers = answers_in(got, [0] if data.startswith(b"HEAD") else [])
                self.assertEqual([answer[0] for answer in answers], statuses + ([200] if after == KEEP else []), got)

    def test_http_1_0(self):
        """A kept connection is told; a stream ends with the connection, without chunks."""
        with self.client() as client:
            for _ in range(3):
                client.send(get(b"Connection: keep-alive\r\n", b"GET /health HTTP/1.0"))
                self.assertIn(b"\r\nConnection: keep-alive\r\n", client.read(1)[0])
            client.send(get(b"", b"GET /health HTTP/1.0"))
            self.assertNotIn(b"keep-alive", client.read(1 << 20)[0])
        body = b'{"prompt": "a", "max_tokens": 3, "stream": true}'
        with self.client() as client:
            client.send(b"POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            got, ended = client.read(1 << 20)
            self.assertTrue(ended)
            self.assertNotIn(b"chunked", got)
            self.assertNotIn(b"keep-alive", got)
            self.assertTrue(got.endswith(b"\n\ndata: [DONE]\n\n"), got)

    def test_continue(self):
        """100 comes before the body, once, and not where the head is refused."""
        with self.client() as client:
            client.send(post(b"Expect: 100-continue\r\n" + LENGTH))
            self.assertEqual(client.read(1), (b"HTTP/1.1 100 Continue\r\n\r\n", False))
            client.send(BODY)
            self.assertTrue(client.read(1)[0].startswith(b"HTTP/1.1 200"))
        with self.client() as client:
            client.send(post(b"Expect: 100-continue\r\nContent-Length: 99999999\r\n"))
            self.assertTrue(client.read(1 << 20)[0].startswith(b"HTTP/1.1 413"))

    def test_errors_of_each_door(self):
        """Every error has the shape of the API whose path it is, also before a request is read."""
        server = Server(BITTERN, "-t", "1", "--log-format", "none", "--api-key", "k", wait=False)
        try:
            for _ in range(600):
                if server.get("/health")[0] == 200:
                    break
                time.sleep(0.05)
            key = {"Authorization": "Bearer k"}
            kinds = {
                "/v1/messages": lambda e: (e["type"], set(e["error"])) == ("error", {"type", "message"}),
                "/v1/messages/count_tokens": lambda e: (e["type"], set(e["error"])) == ("error", {"type", "message"}),
                "/api/chat": lambda e: isinstance(e["error"], str) and set(e) == {"error"},
                "/api/show": lambda e: isinstance(e["error"], str) and set(e) == {"error"},
                "/v1/chat/completions": lambda e: set(e["error"]) == {"code", "message", "type", "param"},
                "/completion": lambda e: set(e["error"]) == {"code", "message", "type", "param"},
            }
            for path, is_right in kinds.items():
                below = path + "/none/such"
                for status, method, at, headers, size in (
                        (401, "POST", path, {}, 2), (401, "POST", path, {"x-api-key": "other"}, 2), (403, "POST", path, {**key, "Host": "evil.example"}, 2),
                        (403, "POST", path, {**key, "Origin": "http://evil.example"}, 2), (404, "POST", below, key, 2), (405, "GET", path, key, 0),
                        (405, "DELETE", path, key, 0), (401, "POST", below, {}, 2), (413, "POST", path, key, 17 << 20), (400, "POST", path, key, 1),
                        (417, "POST", path, {**key, "Expect": "x"}, 2), (431, "POST", path, {**key, "X": "a" * 40000}, 2)):
                    with self.subTest(path=path, status=status, headers=str(headers)[:80]):
                        got, text, _ = server.request(method, at, {2: b"{}", 1: b"{", 0: None}.get(size, b" " * size), headers)
                        self.assertEqual(got, status, text)
                        if at == below and path.startswith(("/v1/chat", "/completion")):
                            continue
                        self.assertTrue(is_right(json.loads(text)), text)
        finally:
            server.stop()

    def test_endless_heads(self):
        """Bytes that are no body cost no memory, and are refused early."""
        def memory():
            with open(f"/proc/{self.server.process.pid}/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()
        for front, piece in ((b"2\r\n{}\r\n0\r\n", b"X-T: " + b"a" * 1000 + b"\r\n"), (b"2;", b"a" * 1000), (b"", b"1;aaaaaaaaa\r\nx\r\n" * 50),
                             (b"", b"0" * 1000)):
            before = memory()
            with self.client() as client:
                client.send(chunked(front))
                for _ in range(3000):
                    client.send(piece)
                got, ended = client.read(1 << 20)
                self.assertTrue(ended)
                self.assertTrue(got.startswith(b"HTTP/1.1 431") or got == b"", got)
            self.assertLess(memory() - before, 2 << 20, piece[:20])


class ConnectionsTest(unittest.TestCase):
    def test_silence(self):
        """A connection that says nothing is closed after --timeout, and so is one that sends empty lines."""
        server = Server(BITTERN, "-t", "1", "--log-format", "none", "--timeout", "2")
        try:
            with Client(server.port) as silent, Client(server.port) as blank:
                blank.send(b"\r\n")
                begin = time.monotonic()
                self.assertTrue(silent.is_closed())
                self.assertTrue(blank.is_closed())
                self.assertLess(time.monotonic() - begin, 6)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_more_than_the_server_has(self):
        """Silent connections do not keep anyone out, as many as there may be, also with few descriptors."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 9000), limit[1]))
        for descriptors in (8000, 200):
            server = Server(BITTERN, "-t", "1", "--log-format", "none", front=("prlimit", f"--nofile={descriptors}:{descriptors}"))
            silent = []
            try:
                for i in range(4400 if descriptors > 4500 else 400):
                    silent.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
                begin = time.monotonic()
                for _ in range(20):
                    self.assertEqual(server.get("/health")[0], 200)
                self.assertLess(time.monotonic() - begin, 10)
            finally:
                for one in silent:
                    one.close()
                self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
