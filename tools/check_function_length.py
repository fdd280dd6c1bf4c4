#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: check_function_length.py FOLDER...   (needs universal-ctags)

Fails if a C++ function has more than 80 lines: one that does not fit a screen hides its idea.
Tables and tests count too. Fails as well if it finds no function at all.
"""
import json
import subprocess
import sys

MAX_LINES = 80
CTAGS = ["ctags", "-R", "--languages=C++", "--langmap=C++:.cpp.hpp.h.inc", "--kinds-C++=f",
         "--fields=+ne", "--output-format=json", "-f", "-"]


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    output = subprocess.run(CTAGS + sys.argv[1:], capture_output=True, text=True, check=True).stdout
    functions = [tag for tag in map(json.loads, output.splitlines()) if "end" in tag]
    too_long = 0
    for tag in functions:
        lines = tag["end"] - tag["line"] + 1
        if lines > MAX_LINES:
            too_long += 1
            print(f"{tag['path']}:{tag['line']}: {tag['name']} has {lines} lines; "
                  f"{MAX_LINES} at most")
    longest = max((tag["end"] - tag["line"] + 1 for tag in functions), default=0)
    print(f"{len(functions)} functions, the longest has {longest} lines")
    return 1 if too_long or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
