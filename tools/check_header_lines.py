#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: check_header_lines.py ROOT | --self-test | --list ROOT

Keeps our headers cheap to include. A header of src/ or apps/ brings at most MAX_LINES lines of our
own headers with it, itself included: the #include "..." are followed as text, each file counts once.
Library headers that take seconds to read stand in sources only. --list prints the dearest headers.
Fails if it sees no header at all, so that a wrong ROOT cannot pass.
"""
import pathlib
import re
import sys
import tempfile

MAX_LINES = 4250  # a little above the dearest header: the limit may only shrink
# Headers that may be dearer, with limits of their own. The list and its limits may only shrink.
EXCEPTIONS = {
}
# Library headers that no header of ours includes, and the headers that do so yet.
DEAR = re.compile(r'^\s*#\s*include\s+[<"]((?:nlohmann/json|CLI/CLI)\.hpp)[>"]', re.M)
MAY_INCLUDE_DEAR = {
}
ROOTS = ("src", "apps")
SEARCHED = ("src", "apps", "include")  # where #include "..." looks, after the file's own folder
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


class Headers:
    """The files below ROOT, read once each."""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        self.closures = {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = path.read_text(encoding="utf-8")
        return self.texts[path]

    def find(self, name, includer):
        """The file that an #include means; None for a library's."""
        for folder in (includer.parent, *(self.root / top for top in SEARCHED)):
            path = folder / name
            if path.is_file():
                return path.resolve()
        return None

    def included(self, path):
        """The files that this one brings, itself among them."""
        if path not in self.closures:
            seen, left = {path}, [path]
            while left:
                current = left.pop()
                for name in INCLUDE.findall(self.text(current)):
                    found = self.find(name, current)
                    if found is not None and found not in seen:
                        seen.add(found)
                        left.append(found)
            self.closures[path] = seen
        return self.closures[path]

    def lines(self, path):
        return sum(len(self.text(file).splitlines()) for file in self.included(path))

    def all(self):
        """(name, path) of each header, in order."""
        for top in ROOTS:
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in {".hpp", ".h"} and path.is_file():
                    yield path.relative_to(self.root).as_posix(), path.resolve()


def check(root, limit=MAX_LINES, exceptions=None, may_include_dear=None):
    exceptions = EXCEPTIONS if exceptions is None else exceptions
    may_include_dear = MAY_INCLUDE_DEAR if may_include_dear is None else may_include_dear
    headers = Headers(root)
    complaints, names = [], set()
    for name, path in headers.all():
        names.add(name)
        lines, allowed = headers.lines(path), exceptions.get(name, limit)
        if lines > allowed:
            complaints.append(f"{name}: brings {lines} lines of our headers; {allowed} at most: "
                              "declare classes in advance, or split a header")
        if name in exceptions and lines <= limit:
            complaints.append(f"{name}: {lines} lines: no exception any more, take it off the list")
        dear = DEAR.search(headers.text(path))
        if dear and name not in may_include_dear:
            complaints.append(f"{name}: <{dear[1]}> belongs in sources")
        if not dear and name in may_include_dear:
            complaints.append(f"{name}: no exception any more, take it off the list")
    for name in sorted({*exceptions, *may_include_dear} - names):
        complaints.append(f"{name}: on a list of exceptions, but no such header")
    if not names:
        complaints.append(f"{root}: no headers seen: wrong folder?")
    return complaints


SELF_TESTS = [  # files, exceptions, headers with dear includes, what the complaint must contain
    ({"src/a/a.hpp": "\n" * 10}, {}, set(), ""),
    ({"src/a/a.hpp": "\n" * 11}, {}, set(), "a.hpp: brings 11 lines"),
    ({"src/a/a.hpp": "\n" * 11}, {"src/a/a.hpp": 11}, set(), ""),
    ({"src/a/a.hpp": "\n" * 12}, {"src/a/a.hpp": 11}, set(), "brings 12 lines"),
    ({"src/a/a.hpp": "\n" * 9}, {"src/a/a.hpp": 11}, set(), "no exception any more"),
    ({"src/a/a.hpp": "\n"}, {"src/a/b.hpp": 11}, set(), "no such header"),
    # Two ways to one file count it once; a circle ends.
    ({"src/a/a.hpp": '#include "a/b.hpp"\n#include "a/c.hpp"\n', "src/a/b.hpp": '#include "a/c.hpp"\n',
      "src/a/c.hpp": '#include "a/a.hpp"\n' + "\n" * 6}, {}, set(), ""),
    ({"src/a/a.hpp": '#include "a/b.h"\n', "src/a/b.h": '#include "near.inc"\n',
      "src/a/near.inc": "\n" * 9}, {}, set(), "a.hpp: brings 11 lines"),
    ({"src/a/a.cpp": "\n" * 20, "src/a/a.hpp": "\n", "apps/b/b.hpp": '#include "a/a.hpp"\n'}, {},
     set(), ""),
    ({"apps/b/b.hpp": "#include <CLI/CLI.hpp>\n"}, {}, set(), "<CLI/CLI.hpp> belongs in sources"),
    ({"apps/b/b.hpp": "#  include <nlohmann/json.hpp>\n"}, {}, set(), "<nlohmann/json.hpp> belongs"),
    ({"apps/b/b.hpp": "#include <nlohmann/json_fwd.hpp>\n"}, {}, set(), ""),
    ({"apps/b/b.hpp": "#include <CLI/CLI.hpp>\n"}, {}, {"apps/b/b.hpp"}, ""),
    ({"apps/b/b.hpp": "\n"}, {}, {"apps/b/b.hpp"}, "no exception any more"),
    ({"apps/b/b.cpp": "#include <CLI/CLI.hpp>\n"}, {}, set(), "wrong folder"),
]


def self_test():
    failures = []
    for files, exceptions, dear, expected in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            complaints = check(root, 10, exceptions, dear)
        good = (not complaints) if not expected else (
            len(complaints) == 1 and expected in complaints[0])
        if not good:
            failures.append(f"{sorted(files)}: expected '{expected}', got {complaints}")
    return failures


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--list":
        headers = Headers(pathlib.Path(sys.argv[2]))
        dearest = sorted(((headers.lines(path), name) for name, path in headers.all()), reverse=True)
        print(*(f"{lines:6} {name}" for lines, name in dearest[:40]), sep="\n")
        return 0
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    problems = self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1]))
    if problems:
        print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
