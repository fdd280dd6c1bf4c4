#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/*.svg: bars from the tables of docs/performance.md, terminals from transcripts, and drawings.py.

usage: pictures.py [--check]

With --check nothing is written; a picture that differs is named, and the exit code is 1. tests/docs_test.py runs the
transcripts (docs/pictures/*.txt), so the terminals show what the program says.
"""
import html
import pathlib
import re
import sys

from drawings import drawings

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/pictures"
SPDX = "<!-- SPDX-License-Identifier: Apache-2.0 -->"
FONT = "font-family='system-ui, sans-serif'"
# Rows of the table "Zen 4": the beginning of the first cell, what stands at the bar.
ROWS = {
    "writes, tokens per second": [("decode tg128, greedy; bitnet.cpp, I2_S", "bitnet.cpp, same file"),
                                  ("decode tg128; ik_llama.cpp, IQ2_BN_R4, F16 head", "ik_llama.cpp, IQ2_BN_R4"),
                                  ("decode tg128; llama.cpp, TQ2_0", "llama.cpp, TQ2_0 *")],
    "reads, tokens per second": [("prefill pp512; bitnet.cpp", "bitnet.cpp, same file"),
                                 ("prefill pp512; ik_llama.cpp", "ik_llama.cpp, IQ2_BN_R4"),
                                 ("prefill pp512; llama.cpp", "llama.cpp, TQ2_0 *")],
}


def measured():
    """{row's first cell: (ours, the peer's)} of the section "Zen 4", two threads."""
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    found = {}
    for line in page[page.index("## Zen 4"):].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[1] == "2":
            found.setdefault(cells[0], (float(cells[2].split()[0]), float(cells[3].split()[0])))
    return found


def figures(start, table):
    found = [value for name, value in table.items() if name.startswith(start)]
    assert len(found) == 1, f"one row of docs/performance.md begins with {start!r}, {len(found)} found"
    return found[0]


def bars():
    table, parts, y = measured(), [], 58
    parts.append("<text x='20' y='30' class='title'>BitNet b1.58 2B-4T (its shape, random weights), 2 cores, Zen 4 at 3.3 GHz</text>")
    for title, rows in ROWS.items():
        ours = figures(rows[0][0], table)[0]
        lines = [("Bittern", ours)] + [(name, figures(start, table)[1]) for start, name in rows]
        parts.append(f"<text x='20' y='{y}' class='group'>{title}</text>")
        for name, value in lines:
            y += 24
            length = 400 * value / ours
            kind = "ours" if name == "Bittern" else "theirs"
            parts.append(f"<text x='190' y='{y + 4}' class='name'>{name}</text>"
                         f"<rect x='200' y='{y - 9}' width='{length:.0f}' height='17' rx='2' class='{kind}'/>"
                         f"<text x='{208 + length:.0f}' y='{y + 4}' class='value'>{value:g}</text>")
        y += 38
    parts.append(f"<text x='20' y='{y - 4}' class='note'>bittern bench -m M -t 2 -p 0 -n 128 (writes), -p 512 -n 0 (reads), and "
                 "llama-bench in turn; medians of 5 and 4 rounds.</text>"
                 f"<text x='20' y='{y + 13}' class='note'>* runs these weights as another network (SiLU): only its speed means "
                 "something. Source: docs/performance.md, Zen 4.</text>")
    style = ("text{fill:#24292f;font-size:13px}.title{font-weight:600;font-size:15px}.group{font-weight:600}"
             ".name{text-anchor:end}.note{font-size:11px;fill:#57606a}.ours{fill:#1a7f4b}.theirs{fill:#a8b1bb}"
             "@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.note{fill:#9da7b3}"
             ".ours{fill:#3fb97c}.theirs{fill:#57606a}}")
    height = y + 26
    return (f"{SPDX}\n<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 680 {height}' width='680' height='{height}' {FONT} "
            "role='img' aria-label='Bars: tokens per second of Bittern and of three other programs'>\n"
            f"<style>{style}</style><rect class='paper' width='680' height='{height}' rx='8' fill='#fff'/>\n" + "\n".join(parts)
            + "\n</svg>\n")


def wrapped(line, width=92):
    """Long lines as a terminal breaks them."""
    return [line[at:at + width] for at in range(0, len(line), width)] or [""]


def terminal(transcript):
    lines = [part for line in transcript.splitlines() for part in wrapped(line)]
    parts, height = [], 56 + 18 * len(lines)
    typed = False
    for i, line in enumerate(lines):
        typed = line.startswith(("$ ", "> "))
        parts.append(f"<text x='20' y='{58 + 18 * i}' class='{'typed' if typed else 'said'}' xml:space='preserve'>"
                     f"{html.escape(line)}</text>")
    dots = "".join(f"<circle cx='{22 + 18 * i}' cy='20' r='5' fill='{colour}'/>"
                   for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")))
    style = "text{font:13px ui-monospace,monospace}.typed{fill:#7ee787}.said{fill:#e6edf3}"
    return (f"{SPDX}\n<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 780 {height}' width='780' height='{height}' role='img' "
            f"aria-label='A terminal: the transcript beside this file'>\n<style>{style}</style>"
            f"<rect width='780' height='{height}' rx='8' fill='#0d1117'/>{dots}\n" + "\n".join(parts) + "\n</svg>\n")


def main():
    check, stale = "--check" in sys.argv, []
    drawn = {PICTURES / "speed.svg": bars()} | {PICTURES / name: picture for name, picture in drawings().items()}
    for transcript in sorted(PICTURES.glob("*.txt")):
        _licence, _, text = transcript.read_text(encoding="utf-8").partition("\n")
        drawn[transcript.with_suffix(".svg")] = terminal(text)
    for path, picture in drawn.items():
        if path.exists() and path.read_text(encoding="utf-8") == picture:
            continue
        stale.append(path.name)
        if not check:
            path.write_text(picture, encoding="utf-8")
    for name in stale:
        print(f"docs/pictures/{name}: {'is not what tools/pictures.py draws' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
