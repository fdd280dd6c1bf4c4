#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C header keeps what programs of the same minor version were built with.

Usage: check_abi.py HEADER KEPT [--write]

KEPT (tests/capi/abi-0.1.txt) has a line for each function, type and number of the header, without comments. Each line
must still be in the header, word for word; new ones may come, and are added with --write. A new minor version begins
with a new file. Exit code 1 where something is gone or changed.
"""
import re
import sys


def declarations(text):
    """The header's functions, types and numbers, one a line, sorted."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    numbers = re.findall(r"^#define (BITTERN_[A-Z_]+ \S+)$", text, flags=re.M)
    numbers += re.findall(r"^#define (BITTERN_[A-Z_]+ \d+u?)\s*$", text, flags=re.M)
    code = re.sub(r"^#.*$", "", text, flags=re.M)
    found = [" ".join(part.split()) for part in re.findall(r"\b(?:BITTERN_API|typedef)\b[^;]*;", code)]
    found = [part.replace("BITTERN_API ", "") for part in found]
    kept = [number for number in numbers if not number.startswith(("BITTERN_VERSION", "BITTERN_API"))]
    return sorted(set(found + kept))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        now = declarations(file.read())
    if sys.argv[3:] == ["--write"]:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        kept = file.read().splitlines()
    gone = [line for line in kept if line not in now]
    new = [line for line in now if line not in kept]
    for line in gone:
        print(f"{sys.argv[1]}: no longer there or changed: {line}")
    for line in new:
        print(f"{sys.argv[1]}: new, and not in {sys.argv[2]} (--write adds it): {line}")
    sys.exit(1 if gone or new else 0)


if __name__ == "__main__":
    main()
