#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: run.py BITTERN MODEL TESTS [TABLE]   llama.cpp's server tests (TESTS: their folder
tools/server/tests, fetched, no part of this repository) against `bittern serve`, through conftest.py
beside this file. Writes every case that their default run has and what came of it to TABLE
(docs/server-tests.md); reasons.txt says why a case cannot pass. Fails where a case without a reason fails, or
one with a reason passes.

LOG, KEEP, SELECT and REPORTS in the environment: pytest's output, a folder for its report, what to run, and
reports to make the table of. Runs in an environment with the packages that their requirements.txt names, and
pytest-timeout."""
import collections
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
UNSKIP = '@pytest.mark.skip(reason="This test fails on linux, need to be fixed")\n'
COLD = '"temperature": 0.0,\n            "cache_prompt": False,'  # what upstream's tests of sameness run with
WARM = '"temperature": 1.0,\n            "cache_prompt": True,'

HEAD = """# llama-server's tests

llama.cpp's tests of its server (`tools/server/tests` as llama-cpp-python 0.3.36 brings them; no part of this repository) against `bittern serve`, by
`tests/llama_server/run.py BITTERN models/kjv-5m-i2s.gguf TESTS docs/server-tests.md`, which wrote this page. Their default
run, without the cases marked slow, which want models of 1 to 8 GB.

Upstream skips `test_cache_vs_nocache_prompt`, and runs its tests of equal answers without the cache and at temperature 0 only.
Here they run with the cache, and at temperature 1.

Where a case expects the text or the number of tokens of llama.cpp's test model, it is given what `bittern run` and `bittern
tokenize` say for the same prompt, seed and temperature: "pass, with our model's text or count".

| result | cases |
|---|---|"""


def prepare(tests, folder):
    shutil.copytree(tests.parents[2] / "models" / "templates", folder / "models" / "templates")
    copy = folder / "tools" / "server" / "tests"
    shutil.copytree(tests, copy)
    shutil.copy(HERE / "conftest.py", copy / "conftest.py")
    (copy / "wget.py").write_text("")  # they import it to download models
    (copy / "tmp").mkdir(exist_ok=True)
    completion = copy / "unit" / "test_completion.py"
    text = completion.read_text()
    assert UNSKIP in text and COLD in text and "[0.0])" in text, "not the tests that this was written for"
    completion.write_text(text.replace(UNSKIP, "").replace(COLD, WARM).replace('temperature", [0.0])', 'temperature", [0.0, 1.0])')
                          .replace('"temperature": temperature,\n            "cache_prompt": False',
                                   '"temperature": temperature,\n            "cache_prompt": True'))
    return copy


def cases(report):
    """(file, case, outcome, ours)"""
    for case in ElementTree.parse(report).iter("testcase"):
        outcome = next((kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None), "passed")
        ours = case.find("properties/property[@name='ours']") is not None
        yield case.get("classname").rpartition(".")[2], case.get("name"), outcome, ours


def reasons():
    """[(pattern, reason)]; a line that ends with ":" is the reason of the patterns below it."""
    found, reason = [], ""
    for line in (HERE / "reasons.txt").read_text().splitlines():
        if line.endswith(":") and not line.startswith(" "):
            reason = line[:-1]
        elif line.strip() and not line.startswith("#"):
            found.append((line.strip(), reason))
    return found


def main():
    bittern, model, tests = (pathlib.Path(arg).resolve() for arg in sys.argv[1:4])
    if "REPORTS" in os.environ:  # of earlier runs; a later one replaces cases of those before
        return tell({row[:2]: row for report in os.environ["REPORTS"].split() for row in cases(report)}.values())
    with tempfile.TemporaryDirectory() as name:
        copy = prepare(tests, pathlib.Path(name))
        env = {**os.environ, "BITTERN": str(bittern), "BITTERN_MODEL": str(model)}
        report = copy / "report.xml"
        keep = os.environ.get("KEEP")  # a folder for the report
        with open(os.environ.get("LOG", os.devnull), "w", encoding="utf-8") as log:
            subprocess.run([sys.executable, "-m", "pytest", "-m", "not slow", "--timeout=60", f"--junitxml={report}",
                            "-o", "junit_family=xunit1", *os.environ.get("SELECT", "unit").split()], cwd=copy, env=env, check=False,
                           stdout=log, stderr=log)
        rows = list(cases(report))
        if keep:
            shutil.copy(report, keep)
    return tell(rows)


def reason_of(why, name):
    """Of the first pattern that fits; none where that one begins with "!"."""
    for pattern, text in why:
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!").replace("[", "[[]")):
            return None if pattern.startswith("!") else text
    return None


def tell(rows):
    why, wrong, count = reasons(), [], collections.Counter()
    lines = []
    for file, case, outcome, ours in rows:
        reason = reason_of(why, f"{file}::{case}")
        if outcome == "passed":
            result = "pass, with our model's text or count" if ours else "pass"
        else:
            result = reason or outcome.upper()
        if (outcome == "passed") == (reason is not None):
            wrong.append(f"{file}::{case}: {outcome}, {reason or 'no reason known'}")
        count[result] += 1
        name = case.replace("|", "\\|").replace("\n", " ").replace("`", "'")
        lines.append(f"| {file} | `{name}` | {result} |")
    for result, number in count.most_common():
        print(f"{number:4} {result}")
    print("\n".join(["unexpected:", *wrong]) if wrong else "as expected")
    if len(sys.argv) > 4:
        total = [f"| {result} | {number} |" for result, number in count.most_common()]
        pathlib.Path(sys.argv[4]).write_text("\n".join([HEAD, *total, "", "| file | case | result |", "|---|---|---|", *lines]) + "\n")
    return 1 if wrong else 0


sys.exit(main())
