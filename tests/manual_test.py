#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/cli.md with the program: flags, defaults and exit codes must be the same in both, and
every --help has an example.

usage: manual_test.py BITTERN MANUAL
"""
import re
import subprocess
import sys

BITTERN, MANUAL = sys.argv[1:3]
FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")
problems = []


def help_of(*command):
    return subprocess.run([BITTERN, *command, "--help"], capture_output=True, text=True, check=True).stdout


def rows(text, group=None):
    """The rows of a help text, joined: [(names, text)]."""
    found = []
    for line in text.splitlines():
        if re.match(r"  \S", line):
            found.append(line.strip())
        elif line.startswith("   ") and found:
            found[-1] += "  " + line.strip()
        elif not line.strip() or not line.startswith(" "):
            found.append("")
    return [row for row in found if row]


def flags_in_help(text):
    """{flag: default or None} of a help text."""
    flags = {}
    for row in rows(text):
        if not row.startswith("-"):
            continue
        names = row.split("  ")[0]
        default = re.search(r"\(default:\s+([^)]*)\)", row)
        for flag in FLAG.findall(re.sub(r" [A-Z|].*", "", names)):
            flags[flag] = re.sub(r"\s+", " ", default[1]) if default else None
    return flags


def commands():
    text = help_of()
    return [row.split()[0] for row in rows(text[: text.index("\nCommon flags:")])]


def sections(text):
    parts = re.split(r"(?m)^## (.*)$", text)
    return dict(zip(parts[1::2], parts[2::2]))


def table_rows(text):
    """[(flags, default or None)] of the tables whose first column holds flags."""
    header, found = [], []
    for line in text.splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            header = []
        elif not header:
            header = cells
        elif cells[0].startswith("`-"):
            flags = []
            for quoted in re.findall(r"`([^`]*)`", cells[0]):
                names = re.sub(r" [A-Za-z\\].*", "", re.sub(r", (?=-)", ",", quoted))
                flags += FLAG.findall(names)
            found.append((flags, cells[1] if "default" in header else None))
    return found


def same_default(manual, program):
    manual, program = (re.split(r"[:, ]", text.replace("`", ""))[0] for text in (manual, program))
    try:
        return float(manual) == float(program)
    except ValueError:
        return manual == program


def main():
    manual = open(MANUAL, encoding="utf-8").read()
    by_title = sections(manual)
    shared = by_title["Flags that commands share"]
    programs = {name: flags_in_help(help_of(name)) for name in commands()}
    for action in ("ls", "get", "set", "rm"):
        programs["meta"].update(flags_in_help(help_of("meta", action)))
    for action in ("rm", "du"):
        programs["models"].update(flags_in_help(help_of("models", action)))
    own = {}
    for name in programs:
        if "Example" not in help_of(name):
            problems.append(f"{name} --help has no example")
        if not {"--quiet", "--log-disable"} <= programs[name].keys():
            problems.append(f"{name} does not take --quiet")
        titles = [title for title in by_title if re.search(rf"\b{name}\b", title)]
        if len(titles) != 1:
            problems.append(f"{name} has no section of its own")
            continue
        text = by_title[titles[0]] + shared + (by_title["run"] if name in ("chat", "batch", "serve") else "")
        named = set(FLAG.findall(" ".join(re.findall(r"`([^`]*)`|^ *(?:bittern .*)$", text))))
        named |= set(FLAG.findall("\n".join(l for l in text.splitlines() if l.startswith("bittern "))))
        for flag in programs[name]:
            if flag not in named and flag not in ("-h", "--help"):
                problems.append(f"{name}: {flag} is not in the manual")
        own[name] = {flag for flags, _ in table_rows(by_title[titles[0]]) for flag in flags}
        both = " and " in titles[0]
        for flags, default in table_rows(by_title[titles[0]]):
            for flag in flags:
                if flag not in programs[name]:
                    if not both:
                        problems.append(f"{name}: the manual has {flag}, the program has not")
                elif default and programs[name][flag] and not same_default(default, programs[name][flag]):
                    problems.append(f"{name}: {flag}: {default} in the manual, {programs[name][flag]} in the program")
    for flags, default in table_rows(shared):
        for flag in flags:
            here = [name for name in programs if flag in programs[name]]
            if not here:
                problems.append(f"the manual has {flag}, no command has")
            for name in here:
                if flag in own.get(name, ()):  # a flag of that name with a meaning of its own
                    continue
                value = programs[name][flag]
                if default and value and name != "bench" and not same_default(default, value):
                    problems.append(f"{name}: {flag}: {default} in the manual, {value} in the program")
    codes = re.findall(r"(?m)^\| (\d+) \|", by_title["Exit codes"])
    text = help_of()
    if codes != re.findall(r"(?m)^  (\d+) ", text[text.index("Exit codes:"):]):
        problems.append(f"exit codes: {codes} in the manual")
    for problem in problems:
        print("FAILED:", problem)
    print(f"{sum(map(len, programs.values()))} flags of {len(programs)} commands, {len(problems)} problems")
    return 1 if problems or len(programs) < 9 else 0


sys.exit(main())
