#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_bodies_test.py BITTERN   Sends the bodies that npm's clients send (serve_bodies/*.json, recorded by
js/clients/clients.mjs --record) to `bittern serve`, without npm. Each is answered with 200, as a whole, and
`bittern-ignored` names what the file says and no more. With the built-in model."""
import json
import pathlib
import sys
import unittest

from serve_client import Server

BITTERN = sys.argv[1]
FILES = sorted((pathlib.Path(__file__).parent / "serve_bodies").glob("*.json"))
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def events(text):
    """The parsed data of server-sent events; "[DONE]" stays a text."""
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def end_of_stream(path, text):
    """Whether the stream came to the end that its API has."""
    if path.startswith("/api/"):
        return json.loads(text.splitlines()[-1])["done"] is True
    found = events(text)
    assert not any("error" in event and event["error"] for event in found if isinstance(event, dict)), found
    if path.endswith("/messages"):
        return found[-1]["type"] == "message_stop"
    if path.endswith("/responses"):
        return found[-1]["type"] in ("response.completed", "response.incomplete")
    return found[-1] == "[DONE]"


def whole_answer(path, answer):
    """Whether the object is an answer of its API with something in it."""
    if path == "/api/chat":
        return answer["done"] and answer["message"]["role"] == "assistant"
    if path == "/api/generate":
        return answer["done"] and isinstance(answer["response"], str)
    if path == "/api/show":
        return "capabilities" in answer
    if path.endswith("/count_tokens"):
        return answer["input_tokens"] > 0
    if path.endswith("/messages"):
        return answer["type"] == "message" and answer["content"] and answer["stop_reason"]
    if path.endswith("/responses"):
        return answer["object"] == "response" and answer["output"]
    return answer["choices"] and all(choice["finish_reason"] for choice in answer["choices"])


class BodiesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-c", "4096", "-np", "4", "-t", "2", "--log-format", "none")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.output()

    def check(self, sent):
        body = dict(sent["body"])
        if not any(name in body for name in LIMITS) and not sent["path"].startswith("/api/"):
            body["max_tokens" if "messages" in body else "max_output_tokens"] = 60
        status, text, headers = self.server.request("POST", sent["path"], body, sent["headers"])
        self.assertEqual(status, 200, text)
        ignored = [name for name in headers.get("bittern-ignored", "").split(", ") if name]
        self.assertEqual(sorted(ignored), sorted(sent["ignored"]))
        streamed = body.get("stream", sent["path"] in ("/api/chat", "/api/generate"))
        ended = end_of_stream(sent["path"], text) if streamed else whole_answer(sent["path"], json.loads(text))
        self.assertTrue(ended, text)

    def test_there_are_bodies(self):
        self.assertGreaterEqual(len(FILES), 7)
        for file in FILES:
            self.assertTrue(json.loads(file.read_text()), file.name)


def add_tests():
    """One test for each family."""
    for file in FILES:
        def test(self, file=file):
            for place, sent in enumerate(json.loads(file.read_text())):
                with self.subTest(place=place, path=sent["path"]):
                    self.check(sent)
        setattr(BodiesTest, "test_" + file.stem, test)


if __name__ == "__main__":
    add_tests()
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
