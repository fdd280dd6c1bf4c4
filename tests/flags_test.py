#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types every line of flags.txt as a user would: no flag may do something else than it says, or
nothing, without a word.

usage: flags_test.py BITTERN MODEL
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BITTERN, MODEL = sys.argv[1], os.path.abspath(sys.argv[2])
HERE = pathlib.Path(__file__).parent
TEXT = tempfile.NamedTemporaryFile("w", suffix=".txt")
TEXT.write("In the beginning\n")
TEXT.flush()


def run(words):
    """Exit code, standard output without what differs each time, and standard error."""
    words = [TEXT.name if w == "@text" else w for w in words]
    done = subprocess.run([BITTERN, *words], env={**os.environ, "BITTERN_MODEL": MODEL}, input="hi\n",
                          capture_output=True, text=True, timeout=120)
    timed = words[:1] == ["bench"] and "--help" not in words
    return done.returncode, "" if timed else done.stdout, done.stderr


def flags_of(words):
    return [w.split("=")[0] for w in words if w.startswith("-") and not w[1:2].isdigit()]


def check(command, kind, words, rest):
    """What is wrong; an empty text where nothing is."""
    code, out, err = run(command + words)
    notices = [line for line in err.splitlines() if "not needed here and ignored" in line]
    if kind == "refused":
        first = err.splitlines()[0] if err else ""
        if command[:1] == ["run"] and words[0] == "-f":
            return "" if code == 2 and rest in first else f"exit code {code}, {err!r}"
        named = words[0] in first
        if code != (2 if words[0] == "hello world" else 1):
            return f"exit code {code}: {err!r}"
        if out or not named or rest not in err:
            return f"{words[0]!r} and {rest!r} expected: {err!r}"
        return ""
    if code != 0:
        return f"exit code {code}: {err!r}"
    if kind == "ignored":
        wanted = "notice: not needed here and ignored: " + ", ".join(flags_of(words)) + (f" ({rest})" if rest else "")
        if notices != [wanted]:
            return f"{wanted!r} expected: {err!r}"
        other = command
    else:
        if notices:
            return f"a notice: {notices}"
        other = command + shlex.split(rest)
    again = run(other)
    if again[0] != 0 or again[1] != out:
        return f"{out!r} is not what {shlex.join(other)} gives: {again[1]!r}"
    return ""


def main():
    cases, command = [], []
    for line in (HERE / "flags.txt").read_text().splitlines():
        if line.startswith("["):
            command = shlex.split(line[1:line.rindex("]")])
        elif line and not line.startswith("#"):
            kind, text = line.split(None, 1)
            words, _, rest = text.partition(" | ") if " | " in text else (text.rstrip(" |"), "", "")
            cases.append((command, kind, shlex.split(words), rest.strip()))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: check(*case), cases))
    failures = [(c, r) for c, r in zip(cases, results) if r]
    for (command, kind, words, _), problem in failures:
        print(f"FAILED: {kind} {shlex.join(command + words)}: {problem}")
    print(f"{len(cases)} lines, {len(failures)} failures")
    return 1 if failures or len(cases) < 190 else 0


sys.exit(main())
