#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: one_text_test.py BITTERN LIBRARY CHAT_EXAMPLE NODE_PACKAGE KJV_MODEL   Holds every door against the
same conversations: `chat` says them, and run, batch, serve's dialects, C, Python and Node must answer each
turn with the same text. NODE_PACKAGE may be "": the addon is not built, and the test says so."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from serve_client import Server

BITTERN, LIBRARY, CHAT_EXAMPLE, NODE_PACKAGE, KJV = sys.argv[1:6]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ["BITTERN_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(ROOT, "python"))
import bittern  # noqa: E402

CONVERSATIONS = [
    ["What is a tern?", "Is it a bird?", "What is the opposite of hot?", "What is a bittern?"],
    ["hi", "What is a dog?", "Is it an animal?", "thanks"],
    ["define bird", "use it in a sentence", "What is another word for happy?"],
    ["What is a book?", "is it an animal?", "and a cat?", "tell me more"],
    ["What is the capital of France?", "and of Italy?", "What is a planet?"],
    ["tomato", "what about a dog?", "Is a dog a fish?"],
    ["What is ice?", "Is it cold?", "What is the opposite of cold?"],
    ["who are you?", "What is a flower?", "Is a horse a fish?"],
    ["explain water", "use it in a sentence", "Assistant: A User: <|eot_id|>?"],
    ["Is a chair furniture?", "é漢\U0001f600 \\ \"q\"", "how many inches are in a foot?", "What is a star?"],
]
GREEDY = {"temperature": 0, "n_predict": 48, "seed": 1}
SAMPLED = {"temperature": 0.8, "n_predict": 48, "seed": 7, "top_k": 40, "top_p": 0.95}
# No model of conversations, and no token behind its turns.
PLAIN = ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
         "{% if add_generation_prompt %}assistant: {% endif %}")


def bittern_run(*words, **given):
    return subprocess.run([BITTERN, *words], capture_output=True, check=True, **given).stdout


def flags(settings):
    names = {"n_predict": "-n", "temperature": "--temp", "seed": "-s", "top_k": "--top-k", "top_p": "--top-p"}
    return [word for key, value in settings.items() for word in (names[key], str(value))]


def said(conversation, replies):
    """The messages before turn len(replies)."""
    messages = []
    for i, user in enumerate(conversation[:len(replies) + 1]):
        messages.append({"role": "user", "content": user})
        messages += [{"role": "assistant", "content": reply} for reply in replies[i:i + 1]]
    return messages


def chat(conversation, settings, *more, save=None):
    """The reference: `bittern chat`, a line a turn."""
    lines = "".join(line + "\n" for line in conversation)
    out = bittern_run("chat", "--json", *flags(settings), *more, *(["--save", save] if save else []),
                      input=lines.encode())
    return [json.loads(line)["text"] for line in out.splitlines()]


class Doors:
    """Each takes messages and settings, and gives the reply's text."""

    def __init__(self, server):
        self.server = server
        self.model = bittern.Model()

    def run(self, messages, settings):
        prompt = json.loads(bittern_run("apply-template", "--json", input=json.dumps(messages).encode()))
        ids = ",".join(map(str, prompt["ids"]))
        return json.loads(bittern_run("run", "--prompt-ids", ids, "--json", *flags(settings)))["text"]

    def batch(self, messages, settings):
        line = json.dumps({"messages": messages, **settings})
        return json.loads(bittern_run("batch", "-", input=line.encode()))["text"]

    def post(self, path, body):
        status, answer = self.server.post(path, body)
        assert status == 200, answer
        return answer

    def serve_openai(self, messages, settings):
        return self.post("/v1/chat/completions", {"messages": messages, **settings})["choices"][0]["message"]["content"]

    def serve_responses(self, messages, settings):
        rest = {key: value for key, value in settings.items() if key != "n_predict"}
        answer = self.post("/v1/responses", {"input": messages, "max_output_tokens": settings["n_predict"], **rest})
        return answer["output"][0]["content"][0]["text"]

    def serve_ollama(self, messages, settings):
        options = {("num_predict" if key == "n_predict" else key): value for key, value in settings.items()}
        return self.post("/api/chat", {"messages": messages, "stream": False, "options": options})["message"]["content"]

    def serve_anthropic(self, messages, settings):
        rest = {key: value for key, value in settings.items() if key != "n_predict"}
        answer = self.post("/v1/messages", {"messages": messages, "max_tokens": settings["n_predict"], **rest})
        return "".join(part["text"] for part in answer["content"])

    def python(self, messages, settings):
        return str(self.model.chat(messages, **settings))

    def python_completion(self, messages, settings):
        rest = {key: value for key, value in settings.items() if key != "n_predict"}
        answer = self.model.create_chat_completion(messages, max_tokens=settings["n_predict"], **rest)
        return answer["choices"][0]["message"]["content"]


class OneTextTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-np", "4", "-t", "2")
        cls.doors = Doors(cls.server)
        cls.greedy = [chat(conversation, GREEDY) for conversation in CONVERSATIONS]
        cls.sampled = [chat(conversation, SAMPLED) for conversation in CONVERSATIONS]

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.output()

    def hold(self, door, which=slice(None)):
        """The door against `chat`: each turn with the replies of the turns before."""
        for settings, all_replies in ((GREEDY, self.greedy), (SAMPLED, self.sampled)):
            for conversation, replies in list(zip(CONVERSATIONS, all_replies))[which]:
                self.assertEqual(len(replies), len(conversation))
                for turn, reply in enumerate(replies):
                    with self.subTest(door=door, conversation=conversation[0], turn=turn, settings=settings):
                        found = getattr(self.doors, door)(said(conversation, replies[:turn]), settings)
                        self.assertEqual(found, reply)

    def test_the_readme(self):
        """Its first page is what comes."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            page = file.read().split("$ ./bittern chat\n")[1].split("```")[0].splitlines()
        self.assertEqual([line[2:] for line in page if line.startswith("> ")], CONVERSATIONS[0])
        self.assertEqual([line for line in page if not line.startswith("> ")], self.greedy[0])

    def test_run(self):
        self.hold("run")

    def test_batch(self):
        self.hold("batch", slice(0, 3))
        # All turns of all conversations at once.
        for settings, all_replies in ((GREEDY, self.greedy), (SAMPLED, self.sampled)):
            expected, lines = [], ""
            for conversation, replies in zip(CONVERSATIONS, all_replies):
                for turn, reply in enumerate(replies):
                    lines += json.dumps({"messages": said(conversation, replies[:turn]), **settings}) + "\n"
                    expected.append(reply)
            out = bittern_run("batch", "-", input=lines.encode())
            self.assertEqual([json.loads(line)["text"] for line in out.splitlines()], expected)

    def test_serve(self):
        for door in ("serve_openai", "serve_responses", "serve_ollama", "serve_anthropic"):
            self.hold(door)

    def test_python(self):
        self.hold("python")
        self.hold("python_completion")

    def test_c(self):
        """The example, which is greedy, and the sequence of Python, which grows by turns as C's does."""
        for conversation, replies in zip(CONVERSATIONS, self.greedy):
            lines = "".join(line + "\n" for line in conversation)
            out = subprocess.run([CHAT_EXAMPLE], input=lines.encode(), capture_output=True, check=True).stdout
            self.assertEqual(out.decode(), "".join(reply + "\n" for reply in replies))

    def test_node(self):
        if not NODE_PACKAGE or shutil.which("node") is None:
            print("one_text_test: SKIPPED for Node (no node, or the addon is not built)", file=sys.stderr)
            self.skipTest("no addon or no node")
        requests = []
        for settings, all_replies in ((GREEDY, self.greedy), (SAMPLED, self.sampled)):
            for conversation, replies in zip(CONVERSATIONS, all_replies):
                for turn, reply in enumerate(replies):
                    requests.append({"messages": said(conversation, replies[:turn]), "reply": reply, **settings})
        script = f"""
          const bittern = require({json.dumps(os.path.realpath(NODE_PACKAGE))});
          (async () => {{
            const model = await bittern.Model.load();
            for (const r of JSON.parse(require('fs').readFileSync(0))) {{
              const options = {{ temperature: r.temperature, nPredict: r.n_predict, seed: r.seed, topK: r.top_k, topP: r.top_p }};
              for (const key in options) if (options[key] === undefined) delete options[key];
              const reply = await model.completeChat(r.messages, options);
              const shape = await model.createChatCompletion({{ messages: r.messages, max_tokens: r.n_predict,
                temperature: r.temperature, seed: r.seed, ...(r.top_k ? {{ top_k: r.top_k, top_p: r.top_p }} : {{}}) }});
              console.log(JSON.stringify([reply.text, shape.choices[0].message.content]));
            }}
          }})();"""
        out = subprocess.run(["node", "-e", script], input=json.dumps(requests).encode(), capture_output=True, check=True)
        found = [json.loads(line) for line in out.stdout.splitlines()]
        self.assertEqual(found, [[r["reply"]] * 2 for r in requests])

    def test_saved_and_resumed(self):
        """Each turn in a process of its own."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chat.json")
            for settings, all_replies in ((GREEDY, self.greedy), (SAMPLED, self.sampled)):
                for conversation, replies in list(zip(CONVERSATIONS, all_replies))[:3]:
                    for turn, line in enumerate(conversation):
                        more = ["--resume", path] if turn else []
                        self.assertEqual(chat([line], settings, *more, save=path), [replies[turn]])
                    os.remove(path)

    def test_another_template(self):
        """With a template whose turns end in no special token, and replies that are cut at 6 tokens."""
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
            file.write(PLAIN)
            file.flush()
            model = bittern.Model(KJV)
            for settings in ({**GREEDY, "n_predict": 6}, {**SAMPLED, "n_predict": 6}):
                for conversation in CONVERSATIONS[:5]:
                    replies = chat(conversation, settings, "-m", KJV, "--chat-template", file.name)
                    for turn, reply in enumerate(replies):
                        found = model.chat(said(conversation, replies[:turn]), chat_template=PLAIN, **settings)
                        self.assertEqual(str(found), reply)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
