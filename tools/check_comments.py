#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: check_comments.py ROOT | --self-test

Two rules for comments of C++ files. A comment begins with its subject or a verb, never with a bare "What", "Of",
"Where" or "Those": such sentences name their subject last, or not at all. A file of more than LONG lines begins, below
its licence line, with a comment that says what it is for or how it works. Fails if it sees no file at all.
"""
import pathlib
import re
import sys
import tempfile

LONG = 100
TOPS = ("src", "apps", "include", "node/addon", "tests", "fuzz")
NO_HEAD = ("tests/", "fuzz/")  # a test is long because it has many cases; its name says what it tests
COMMENT = re.compile(r"^\s*///?<?\s?(.*)$")
BARE = re.compile(r"(What|Of|Where|Those)\b")


def complaints_about(name, text):
    lines = text.splitlines()
    inside = False
    for number, line in enumerate(lines, 1):
        comment = COMMENT.match(line)
        if comment and not inside and BARE.match(comment.group(1)):
            yield f"{name}:{number}: a comment begins with \"{comment.group(1).split()[0]}\": begin with the subject or a verb"
        inside = comment is not None and "SPDX" not in line
    if len(lines) > LONG and not name.startswith(NO_HEAD) and "_test." not in name:
        head = next((line for line in lines[:3] if line.strip() and ("SPDX" not in line or line.startswith("/*"))), "")
        if not head.lstrip().startswith(("//", "/*", " *")):
            yield f"{name}: more than {LONG} lines, and no comment at the top: say what it is for or how it works"


def check(root):
    seen, complaints = 0, []
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in {".cpp", ".hpp", ".h", ".inc", ".def"} or "testdata" in path.parts or "build" in path.parts:
                continue
            seen += 1
            complaints += complaints_about(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    if seen == 0:
        complaints.append(f"{root}: no C++ file found")
    return complaints


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        assert check(root), "an empty folder must not pass"
        (root / "src").mkdir()
        licence = "// SPDX-License-Identifier: Apache-2.0\n"

        def found(text):
            (root / "src" / "a.cpp").write_text(licence + text, encoding="utf-8")
            return len(check(root))
        assert found("// The size.\n// Of a page.\nint a;\n") == 0  # goes on with the sentence
        for word in ("What", "Of", "Where", "Those"):
            assert found(f"// {word} it is.\n") == 1, word
            assert found(f"int a;\n  /// {word} it is.\n") == 1, word
        assert found("// Offsets. Whatever.\n") == 0
        long = "int a;\n" * LONG
        assert found(long) == 1
        assert found("// The a's.\n" + long) == 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    complaints = check(pathlib.Path(sys.argv[1]))
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


sys.exit(main())
