#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the notices that go with a binary: WordNet's, and those of the libraries that are compiled or
linked into it (deploy/notices). sbom.py lists the same libraries.

usage: tools/notices.py library|program|download|windows|macos
"""
import pathlib
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent


# libbittern; a program that is linked to this machine's libraries; one that people download, with all inside; the same
# for Windows and macOS.
KINDS = LIBRARY, PROGRAM, DOWNLOAD, WINDOWS, MACOS = "library", "program", "download", "windows", "macos"
DOWNLOADS = DOWNLOAD, WINDOWS, MACOS
PROGRAMS = PROGRAM, *DOWNLOADS


class Linked(NamedTuple):
    """A library that is compiled or linked in."""
    licence: str  # in SPDX's words
    notice: str = ""  # file in deploy/notices; empty where the licence asks for nothing in binaries
    title: str = ""
    kinds: tuple[str, ...] = KINDS
    source: str = ""  # what a download has it from (tools/release_deps.sh); empty: this package


# By Debian package. Boost's licence, zlib's, CC0 and the exceptions of GCC and LLVM ask for nothing in binaries; OpenSSL's
# licence is Bittern's own.
LINKED = {
    "libfmt-dev": Linked("MIT", "fmt", "{fmt}"),
    "nlohmann-json3-dev": Linked("MIT", "nlohmann-json", "JSON for Modern C++"),
    "libutf8proc-dev": Linked("MIT", "utf8proc", "utf8proc", source="utf8proc"),
    "libxxhash-dev": Linked("BSD-2-Clause", "xxhash", "xxHash"),
    "libcli11-dev": Linked("BSD-3-Clause", "cli11", "CLI11", PROGRAMS),
    "libexpected-dev": Linked("CC0-1.0"),
    "libboost-dev": Linked("BSL-1.0", kinds=PROGRAMS),
    "libssl-dev": Linked("Apache-2.0", kinds=PROGRAMS, source="openssl"),
    "zlib1g-dev": Linked("Zlib", kinds=(PROGRAM,)),  # what OpenSSL calls from Debian 13 on
    "libzstd-dev": Linked("BSD-3-Clause", "zstd", "Zstandard", (PROGRAM,)),  # the same
    "libcurl4-openssl-dev": Linked("curl", "curl", "curl", DOWNLOADS, "curl"),
    "libstdc++-12-dev": Linked("GPL-3.0-or-later WITH GCC-exception-3.1", kinds=(LIBRARY, PROGRAM)),
    "g++-mingw-w64-x86-64-posix": Linked("GPL-3.0-or-later WITH GCC-exception-3.1", kinds=(WINDOWS,)),
    "mingw-w64-x86-64-dev": Linked("ZPL-2.1 AND MIT AND BSD-3-Clause", "mingw-w64", "mingw-w64", (WINDOWS,)),
    "libc6-dev": Linked("LGPL-2.1-or-later", kinds=(LIBRARY, PROGRAM)),
    # Of zig's compiler: the C library, the C++ library, what the compiler calls.
    "musl": Linked("MIT", "musl", "musl", (DOWNLOAD,), "zig"),
    "libc++": Linked("Apache-2.0 WITH LLVM-exception", kinds=(DOWNLOAD, MACOS), source="zig"),
    "zig compiler-rt": Linked("MIT", "zig", "zig", (DOWNLOAD, MACOS), "zig"),
}


def wordnet_licence():
    return (ROOT / "models" / "WORDNET-LICENSE").read_text(encoding="utf-8")


def notices(*kinds):
    """The text for one of KINDS, or for what holds binaries of several."""
    parts = [("Bittern", "Bittern is under the Apache License 2.0 (the file LICENSE beside this one).\n"
              "The parts below came from others and are under their own terms.\n"),
             ("The built-in model was trained on texts of WordNet 3.0", wordnet_licence())]
    parts += [(held.title, (ROOT / "deploy" / "notices" / held.notice).read_text(encoding="utf-8"))
              for held in LINKED.values() if held.notice and set(kinds) & set(held.kinds)]
    return "\n".join(f"{title}\n{'-' * len(title)}\n\n{text}" for title, text in parts)


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    sys.stdout.write(notices(sys.argv[1]))


if __name__ == "__main__":
    main()
