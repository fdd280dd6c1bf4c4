#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`bittern selftest` as scripts call it: one JSON object, all green here, exit code 4 where a check fails, and 5, never
"nothing is wrong", where checks were skipped for want of time.

usage: selftest_test.py BITTERN MODEL
"""
import json
import os
import subprocess
import sys
import tempfile

BITTERN, MODEL = sys.argv[1:3]


def run(*arguments):
    return subprocess.run([BITTERN, "selftest", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


done = run("--json")
report = json.loads(done.stdout)
assert done.returncode == 0 and report["ok"] and report["complete"], done.stdout
assert report["seconds"] < 60 or "certificate" in done.stdout, report["seconds"]
states = {(t["group"], t["name"]): t["state"] for t in report["tests"]}
for name in ("loading", "which model", "tokenizer", "texts", "loop detector", "certificate",
             "certificate by scalar"):
    assert states["shipped model", name] == "ok", (name, states["shipped model", name])
assert {group for group, _ in states} == {"machine", "kernels", "shipped model"}, states
assert set(states.values()) <= {"ok", "slow"}, states

missing = run("-m", "/no/such/model.gguf", "--json")
assert missing.returncode == 4 and not json.loads(missing.stdout)["ok"], missing
text = run()
assert "Nothing is wrong" in text.stdout and "\x1b" not in text.stdout, text.stdout

# No time: a model that was never looked at does not pass, whole or cut.
with tempfile.TemporaryDirectory() as folder:
    cut = os.path.join(folder, "cut.gguf")
    open(cut, "wb").write(open(MODEL, "rb").read(100000))
    for model in (MODEL, cut):
        done = run("-m", model, "--seconds", "0")
        last = done.stdout.strip().splitlines()[-1]
        assert done.returncode == 5 and "Nothing is wrong" not in done.stdout, done.stdout
        assert "not all was checked" in last and "given model: loading" in last, last
        report = json.loads(run("-m", model, "--seconds", "0", "--json").stdout)
        assert report["ok"] and not report["complete"] and all(t["missed"] for t in report["tests"]), report
    done = run("-m", cut, "--json")  # read in time, it fails
    assert done.returncode == 4, done.stdout
print("ok")
