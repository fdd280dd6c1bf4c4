#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every page that Bittern writes: `doctor --html` of a healthy and an ill file, `trace --html` alone and comparing,
`bench --html`. The files need nothing from elsewhere, and the JSON in them has what is to be shown; in headless Chromium,
where there is one, they are drawn light, dark and narrow: their colours, their text, their charts, no error of a script,
nothing that reaches over the edge, arrow keys that move among the fields of a trace.

usage: pages_test.py BITTERN MODEL [FOLDER_FOR_PICTURES]
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

BITTERN, MODEL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CHROMIUM = shutil.which("chromium")
PAPER = {"light": (0xfb, 0xfa, 0xf7), "dark": (0x14, 0x17, 0x1a)}
MOST_ROWS = 300
PAGES = ("healthy", "ill", "cut", "trace", "compare", "bench")
CHARTS = {"trace": 1, "compare": 1, "bench": 3}
# Moves in a trace from the first field to the right and down, from the last token to the one before, and back.
KEYS = """
const press = (element, key) => { element.focus(); element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); };
if (document.querySelector('.tokens')) {
  press(document.querySelector('td.cell[tabindex="0"]'), 'ArrowDown');
  press(document.querySelector('td.cell[tabindex="0"]'), 'ArrowRight');
  document.body.dataset.field = document.activeElement.title;
  press(document.querySelector('.tokens [aria-pressed=true]'), 'ArrowLeft');
  document.body.dataset.token = document.activeElement.title;
  press(document.querySelector('.tokens [aria-pressed=true]'), 'ArrowRight');
}"""
NASTY = "<script>alert(1)</script>&\"'\u202e"


def run(*arguments, expect=0):
    done = subprocess.run([BITTERN, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def pixels(path):
    """(width, height, channels, the first MOST_ROWS rows of bytes) of a PNG with 8 bits and 3 or 4 channels."""
    raw = open(path, "rb").read()
    at, data = 8, b""
    while at < len(raw):
        size, kind = struct.unpack_from(">I4s", raw, at)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack_from(">IIBB", raw, at + 8)
        if kind == b"IDAT":
            data += raw[at + 8:at + 8 + size]
        at += size + 12
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8
    data, rows, above = zlib.decompress(data), [], bytearray(width * channels)
    for y in range(min(height, MOST_ROWS)):  # a second for 300 of them
        start = y * (width * channels + 1)
        row = bytearray(data[start + 1:start + 1 + width * channels])
        unfilter(data[start], row, above, channels)
        rows.append(row)
        above = row
    return width, height, channels, rows


def unfilter(kind, row, above, channels):
    for i in range(len(row)):
        left = row[i - channels] if i >= channels else 0
        corner = above[i - channels] if i >= channels else 0
        if kind == 1:
            row[i] = row[i] + left & 255
        elif kind == 2:
            row[i] = row[i] + above[i] & 255
        elif kind == 3:
            row[i] = row[i] + (left + above[i]) // 2 & 255
        elif kind == 4:
            guess = left + above[i] - corner
            row[i] = row[i] + min((left, above[i], corner), key=lambda x: abs(guess - x)) & 255


def chromium(*arguments):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               "--user-data-dir=" + profile, "--enable-logging=stderr", *arguments],
                              capture_output=True, text=True, timeout=300)


def draw(name, page, folder, scheme, width):
    """The page's document after its scripts, whose picture is in `folder`."""
    picture = os.path.join(folder, f"{name}-{scheme}-{width}.png")
    done = chromium("--blink-settings=preferredColorScheme=%d" % (scheme == "light"), f"--window-size={width},900",
                    f"--screenshot={picture}", "--dump-dom", "file://" + page)
    assert os.path.exists(picture), done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    _, height, channels, rows = pixels(picture)
    assert tuple(rows[2][2 * channels:2 * channels + 3]) == PAPER[scheme], (name, scheme, rows[2][:8])
    colours = {bytes(row[i:i + 3]) for row in rows[::3] for i in range(0, len(row), 3 * channels)}
    assert len(colours) > 20 and height == 900, (name, scheme, len(colours))
    return done.stdout


def check_drawn(name, page, folder):
    """Light and wide, dark and as narrow as a window can be; every pair and a telephone's where somebody looks at the
    pictures. The text as it stands after scripts."""
    # Whether anything reaches over the edge, and what keys do.
    probe = "<script>document.title = 'over:' + (document.documentElement.scrollWidth > innerWidth);" + KEYS + "</script>"
    narrow = page.replace(".html", "-probe.html")
    text = open(page, encoding="utf-8").read().replace("</body>", probe + "</body>")
    open(narrow, "w", encoding="utf-8").write(text)
    draw(name, page, folder, "light", 1000)
    drawn = draw(name, narrow, folder, "dark", 500)
    assert "<title>over:false" in drawn, (name, drawn[:300])
    if len(sys.argv) > 3:
        for scheme, width in (("dark", 1000), ("light", 390), ("dark", 390)):
            draw(name, page, folder, scheme, width)
    return drawn


def check_alone(text):
    """Nothing is loaded from elsewhere."""
    for found in re.findall(r"""(?:src|href)=["']([^"']*)""", text):
        assert found.startswith(("data:", "#")), found
    assert "@import" not in text and not re.search(r"url\((?!data:)", text)


def data_of(text):
    """The report that a page holds."""
    return json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def all_texts(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from all_texts(one)


def check_charts(drawn, count):
    """So many charts stand in the document, with elements in them, and each number of theirs is one."""
    charts = re.findall(r"<svg.*?</svg>", drawn, re.S)
    assert len(charts) == count, (len(charts), count)
    for chart in charts:
        assert re.search("<(circle|rect|polyline)", chart), chart[:300]
        assert not re.search("NaN|Infinity|undefined|null", chart), chart


def check_data():
    """What the pages hold is what the commands found."""
    pages = {name: data_of(open(place(name + ".html"), encoding="utf-8").read()) for name in PAGES}
    said = json.loads(run("doctor", place("nasty.gguf"), "--like", MODEL, "--json", expect=10))
    shown = pages["ill"]
    for key in ("verdict", "summary", "findings", "undecided", "nats_before", "nats_after", "like"):
        assert shown[key] == said[key], (key, shown[key], said[key])
    assert shown["fixed"] == {"path": place("fixed.gguf"), "written": True, "proved": True}, shown["fixed"]
    for name in ("healthy", "ill"):
        scales = pages[name]["scales"]
        assert [one["layer"] for one in scales] == list(range(6)), scales
        assert all(len(one["kinds"]) == 7 and 0 < fact["scale"] < 1 and 0 < fact["zeros"] < 1
                   for one in scales for fact in one["kinds"].values()), scales
    assert "scales" not in pages["cut"] and pages["cut"]["findings"], pages["cut"]
    assert "curable" == shown["verdict"] and shown["advice"].startswith("bittern doctor "), shown["advice"]
    for name in ("trace", "compare"):
        shown = pages[name]
        assert len(shown["tokens"]) == 5 and shown["tokens"][-1] == " God", shown["tokens"]
        assert shown["layers"] == 6 and len(shown["lens"]) == 7 and len(shown["stream"]) == 5
        assert len(shown["steps"]) == len(shown["operations"]) >= 20
    assert pages["compare"]["first"] == {"layer": 0, "operation": "rope", "position": 1}, pages["compare"]["first"]
    assert pages["trace"]["first"] is None and not pages["trace"]["compared"] and pages["compare"]["compared"]
    assert [(one["test"], one["n_threads"]) for one in pages["bench"]["tests"]] == \
        [("pp8", 1), ("tg4", 1), ("pp8", 2), ("tg4", 2)]
    for one in pages["bench"]["tests"]:
        assert one["explain"]["read_bandwidth"] > 1e6 and one["roofline"]["multiply_adds_per_second"] > 0, one
        assert len(one["samples_ts"]) == 2 and one["price_per_million_tokens"] > 0, one
    for name, page in pages.items():
        made = page["made"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", made["date"]) and made["program"].startswith("bittern "), made
        assert re.fullmatch("[0-9a-f]{10}|", made["commit"]) and folder not in made["command"], made
    return pages


with tempfile.TemporaryDirectory() as folder:
    pictures = sys.argv[3] if len(sys.argv) > 3 else folder
    os.makedirs(pictures, exist_ok=True)

    def place(name):
        return os.path.join(folder, name)

    ill = place("ill.gguf")
    run("meta", "set", MODEL, "bitnet-b1.58.rope.freq_base", "float:1000000", "-o", ill)
    nasty = place("nasty.gguf")
    run("meta", "set", ill, "general.name", "str:" + NASTY, "-o", nasty)
    wanted = {}  # page: what its text must have once it is drawn
    run("doctor", MODEL, "--html", place("healthy.html"))
    wanted["healthy"] = ["healthy", "Nothing is wrong: this is kjv-5m, byte by byte.", "attn_output", "layer 5",
                        "guessing", "each is within twice the usual one", "bittern doctor kjv-5m-i2s.gguf --html healthy.html"]
    run("doctor", nasty, "--like", MODEL, "--fix", place("fixed.gguf"), "--html", place("ill.html"), expect=10)
    wanted["ill"] = ["curable", "The base of the rotation is wrong: 1000000 instead of 10000.", "with the cures",
                    "Read with the cure, the text is easier for the model", "Lower is better; guessing costs 8.3", "class=\"bar asis\"",
                    "The cures gain 0.", "Beside kjv-5m-i2s.gguf",
                    "1000000 here, 10000 there.", "All weights are those of the other file",
                    "fixed.gguf", "&lt;script&gt;alert(1)", "\\u{202e}"]
    cut = place("cut.gguf")
    open(cut, "wb").write(open(MODEL, "rb").read()[:2000000])
    run("doctor", cut, "--html", place("cut.html"), expect=11)
    wanted["cut"] = ["incurable", "A part of the file is missing"]
    run("trace", "-m", MODEL, "-p", "In the beginning God", "--html", place("trace.html"))
    wanted["trace"] = ["layer 5", "ffn_sub_norm", "aria-pressed=\"true\"", "<h1>kjv-5m-i2s.gguf</h1>", "\u201cIn the beginning God\u201d",
                       "the larger its numbers", "class=\"legend\"", "\u00b7God", "bittern trace -m kjv-5m-i2s.gguf -p 'In the",
                       "data-token=\"position 3\"", "data-field=\"layer 0, qkv_input, position 4: norm"]
    run("trace", "--compare", MODEL, ill, "-p", "In the beginning God", "--html", place("compare.html"), expect=4)
    wanted["compare"] = ["The first operation that differs is layer 0, rope", "class=\"cell first\"", "the same bits", "differs first",
                         "class=\"badge different\"", "<th class=\"first\">rope</th>", "<th class=\"first\">layer 0</th>"]
    run("bench", "-m", MODEL, "-p", "8", "-n", "4", "-r", "2", "-t", "1,2", "--cost", "0.3", "--html", place("bench.html"))
    wanted["bench"] = ["tokens/s written (tg4: 4 tokens one by one, ", "for a million tokens written, in the money of which an hour costs 0.3",
                       "To compare: BitNet b1.58 2B", "slowest", "5.78 million",
                       "bittern bench -m kjv-5m-i2s.gguf -p 8",
                       "Roofline", "memory ", "multiply-adds per byte read from memory", "Bytes read for one token",
                       "output head", "Threads", "speed, first thread count = 1", "a million costs",
                       "What would help", "Machine and model", "matrix kernel", "layout tile16"]
    if os.environ.get("BITTERN_TEST_SYSTEM") != "plain":  # a system that does not tell the size of its caches
        wanted["bench"].append("memory is no limit")
    assert sorted(wanted) == sorted(PAGES)

    said = json.loads(run("doctor", nasty, "--like", MODEL, "--json", expect=10))["like"]
    assert said["equal"] == said["tensors"] == 68 and not said["unlike"], said
    assert [one["name"] for one in said["unlike_keys"]] == ["*.rope.freq_base", "general.name"], said
    run("doctor", MODEL, "--like", place("none.gguf"), expect=2)
    run("doctor", MODEL, "--html", MODEL, expect=1)
    assert open(MODEL, "rb").read(4) == b"GGUF"

    pages = check_data()
    for name, parts in wanted.items():
        text = open(place(name + ".html"), encoding="utf-8").read()
        check_alone(text)
        assert text.count("<script") == 2 and "alert(1)</script>" not in text, name
        if CHROMIUM:
            drawn = check_drawn(name, place(name + ".html"), pictures)
            drawn = re.sub(r"<(script|style).*?</\1>", "", drawn, flags=re.S)
            assert "\u202e" not in drawn, name
            for part in parts:
                assert part in drawn, (name, part)
            if name == "bench":  # advice stands under the figures, the folder of the file nowhere
                assert drawn.index("What would help") < drawn.index("Roofline") and MODEL not in drawn
            check_charts(drawn, CHARTS.get(name, 0))
    assert any(NASTY[:25] in text for text in all_texts(pages["ill"]))
    print("ok" if CHROMIUM else "ok (SKIPPED drawing: no chromium)")
