#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables that pages take from the program: its known models, and the flags and first words of other programs.

usage: pages.py BITTERN [--check]

A table stands between "<!-- NAME -->" and "<!-- end -->". With --check nothing is written; a page that differs is named,
and the exit code is 1.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPTIONS = ROOT / "apps/cli/options"
TOKEN = re.compile(r'//[^\n]*|"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*(?:::\w+)*)|([{},;=()<>\[\]*&.#+-])|\s+')


def tokens(source):
    """[("text" | "name" | "sign", value)] of C++ source, without comments."""
    found, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if match is None:
            at += 1
            continue
        at = match.end()
        text, name, sign = match.groups()
        if text is not None:
            text = text.replace('\\"', '"').replace("\\\\", "\\")
            if found and found[-1][0] == "text":
                text = found.pop()[1] + text
            found.append(("text", text))
        elif name is not None:
            found.append(("name", name))
        elif sign is not None:
            found.append(("sign", sign))
    return found


def rows(path, table):
    """The rows of a table of structs: lists of texts, constants replaced by what they stand for."""
    source = path.read_text(encoding="utf-8")
    constants = {name: tokens(value)[0][1] for name, value in
                 re.findall(r'constexpr std::string_view (k\w+) =\s*((?:"(?:[^"\\]|\\.)*"\s*)+);', source)}
    found, row = [], None
    for kind, value in tokens(source[source.index(table):]):
        if (kind, value) == ("sign", "{"):
            row = []
        elif (kind, value) == ("sign", "}"):
            if row:
                found.append(row)
            row = None
        elif (kind, value) == ("sign", ";"):
            break
        elif row is not None and kind == "text":
            row.append(value)
        elif row is not None and kind == "name":
            row.append(constants.get(value, value))
    return found


def cell(text):
    return text.replace("|", "\\|")


def codes(words):
    return ", ".join(f"`{word}`" for word in words.split())


def table(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header),
                      *("| " + " | ".join(line) + " |" for line in lines)])


def known(bittern, which="models"):
    return json.loads(subprocess.run([bittern, "models", "--known", "--json"], capture_output=True, check=True).stdout)[which]


def size(model):
    return f'{model["bytes"] / 1e9:.1f} GB' if "bytes" in model else ""


def models(bittern):
    return table(["name", "repository", "download", "licence", "tried", "chat template", "to know"],
                 [[f'`{m["name"]}`', f'`{m["repo"]}`', size(m), m.get("licence", ""), m["tried"], m["template"], m.get("note", "")]
                  for m in known(bittern)])


def others(bittern):
    return table(["repository", "formats", "licence", "runs"],
                 [[f'`{m["repo"]}`', m["formats"], m.get("licence", ""), m["runs"]] for m in known(bittern, "others")])


def models_short(bittern):
    return table(["name", "model", "download"],
                 [[f'`{m["name"]}`', m["repo"], size(m)] for m in known(bittern) if "bytes" in m])


def flags(_):
    lines = []
    for names, kind, _value, *rest in rows(OPTIONS / "foreign_flags.cpp", "kFlags ="):
        commands, sentence, harmless = (rest + ["", "", ""])[:3]
        answer = sentence
        if kind == "kIgnored":
            answer = "taken and ignored" + (f": {sentence}" if sentence else "")
        if harmless:
            answer += f" (ignored with {codes(harmless)})"
        lines.append([codes(names), codes(commands) or "all that run a model", cell(answer)])
    return table(["flag", "of", "here"], lines)


def words(_):
    lines = []
    for names, command, sentence in rows(OPTIONS / "first_words.cpp", "kWords[] ="):
        lines.append([codes(names), f"read as `bittern {command}`" if command else cell(sentence)])
    return table(["word", "here"], lines)


PAGES = {"README.md": {"models": models_short}, "docs/models.md": {"models": models, "others": others},
         "docs/from-llama.cpp.md": {"flags": flags, "words": words}}


def main():
    check = "--check" in sys.argv
    bittern = [word for word in sys.argv[1:] if word != "--check"][0]
    stale = []
    for page, parts in PAGES.items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        for name, make in parts.items():
            made = f"<!-- {name} -->\n{make(bittern)}\n<!-- end -->"
            text, times = re.subn(rf"<!-- {name} -->\n.*?<!-- end -->", lambda _, made=made: made, text, flags=re.DOTALL)
            assert times == 1, f"{page}: one <!-- {name} --> expected, {times} found"
        if text == path.read_text(encoding="utf-8"):
            continue
        stale.append(page)
        if not check:
            path.write_text(text, encoding="utf-8")
    for page in stale:
        print(f"{page}: {'is not what tools/pages.py writes' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
