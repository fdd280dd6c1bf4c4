#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`bittern selftest` as scripts call it: one JSON object, all green here, and exit code 4 where a check fails.

usage: selftest_test.py BITTERN
"""
import json
import subprocess
import sys

BITTERN = sys.argv[1]


def run(*arguments):
    return subprocess.run([BITTERN, "selftest", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


done = run("--json")
report = json.loads(done.stdout)
assert done.returncode == 0 and report["ok"], done.stdout
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
print("ok")
