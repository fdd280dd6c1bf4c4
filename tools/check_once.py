#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what is built once stays so: the JSON library inside one file, escapes of JSON strings and percent
coding in one place each, fields of requests read by src/request and by the shapes of the server's APIs only.

    tools/check_once.py [--self-test] ROOT
"""
import pathlib
import re
import sys
import tempfile

# clang 14 and 15 cannot compile what libstdc++ 12 returns from these.
SUBRANGES = re.compile(r"ranges::(unique|remove(_if)?|(stable_)?partition|rotate|search(_n)?|equal_range|find_end|subrange)\b")

# (rule, pattern, folders where it is looked for, files and folders that may have it)
RULES = [
    ("the JSON library is used by src/base/json/json_parser.cpp only; use Json",
     re.compile(r"\bnlohmann\b"), ("src", "apps", "include", "node/addon"), ("src/base/json/json_parser.cpp",)),
    ("escapes of JSON strings are written by src/base/json/json_escape.cpp only",
     re.compile(r'\\\\u\{:04x\}'), ("src", "apps", "node/addon"),
     ("src/base/json/json_escape.cpp", "src/jinja/python_text.cpp")),
    ("percent coding is src/base/text/percent.cpp",
     re.compile(r'%\{:02X\}|%%%02X'), ("src", "apps"), ("src/base/text/percent.cpp",)),
    ("fields of requests are read by src/request and src/serve/api; chat settings and receipts use its readers",
     re.compile(r"\bFieldReader::Open\b"), ("src", "apps", "node/addon"),
     ("src/request", "src/serve/api", "src/proof/receipt", "src/runtime/chat", "apps/cli/chat/chat_settings.cpp")),
    ("options of the sampler are named by src/request/options/sampler_option_table.cpp, their ranges beside the options, and "
     "the order of the manual",
     re.compile(r'"(dry_multiplier|mirostat_eta|xtc_threshold|dynatemp_range)"'), ("src", "apps", "node/addon"),
     ("src/request", "src/runtime/sampling", "apps/cli/options/sampler_options.cpp")),
    ("no subranges of the standard library, which clang 14 cannot compile; SortOnce, or the algorithm without ranges",
     SUBRANGES, ("src", "apps", "node/addon"), ()),
    ("a list of one Json is an array for g++ and a copy for clang; Json::MakeArray",
     re.compile(r"\bJson \w+ = \{[^{},\"]+\};"), ("src", "apps", "node/addon"), ()),
]


def problems(root):
    for rule, pattern, folders, allowed in RULES:
        for folder in folders:
            for path in sorted((root / folder).rglob("*")):
                name = path.relative_to(root).as_posix()
                if path.suffix not in (".cpp", ".hpp", ".h") or "_test." in name or name.startswith(allowed):
                    continue
                for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                    if pattern.search(line):
                        yield f"{name}:{number}: {rule}"


def self_test():
    """Each rule is broken once."""
    lines = ["#include <nlohmann/json.hpp>", r'fmt::format("\\u{:04x}", c);', 'fmt::format("%{:02X}", c);',
             "auto fields = FieldReader::Open(body);",
             "const auto twice = std::ranges::unique(all);", "Json norms = {NormOf(row)};", 'if (key == "mirostat_eta") return 1;']
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "apps").mkdir()
        for line in lines:
            (root / "apps" / "x.cpp").write_text(line + "\n", encoding="utf-8")
            assert len(list(problems(root))) == 1, line
        (root / "apps" / "x.cpp").write_text("int x;\n", encoding="utf-8")
        assert not list(problems(root))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--self-test"]:
        self_test()
        sys.exit(0)
    found = list(problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
