#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the notices that go with a binary: WordNet's, and those of the libraries that are compiled or
linked into it (deploy/notices).

usage: tools/notices.py library|program
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = {  # file in deploy/notices: what it is
    "fmt": "{fmt}",
    "nlohmann-json": "JSON for Modern C++",
    "utf8proc": "utf8proc",
    "xxhash": "xxHash",
}
PROGRAM = {**LIBRARY, "cli11": "CLI11"}


def notices(held):
    """The text. Boost's licence and CC0 (expected) ask for nothing in binaries, OpenSSL's licence is
    Bittern's own."""
    parts = [("Bittern", "Bittern is under the Apache License 2.0 (the file LICENSE beside this one).\n"
              "The parts below came from others and are under their own terms.\n"),
             ("The built-in model was trained on texts of WordNet 3.0",
              (ROOT / "models" / "WORDNET-LICENSE").read_text(encoding="utf-8"))]
    parts += [(what, (ROOT / "deploy" / "notices" / name).read_text(encoding="utf-8"))
              for name, what in held.items()]
    return "\n".join(f"{title}\n{'-' * len(title)}\n\n{text}" for title, text in parts)


def main():
    kinds = {"library": LIBRARY, "program": PROGRAM}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    sys.stdout.write(notices(kinds[sys.argv[1]]))


if __name__ == "__main__":
    main()
