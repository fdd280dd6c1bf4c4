#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: compare.py JINJA_RENDER FOLDER [--show N]

Renders every *.jinja of FOLDER with every conversation, by python3-jinja2 as transformers sets it up
and by src/jinja (the program build/dev/tests/jinja_render), and prints where they differ. Both failing
counts as equal; the words of their errors may differ. Exit code 1 below 99 % equal.

Templates of public models to try: llama.cpp keeps some in models/templates.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import conversations  # noqa: E402
import oracle  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--show", type=int, default=10)
    options = parser.parse_args()
    program = subprocess.Popen([options.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, encoding="utf-8")
    total = equal = failed = 0
    paths = sorted(pathlib.Path(options.folder).glob("*.jinja"))
    for path in paths:
        source = path.read_text(encoding="utf-8")
        for name in conversations.CONVERSATIONS:
            names = conversations.names(name)
            expected = oracle.render(source, names)
            program.stdin.write(json.dumps({"template": source, "names": names}) + "\n")
            program.stdin.flush()
            found = json.loads(program.stdout.readline())
            total += 1
            same = found.get("text") == expected.get("text")
            equal += same
            failed += same and "error" in expected
            if not same and total - equal <= options.show:
                print(f"--- {path.name}, {name}\n  expected {expected}\n  found    {found}")
    program.stdin.close()
    if not total:
        print("no templates there")
        return 1
    print(f"{len(paths)} templates: {equal} of {total} renderings equal ({100 * equal / total:.2f} %), "
          f"of these {failed} errors in both")
    return 0 if equal >= 0.99 * total else 1


if __name__ == "__main__":
    sys.exit(main())
