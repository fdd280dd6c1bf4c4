#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing that a user owns is overwritten: every flag that names an output, of every command, is pointed at the model,
at a link to it, at the other inputs and at files of others. Each such run must fail and change no file.

Usage: outputs_test.py BITTERN MODEL OUTPUTS_CPP"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BITTERN, MODEL, TABLE = (os.path.abspath(path) for path in sys.argv[1:4])

# A short run of each command that writes, by the command and the flag of outputs.cpp; PLACE is the output.
RUNS = {
    ("batch", "--output"): ["batch", "in.jsonl", "-m", "model.gguf", "-o", "PLACE"],
    ("bench", "--html"): ["bench", "-m", "model.gguf", "-p", "4", "-n", "2", "-r", "1", "--html", "PLACE"],
    ("certify", "--out"): ["certify", "model.gguf", "--prompt-set", "text.txt", "--out", "PLACE"],
    ("chat", "--save"): ["chat", "-m", "model.gguf", "--chat-template-file", "template.txt", "-n", "2", "--save", "PLACE"],
    ("convert", "OUT"): ["convert", "model.gguf", "PLACE", "--to", "tq2_0"],
    ("doctor", "--fix"): ["doctor", "model.gguf", "--fix", "PLACE"],
    ("doctor", "--html"): ["doctor", "model.gguf", "--like", "other.gguf", "--html", "PLACE"],
    ("eval", "--kl-divergence-base"): ["eval", "text.txt", "-m", "model.gguf", "-c", "16", "--chunks", "2",
                                       "--kl-divergence-base", "PLACE"],
    ("eval", "--output"): ["eval", "text.txt", "-m", "model.gguf", "-c", "16", "--chunks", "2", "-o", "PLACE"],
    ("logits", "--hidden"): ["logits", "-m", "model.gguf", "-f", "text.txt", "-o", "free.out", "--hidden", "PLACE"],
    ("logits", "--output"): ["logits", "-m", "model.gguf", "-f", "text.txt", "-o", "PLACE"],
    ("logits", "--zeros"): ["logits", "-m", "model.gguf", "-f", "text.txt", "-o", "free.out", "--zeros", "PLACE"],
    ("man", "--dir"): ["man", "--dir", "PLACE"],
    ("report", "--output"): ["report", "-m", "model.gguf", "-o", "PLACE"],
    ("rm", "--output"): ["meta", "rm", "model.gguf", "general.name", "-o", "PLACE"],
    ("set", "--output"): ["meta", "set", "model.gguf", "general.name", "str:x", "-o", "PLACE"],
    ("trace", "--dump"): ["trace", "-m", "model.gguf", "-f", "text.txt", "--dump", "PLACE"],
    ("trace", "--html"): ["trace", "-m", "model.gguf", "-f", "text.txt", "--html", "PLACE"],
}
FOLDERS = ("--dump", "--dir")
# An earlier output of these is replaced, since it says what it is.
REPLACED = {("bench", "--html"), ("certify", "--out"), ("report", "--output"), ("trace", "--html"),
            ("trace", "--dump"), ("man", "--dir")}
TEXT = "In the beginning God created the heaven and the earth.\n" * 8


def digest(folder):
    """The bytes of every file below the folder, by name."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("text.txt", TEXT)
        self.write("notes.txt", "what I must not lose\nand the last line without an end")
        self.write("template.txt", "{% for m in messages %}{{ m.content }}{% endfor %}")
        self.write("in.jsonl", '{"id": "a", "prompt": "In the", "n_predict": 2}\n')
        self.write("poem.json", '{"poem": ["{}"]}')
        shutil.copy(MODEL, self.path("model.gguf"))
        shutil.copy(MODEL, self.path("other.gguf"))
        os.symlink("model.gguf", self.path("link.gguf"))
        os.link(self.path("model.gguf"), self.path("hard.gguf"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_in(self, words, model=None):
        environment = {**os.environ, "BITTERN_MODEL": model or "", "XDG_CACHE_HOME": os.path.join(self.folder, ".cache")}
        return subprocess.run([BITTERN, *words], cwd=self.folder, env=environment, input="hello\n", text=True,
                              capture_output=True, timeout=300)

    def refused(self, words, model=None):
        before = digest(self.folder)
        done = self.run_in(words, model)
        shown = " ".join(words)
        self.assertEqual(done.returncode, 1, f"{shown}: {done.stderr}")
        after = {name: value for name, value in digest(self.folder).items() if not name.startswith(".cache")}
        self.assertEqual(after, before, shown)
        self.assertNotIn(".part-", " ".join(after), shown)
        self.assertIn("error: ", done.stderr, shown)
        return done.stderr

    def test_every_flag_that_writes_is_known(self):
        with open(TABLE, encoding="utf-8") as file:
            table = set(re.findall(r'\{"(\w+)", "([-\w]+)", Holds::', file.read()))
        self.assertEqual(table, set(RUNS))
        commands = re.findall(r"^  (\w[\w-]*) ", self.run_in(["--help"]).stdout.split("Example:")[0], re.M)
        self.assertIn("batch", commands)
        commands = [[name] for name in commands] + [["meta", "set"], ["meta", "rm"]]
        # Files that are read, and a folder of files that requests name (serve_test).
        reads = {"--slot-save-path", "--json-schema-file", "--grammar-file"}
        for words in commands:
            text = self.run_in([*words, "--help"]).stdout
            for names, rest in re.findall(r"^  ((?:-\w, )?--?[-\w, ]+?) (?:FILE|OUT|DIR|PATH)\b(.*(?:\n {10,}.*)*)", text, re.M):
                flags = {name.strip() for name in names.split(",")}
                if not re.search(r"\b(writ|save)|\bfile for", rest, re.I):
                    continue
                if re.search(r"that /save|has written", rest) or flags & reads:
                    continue
                self.assertTrue(any((words[-1], flag) in table for flag in flags), f"{words} {names}: {rest}")

    def test_inputs_stay(self):
        for (command, flag), run in RUNS.items():
            inputs = [word for word in run if os.path.isfile(self.path(word))]
            for victim in [*inputs, *(["link.gguf", "hard.gguf", "./model.gguf"] if "model.gguf" in run else [])]:
                with self.subTest(command=command, flag=flag, victim=victim):
                    words = [victim if word == "PLACE" else word for word in run]
                    message = self.refused(words)
                    self.assertIn(victim, message)
                    if command not in ("convert", "set", "rm"):
                        self.refused([*words, "--force"])
                    if command == "doctor":
                        self.refused([*words, "--overwrite"])

    def test_the_model_of_the_environment_stays(self):
        for key in RUNS:
            run = RUNS[key]
            if "-m" not in run:
                continue
            with self.subTest(key=key):
                at = run.index("-m")
                words = run[:at] + run[at + 2:]
                self.refused(["model.gguf" if word == "PLACE" else word for word in words], model="model.gguf")

    def test_files_of_others_stay(self):
        for (command, flag), run in RUNS.items():
            for victim in ["notes.txt", "poem.json"]:
                with self.subTest(command=command, flag=flag, victim=victim):
                    if flag in FOLDERS:
                        os.makedirs(self.path("folder"), exist_ok=True)
                        name = {"--dump": "trace.json", "--dir": "bittern-run.1"}[flag]
                        shutil.copy(self.path(victim), os.path.join(self.path("folder"), name))
                        self.refused(["folder" if word == "PLACE" else word for word in run])
                        shutil.rmtree(self.path("folder"))
                    words = [victim if word == "PLACE" else word for word in run]
                    message = self.refused(words) if flag not in FOLDERS else victim
                    self.assertIn(victim, message)
                    if "--resume" in self.run_in([command, "--help"]).stdout:
                        resumed = [*words, "--resume"] if command != "chat" else [*words, "--resume", victim]
                        if command != "chat" and flag == "--output":
                            self.refused(resumed)

    def test_two_outputs_are_two_files(self):
        for words in (["logits", "-m", "model.gguf", "-f", "text.txt", "-o", "x", "--hidden", "./x"],
                      ["eval", "text.txt", "-m", "model.gguf", "-o", "x", "--kl-divergence-base", "x"],
                      ["trace", "-m", "model.gguf", "-f", "text.txt", "--dump", "x", "--html", "x"],
                      ["doctor", "model.gguf", "--fix", "x", "--html", "x"]):
            self.assertIn("two outputs need two files", self.refused(words))

    def test_own_outputs(self):
        """A second run replaces what says that it is an earlier output; results and numbers only with --force."""
        for key, run in RUNS.items():
            command, flag = key
            if command == "doctor":
                continue  # the healthy file has nothing to mend; its page: pages_test
            with self.subTest(key=key):
                words = ["place" if word == "PLACE" else word for word in run]
                first = self.run_in(words)
                self.assertEqual(first.returncode, 0, first.stderr)
                if key in REPLACED:
                    self.assertEqual(self.run_in(words).returncode, 0)
                else:
                    if os.path.exists(self.path("free.out")):
                        os.remove(self.path("free.out"))
                    message = self.refused(words)
                    self.assertIn("--force", message)
                    done = self.run_in([*words, "--force"])
                    self.assertEqual(done.returncode, 0, done.stderr)
                for left in ("place", "free.out"):
                    if os.path.isdir(self.path(left)):
                        shutil.rmtree(self.path(left))
                    elif os.path.exists(self.path(left)):
                        os.remove(self.path(left))

    def test_a_conversation_goes_on_in_its_file(self):
        words = RUNS["chat", "--save"]
        first = [word if word != "PLACE" else "talk.json" for word in words]
        self.assertEqual(self.run_in(first).returncode, 0)
        self.assertEqual(self.run_in([*first, "--resume", "talk.json"]).returncode, 0)
        with open(self.path("talk.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["messages"]), 4)
        self.assertIn("--resume", self.refused(first))

    def test_resume_keeps_files_of_other_runs(self):
        """Results of another command, of another text and of other flags."""
        batch = [word if word != "PLACE" else "results" for word in RUNS["batch", "--output"]]
        self.assertEqual(self.run_in(batch).returncode, 0)
        evaluate = ["eval", "text.txt", "-m", "model.gguf", "-c", "16", "--chunks", "2", "--resume", "-o"]
        self.refused([*evaluate, "results"])
        self.assertEqual(self.run_in([*evaluate, "windows"]).returncode, 0)
        self.refused([*batch[:-1], "windows", "--resume"])
        with open(self.path("windows"), encoding="utf-8") as file:
            header = file.readline()
        self.write("header", header)
        self.write("other.txt", TEXT.replace("God", "He"))
        self.refused(["eval", "other.txt", *evaluate[2:], "header"])
        self.refused([*evaluate[:4], "-c", "32", "--chunks", "2", "--resume", "-o", "header"])
        self.assertEqual(self.run_in([*evaluate, "header"]).returncode, 0)

    def test_deep_json_is_an_error_of_its_line(self):
        n = 200000
        nested = "[" * n + "]" * n
        fields = ["prompt", "id", "temperature", "stop", "messages", "json_schema", "response_format", "nothing"]
        lines = [f'{{"id": "x", "prompt": "a", "n_predict": 1, "{field}": {nested}}}' for field in fields]
        self.write("deep.jsonl", "\n".join([*lines, '{"id": "good", "prompt": "In", "n_predict": 1}']) + "\n")
        done = self.run_in(["batch", "deep.jsonl", "-m", "model.gguf", "-o", "out.jsonl"])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("out.jsonl"), encoding="utf-8") as file:
            results = [json.loads(line) for line in file]
        self.assertEqual(len(results), len(fields) + 1)
        for result in results[:-1]:
            self.assertIn("nested deeper", result["error"])
        self.assertEqual(results[-1]["id"], "good")
        self.assertIn("text", results[-1])
        self.write("results.jsonl", nested + "\n")
        self.refused(["batch", "deep.jsonl", "-m", "model.gguf", "-o", "results.jsonl", "--resume"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
