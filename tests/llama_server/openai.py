# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the Python package `openai`, as far as llama.cpp's server tests use it. The real npm
package is in tests/js/clients."""
import json

import requests


class Answer:
    """JSON whose members are attributes; what is absent is None."""

    def __init__(self, value):
        self._value = value

    def __getattr__(self, name):
        if name == "output_text" and "output" in self._value:  # the package joins it from the parts
            return "".join(part["text"] for item in self._value["output"] for part in item.get("content", []))
        return wrap(self._value.get(name))


def wrap(value):
    if isinstance(value, dict):
        return Answer(value)
    return [wrap(one) for one in value] if isinstance(value, list) else value


class Door:
    def __init__(self, client, path):
        self.client, self.path = client, path

    def create(self, **body):
        headers = {"Authorization": f"Bearer {self.client.api_key}"}
        answer = requests.post(f"{self.client.base_url}/{self.path}", json=body, headers=headers,
                               stream=body.get("stream", False), timeout=60)
        answer.raise_for_status()
        return self.events(answer) if body.get("stream") else Answer(answer.json())

    @staticmethod
    def events(answer):
        for line in answer.iter_lines():
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                yield Answer(json.loads(line[6:]))


class OpenAI:
    def __init__(self, api_key, base_url):
        self.api_key, self.base_url = api_key, base_url
        self.completions, self.responses = Door(self, "completions"), Door(self, "responses")
        self.embeddings = Door(self, "embeddings")
        self.chat = type("Chat", (), {"completions": Door(self, "chat/completions")})()
