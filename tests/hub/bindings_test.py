#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models by name through C, Python and Node.js, against a hub of our own on 127.0.0.1 (hub_server.py).

usage: bindings_test.py BITTERN MODEL.gguf PULL_THROUGH_C LIBBITTERN PYTHON_FOLDER NODE_PACKAGE
NODE_PACKAGE is empty where the addon is not built.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

from hub_case import FILE, REPO, HubTest
from hub_server import COMMIT, sha256

PROGRAM, LIBRARY, PYTHON, NODE = (sys.argv.pop(1) for _ in range(4))


class Bindings(HubTest):
    def run_words(self, words, code=0, **env):
        more = {"PYTHONPATH": PYTHON, "BITTERN_LIBRARY": LIBRARY, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}
        done = subprocess.run(words, capture_output=True, text=True, env=self.env(**more, **env), timeout=120,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def place(self):
        return str(self.repo_folder(REPO) / "snapshots" / COMMIT / FILE)


class C(Bindings):
    def pull(self, *words, **more):
        return self.run_words([PROGRAM, *words], **more)

    def test_path_and_json(self):
        path, said = self.pull(REPO).stdout.splitlines()
        self.assertEqual(path, self.place())
        told = json.loads(said)
        self.assertEqual((told["repo"], told["commit"], told["path"]), (REPO, COMMIT, path))
        self.assertEqual(told["files"], [{"file": FILE, "bytes": len(self.model), "fetched": True,
                                          "sha256": sha256(self.model)}])

    def test_settings_go_before_variables(self):
        other = self.folder / "other"
        done = self.pull(REPO, f"cache={other}", f"endpoint={self.hub.url}", HF_ENDPOINT="http://127.0.0.1:9")
        self.assertIn(str(other), done.stdout)
        self.assertFalse(self.cache.exists())
        self.assertIn("the repository is gated", self.pull("user/gated", code=1).stderr)
        self.pull("user/gated", "token=hf_secret")

    def test_no_environment(self):
        self.assertIn("cache: ", self.pull(REPO, "no-environment", code=1).stderr)
        self.pull(REPO, "no-environment", f"cache={self.cache}", f"endpoint={self.hub.url}")

    def test_update_off_asks_the_hub_only_once(self):
        self.pull(REPO, "update=off")
        self.hub.calm()
        self.assertEqual(self.pull(REPO, "update=off").stdout.splitlines()[0], self.place())
        self.assertEqual(self.hub.log, [])

    def test_errors(self):
        self.assertRegex(self.pull("tern", code=1).stderr, "ERROR_ARGUMENT: a model's name .* expected")
        self.assertIn("ERROR_NOT_FOUND", self.pull("user/none", code=1).stderr)
        self.assertIn("offline, nothing is downloaded", self.pull(REPO, "offline=on", code=1).stderr)
        self.assertIn("ERROR_ARGUMENT", self.pull(REPO, "connections=0", code=1).stderr)

    def test_cancel_and_going_on(self):
        self.assertIn("ERROR_CANCELLED", self.pull("user/big", "cancel", code=1).stderr)
        path = self.pull("user/big").stdout.splitlines()[0]
        with open(path, "rb") as file:
            self.assertEqual(file.read(), self.big)


class Python(Bindings):
    def python(self, source, **more):
        return self.run_words([sys.executable, "-c", "import bittern\n" + source], **more).stdout

    def test_pull(self):
        told = self.python(f"""
told = []
print(bittern.pull("{REPO}", progress=told.append))
assert told[-1] == 1, told""")
        self.assertEqual(told, self.place() + "\n")

    def test_from_pretrained(self):
        text = self.python(f"""
m = bittern.Model.from_pretrained("{REPO}:i2_s", threads=1)
print(m.generate("In the", n_predict=5, temperature=0))
try:
    bittern.Model.from_pretrained("user/none")
except bittern.NotFoundError as error:
    assert "no such repository" in str(error), error""")
        self.assertEqual(text, self.python(f"""
m = bittern.Model(r"{self.place()}", threads=1)
print(m.generate("In the", n_predict=5, temperature=0))"""))

    def test_cancel(self):
        self.python("""
try:
    bittern.pull("user/big", progress=lambda done: False)
except bittern.CancelledError:
    pass
else:
    raise SystemExit("it was not cancelled")""")


@unittest.skipUnless(NODE and shutil.which("node"), "the addon for Node.js is not built")
class Node(Bindings):
    def node(self, source, **more):
        entry = json.dumps(os.path.join(NODE, "index.mjs"))
        return self.run_words(["node", "--input-type=module", "-e", f"import bittern from {entry};\n{source}"],
                              **more).stdout

    def test_pull(self):
        told = self.node(f"""
const told = [];
console.log(await bittern.pull('{REPO}', {{ progress: (done) => {{ told.push(done); }} }}));
if (told.at(-1) !== 1) throw new Error(String(told));""")
        self.assertEqual(told, self.place() + "\n")

    def test_from_pretrained(self):
        text = self.node(f"""
const model = await bittern.Model.fromPretrained('{REPO}', {{ threads: 1, offline: false }});
console.log(model.info.path);
await bittern.pull('user/none').then(() => {{ throw new Error('found'); }},
  (error) => {{ if (error.code !== 'BITTERN_ERROR_NOT_FOUND') throw error; }});""")
        self.assertEqual(text, self.place() + "\n")

    def test_abort(self):
        self.node("""
const abort = new AbortController();
const done = bittern.pull('user/big', { signal: abort.signal });
abort.abort();
await done.then(() => { throw new Error('it was not cancelled'); },
  (error) => { if (error.name !== 'AbortError') throw error; });
await bittern.pull('user/big', { progress: () => false }).then(
  () => { throw new Error('it was not cancelled'); },
  (error) => { if (error.code !== 'BITTERN_ERROR_CANCELLED') throw error; });""")


if __name__ == "__main__":
    unittest.main(verbosity=2 if os.environ.get("VERBOSE") else 1)
