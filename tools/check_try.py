#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that BITTERN_TRY is never a part of a larger expression.

It returns from the middle of an expression. What the same expression has made by then, a member of
an aggregate or a temporary argument, is not destroyed by g++ 12: it leaks. So the macro stands as a
statement, after `=`, or as the only argument of a call, a condition or a cast.

    tools/check_try.py src apps
"""
import pathlib
import re
import sys

CALL = re.compile(r"\bBITTERN_TRY\(")
BLOCK = re.compile(r"(\)|:|\belse|\bdo|\btry|\bconst|\bnoexcept|\boverride|\bmutable|->\s*[\w:<>,\s*&]+)\s*$")
FIRST = re.compile(r"[\w\s:<>*&=!]*")  # a condition's beginning, or nothing


def without_comments(text):
    blank = lambda m: re.sub(r"[^\n]", " ", m.group())
    text = re.sub(r"//[^\n]*", blank, text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', lambda m: '"' + "_" * (len(m.group()) - 2) + '"', text)


def enclosing(text, at):
    """(bracket, its index) that `at` is directly inside of, in the same statement; or None."""
    depth = 0
    for i in range(at - 1, -1, -1):
        c = text[i]
        if c in ")]" or (c == "}" and depth):
            depth += 1
        elif c == "}":
            return None
        elif c in "([{":
            if depth:
                depth -= 1
            elif c == "{" and BLOCK.search(text[:i][-200:]):
                return None
            else:
                return c, i
        elif c == ";" and not depth:
            return None
    return None


def end_of_call(text, at):
    depth = 0
    for i in range(text.index("(", at), len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    return len(text)


def has_comma(text, at):
    """Whether another argument follows in the same bracket."""
    depth = 0
    for c in text[at:]:
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if not depth:
                return False
            depth -= 1
        elif c in ",;" and not depth:
            return c == ","
    return False


def problems(text):
    text = without_comments(text)
    for match in CALL.finditer(text):
        at = match.start()
        if text[:at].endswith("#define "):
            continue
        outer = enclosing(text, at)
        if outer is None:
            continue
        bracket, start = outer
        alone = FIRST.fullmatch(text[start + 1:at]) and not has_comma(text, end_of_call(text, at))
        if bracket != "(" or not alone or enclosing(text, start) is not None:
            yield text.count("\n", 0, at) + 1


SELF_TEST = {
    "void f() { auto a = BITTERN_TRY(g(1, 2)); }": 0,
    "void f() { BITTERN_TRY(g()); v.push_back(BITTERN_TRY(g())); }": 0,
    "void f() { if (BITTERN_TRY(g())) { x = BITTERN_TRY(g()); } }": 0,
    "auto f = [&](int i) -> Result<void> { BITTERN_TRY(g(i)); };": 0,
    "void f() { if (!BITTERN_TRY(g()).value_or(false)) return {}; }": 0,
    "void f() { for (auto* x : BITTERN_TRY(g())) { switch (1) { case 2: { a = BITTERN_TRY(g()); } } } }": 0,
    "void f() { h(BITTERN_TRY(g()), std::string(\"a\")); }": 1,
    "void f() { P p{1, BITTERN_TRY(g())}; }": 1,
    "void f() { P p{.a = BITTERN_TRY(g())}; }": 1,
    "void f() { v.push_back({a, BITTERN_TRY(g())}); }": 1,
    "void f() { h(std::string(\"a;\"), BITTERN_TRY(g())); }": 1,
    "void f() { auto x = h(a)(BITTERN_TRY(g()), 2); }": 1,
}


def main():
    for text, wanted in SELF_TEST.items():
        if len(list(problems(text))) != wanted:
            raise SystemExit("check_try.py is broken: " + text)
    found = 0
    for root in sys.argv[1:]:
        for path in sorted(p for e in ("cpp", "hpp") for p in pathlib.Path(root).rglob("*." + e)):
            for line in problems(path.read_text(encoding="utf-8")):
                print("%s:%d: BITTERN_TRY inside a larger expression; give its value a name first"
                      % (path, line))
                found += 1
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
