#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: check_layers.py ROOT | --self-test

Holds the rules that a compiler does not: folders include only downward (ARCHITECTURE.md), files
name their licence and stay readable, sub-folders of a layer do not include each other, a folder has few entries, vector code stays in src/kernels and calls of the operating
system in src/base/os. Fails if it sees no includes at all, so that a wrong ROOT cannot pass.
"""
import pathlib
import re
import sys
import tempfile

BELOW = {  # folder: what it may include besides itself
    "base": set(),
    "quant": {"base"},
    "formats": {"base", "quant"},
    "tokenizer": {"base", "quant", "formats"},
    "jinja": {"base", "formats"},
    "grammar": {"base", "formats", "tokenizer"},
    "kernels": {"base", "quant"},
    "model": {"base", "quant", "formats", "kernels"},
    "runtime": {"base", "quant", "formats", "tokenizer", "jinja", "grammar", "kernels", "model"},
    "console": {"base", "runtime"},
    "hub": {"base", "formats"},
    "request": {"base", "formats", "tokenizer", "grammar", "model", "runtime"},
    "eval": {"base", "quant", "formats", "tokenizer", "jinja", "kernels", "model", "runtime"},
    "doctor": {"base", "quant", "formats", "tokenizer", "jinja", "kernels", "model", "runtime",
               "eval"},
    "proof": {"base", "quant", "formats", "tokenizer", "jinja", "kernels", "model", "runtime",
              "request"},
    "bench": {"base", "quant", "formats", "kernels", "model", "runtime"},
    "report": {"base", "quant", "formats", "tokenizer", "kernels", "model", "runtime", "request",
               "doctor", "proof"},
    "capi": {"base", "quant", "formats", "tokenizer", "jinja", "grammar", "kernels", "model",
             "runtime", "hub", "request", "proof", "eval", "doctor", "report"},
    "serve": {"base", "quant", "formats", "tokenizer", "jinja", "grammar", "kernels", "model",
              "runtime", "request", "proof"},
    "cli": {"base", "quant", "formats", "tokenizer", "jinja", "grammar", "kernels", "model",
            "runtime", "console", "hub", "request", "eval", "doctor", "proof",
            "bench", "report", "serve"},
    "mpi": {"base", "formats", "kernels", "model", "runtime", "cli"},
}
# Folders within a layer that include each other yet. The list may only shrink.
MUTUAL: set[tuple[str, str]] = set()
ROOTS = ("src", "apps")  # the folders of BELOW lie in these
MAX_LINES = 600
MAX_ENTRIES = 40  # of a folder below ROOTS
LICENCE = "SPDX-License-Identifier: Apache-2.0"
LICENSED = {".cpp", ".hpp", ".h", ".inc", ".def", ".cmake", ".py", ".sh", ".js"}
LICENSED_NAMES = {"CMakeLists.txt", "bittern", "check", "run"}
SKIPPED_FOLDERS = {"build", "node_modules", ".git", ".cache", "local"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_0-9]+)/')
OWN_INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_0-9]+(?:/[a-z_0-9]+)*)/[^/"]+"', re.M)
VECTOR_CODE = re.compile(r"immintrin\.h|arm_neon\.h|x86intrin\.h|\b__AVX|\b__ARM_NEON")
# Headers that only some systems have, and questions after the system: src/base/os alone has them.
SYSTEM_CODE = re.compile(r"#\s*include\s+<(sys/|linux/|mach/|sched\.h|fcntl\.h|pthread\.h|unistd\.h|termios\.h|"
                         r"signal\.h|csignal|io\.h|windows\.h)|^\s*#.*\b(?:__linux__|__APPLE__|_WIN32|__unix__)\b")
SYSTEM_FOLDER = ("base", "os")
TEST_FILE = re.compile(r"_test\.cpp$|_for_test\.hpp$")
# The library stands alone: the environment and the names of flags belong to programs.
ENVIRONMENT = re.compile(r"\b(secure_)?getenv\b|\benviron\b|\b(set|put)env\b")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
FLAG = re.compile(r"(?<![\w-])--[a-z]")
USED_BY_TESTS = re.compile(r"(_test|_bench)\.cpp$|(_for_test|/test_\w+|_oracle)\.hpp$")


def source_files(root):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not SKIPPED_FOLDERS.intersection(parts[:-1]):
            if path.suffix in LICENSED or path.name in LICENSED_NAMES:
                yield path, parts


def check_file(path, parts, complaints):
    """Appends what is wrong with one file; returns the number of includes seen."""
    lines = path.read_text(encoding="utf-8").splitlines()
    name = "/".join(parts)
    if not any(LICENCE in line for line in lines[:2]):
        complaints.append(f"{name}:1: no '{LICENCE}' in the first two lines")
    if len(lines) > MAX_LINES:
        complaints.append(f"{name}: {len(lines)} lines; {MAX_LINES} at most")
    if parts[0] not in ROOTS or len(parts) < 3 or path.suffix not in {".cpp", ".hpp", ".h", ".inc"}:
        return 0
    folder, seen = parts[1], 0
    if folder not in BELOW:
        complaints.append(f"{name}: folder {folder} is no layer; add it to {pathlib.Path(__file__).name}")
        return 0
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if include:
            seen += 1
            if include[1] in BELOW and include[1] != folder and include[1] not in BELOW[folder]:
                complaints.append(f"{name}:{number}: {folder} may not include {include[1]}")
        if folder != "kernels" and VECTOR_CODE.search(line):
            complaints.append(f"{name}:{number}: vector code belongs in src/kernels")
        if parts[0] == "src" and not USED_BY_TESTS.search(name):
            if ENVIRONMENT.search(line) and parts[1:3] != SYSTEM_FOLDER:
                complaints.append(f"{name}:{number}: a program asks the environment, src/ does not")
            if any(FLAG.search(text) for text in STRING.findall(line)):
                complaints.append(f"{name}:{number}: a text of src/ names options as key=value, "
                                  "not as flags")
        system = SYSTEM_CODE.search(line)
        if system and parts[1:3] != SYSTEM_FOLDER and not TEST_FILE.search(name):
            complaints.append(f"{name}:{number}: {line.strip()}: system calls belong in src/base/os")
    return seen


def check_folders(root, complaints):
    for top in ROOTS:
        for folder in [root / top, *(p for p in (root / top).rglob("*") if p.is_dir())]:
            entries = sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
            if entries > MAX_ENTRIES:
                complaints.append(f"{folder.relative_to(root)}: {entries} entries; "
                                  f"{MAX_ENTRIES} at most")


def mutual_pairs(root):
    """Pairs of folders of one layer whose files, tests left out, include each other."""
    edges = set()
    for top in ROOTS:
        for path in (root / top).rglob("*"):
            if path.suffix not in {".cpp", ".hpp", ".h", ".inc"} or USED_BY_TESTS.search(path.name):
                continue
            folder = path.parent.relative_to(root / top).as_posix()
            for included in OWN_INCLUDE.findall(path.read_text(encoding="utf-8")):
                if included != folder and included.split("/")[0] == folder.split("/")[0]:
                    edges.add((folder, included))
    return {(a, b) for a, b in edges if a < b and (b, a) in edges}


def check_mutual(root, allowed, complaints):
    pairs = mutual_pairs(root)
    for a, b in sorted(pairs - allowed):
        complaints.append(f"{a} and {b} include each other")
    for a, b in sorted(allowed - pairs):
        complaints.append(f"{a} and {b} include each other no more: take them off MUTUAL")


def check(root, mutual=frozenset()):
    complaints = []
    check_folders(root, complaints)
    check_mutual(root, mutual, complaints)
    seen = sum(check_file(path, parts, complaints) for path, parts in source_files(root))
    if not seen:
        complaints.append(f"{root}: no includes seen: wrong folder?")
    return complaints


SELF_TESTS = [  # file, text, what the complaint must contain ("" for none)
    ("src/base/good.cpp", f'// {LICENCE}\n#include "base/good.hpp"\n', ""),
    ("src/kernels/good.cpp", f"// {LICENCE}\n#include <immintrin.h>\n", ""),
    ("apps/cli/good.cpp", f'// {LICENCE}\n#include "runtime/session.hpp"\n', ""),
    ("build/bad.cpp", "not ours", ""),
    ("tools/script.sh", f"#!/bin/sh\n# {LICENCE}\n", ""),
    ("src/base/up.cpp", f'// {LICENCE}\n#include "model/model.hpp"\n', "base may not include model"),
    ("src/kernels/up.hpp", f'// {LICENCE}\n#include "formats/a.hpp"\n', "may not include formats"),
    ("src/runtime/up.hpp", f'// {LICENCE}\n#include "cli/commands.hpp"\n', "may not include cli"),
    ("src/stray/a.cpp", f"// {LICENCE}\n", "is no layer"),
    ("src/model/avx.cpp", f"// {LICENCE}\n#include <immintrin.h>\n", "vector code"),
    ("src/model/macro.cpp", f"// {LICENCE}\n#if defined(__AVX2__)\n#endif\n", "vector code"),
    ("src/base/os/posix/map.cpp", f"// {LICENCE}\n#include <sys/mman.h>\n", ""),
    ("src/base/map.cpp", f"// {LICENCE}\n#include <sys/mman.h>\n", "system calls"),
    ("src/base/ask.cpp", f"// {LICENCE}\n#if defined(_WIN32)\n#endif\n", "system calls"),
    ("apps/cli/tty.cpp", f"// {LICENCE}\n#include <unistd.h>\n", "system calls"),
    ("src/model/a_test.cpp", f"// {LICENCE}\n#include <sys/stat.h>\n", ""),
    ("src/model/cpus.cpp", f"// {LICENCE}\n#include <sched.h>\n", "system calls"),
    ("apps/cli/aux.cpp", f"// {LICENCE}\n#include <sys/auxv.h>\n", "system calls"),
    ("src/base/bare.hpp", "#pragma once\n", "first two lines"),
    ("src/base/env.cpp", f'// {LICENCE}\nauto x = std::getenv("HOME");\n', "the environment"),
    ("src/base/os/env.cpp", f'// {LICENCE}\nauto x = std::getenv("HOME");\n', ""),
    ("src/base/env_test.cpp", f'// {LICENCE}\nauto x = std::getenv("HOME");\n', ""),
    ("apps/cli/env.cpp", f'// {LICENCE}\nauto x = std::getenv("HOME");\n', ""),
    ("src/model/flag.cpp", f'// {LICENCE}\nconst char* x = "try --head exact";\n', "as flags"),
    ("src/model/dash.cpp", f'// {LICENCE}\nint a = "x"[--b]; const char* x = "a--b -- c";\n', ""),
    ("apps/cli/flag.cpp", f'// {LICENCE}\nconst char* x = "--head";\n', ""),
    ("tests/CMakeLists.txt", "\n", "first two lines"),
    ("src/base/long.cpp", f"// {LICENCE}\n" + "\n" * MAX_LINES, "601 lines"),
]


BOTH_WAYS = [("src/base/a/a.cpp", "base/b/b.hpp"), ("src/base/b/b.cpp", "base/a/a.hpp")]
MUTUAL_TESTS = [  # name, files with their include, pairs allowed, what the complaint must contain
    ("one way", BOTH_WAYS[:1], set(), ""),
    ("both ways", BOTH_WAYS, set(), "base/a and base/b include each other"),
    ("allowed", BOTH_WAYS, {("base/a", "base/b")}, ""),
    ("gone", BOTH_WAYS[:1], {("base/a", "base/b")}, "no more"),
    ("up and down", [("src/base/x.cpp", "base/a/a.hpp"), ("src/base/a/a.hpp", "base/x.hpp")], set(),
     "base and base/a include each other"),
    ("a test", [BOTH_WAYS[0], ("src/base/b/b_test.cpp", "base/a/a.hpp")], set(), ""),
]


def self_test():
    failures = []
    for name, text, expected in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file, content in [SELF_TESTS[0][:2], (name, text)]:
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(content, encoding="utf-8")
            complaints = check(root)
            good = (not complaints) if not expected else (
                len(complaints) == 1 and expected in complaints[0])
            if not good:
                failures.append(f"{name}: expected '{expected}', got {complaints}")
    for name, files, mutual, expected in MUTUAL_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file, include in files:
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(f'// {LICENCE}\n#include "{include}"\n', encoding="utf-8")
            complaints = check(root, mutual)
            if [expected in complaint for complaint in complaints] != ([True] if expected else []):
                failures.append(f"{name}: expected '{expected}', got {complaints}")
    with tempfile.TemporaryDirectory() as folder:
        crowded = pathlib.Path(folder) / "src" / "base"
        crowded.mkdir(parents=True)
        for number in range(MAX_ENTRIES + 1):
            (crowded / f"f{number}.cpp").write_text(SELF_TESTS[0][1], encoding="utf-8")
        if not any("41 entries" in complaint for complaint in check(pathlib.Path(folder))):
            failures.append("a folder of 41 entries passes")
    with tempfile.TemporaryDirectory() as folder:
        if not check(pathlib.Path(folder)):
            failures.append("an empty folder passes")
    return failures


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    problems = self_test() if sys.argv[1] == "--self-test" else check(
        pathlib.Path(sys.argv[1]), MUTUAL)
    if problems:
        print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
