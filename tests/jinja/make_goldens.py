#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: make_goldens.py > src/jinja/testdata/goldens.jsonl

What python3-jinja2 makes of the templates in cases.py: a line each, {"template", "names"} and "text" or
"error". "names" is left out where it is that of the line before.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cases  # noqa: E402
import oracle  # noqa: E402


def main():
    before = None
    for source, names in cases.all_cases():
        line = {"template": source}
        if names is not before:
            line["names"] = before = names
        print(json.dumps({**line, **oracle.render(source, names)}))


if __name__ == "__main__":
    main()
