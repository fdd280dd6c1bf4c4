# SPDX-License-Identifier: Apache-2.0
"""The drawings of docs/pictures that no measurement is behind: tools/pictures.py writes them."""
import colorsys
import html

from check_layers import BELOW

SPDX = "<!-- SPDX-License-Identifier: Apache-2.0 -->"
STYLE = ("text{font-family:system-ui,sans-serif;font-size:13px;fill:#24292f}.title{font-weight:600;font-size:15px}"
         ".head{font-weight:600}.note{font-size:12px;fill:#57606a}.mid{text-anchor:middle}.tiny{font-size:9px;fill:#1b1f24}"
         ".box{fill:#f6f8fa;stroke:#8c959f}.exact{fill:#dafbe1;stroke:#1a7f4b}.line{stroke:#8c959f;fill:none}"
         "@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.note{fill:#9da7b3}.tiny{fill:#1b1f24}"
         ".box{fill:#161b22;stroke:#57606a}.exact{fill:#12361f;stroke:#3fb97c}.line{stroke:#7d8590}}")


class Drawing:
    def __init__(self, width, height, about):
        self.width, self.height, self.about, self.parts = width, height, about, []

    def text(self, x, y, words, kind=""):
        self.parts.append(f"<text x='{x:g}' y='{y:g}' class='{kind}'>{html.escape(words)}</text>")

    def cell(self, x, y, size, words, colour):
        width, height = size
        self.parts.append(f"<rect x='{x:g}' y='{y:g}' width='{width}' height='{height}' fill='{colour}' stroke='#fff' stroke-width='.5'/>")
        self.text(x + width / 2, y + height - 5, words, "tiny mid")

    def box(self, x, y, width, height, lines, kind="box"):
        self.parts.append(f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='5' class='{kind}'/>")
        for i, line in enumerate(lines):
            at = y + height / 2 + 5 + 17 * (i - (len(lines) - 1) / 2)
            self.text(x + width / 2, at, line, "mid head" if i == 0 else "mid note")

    def line(self, *points, arrow=True):
        path = "M" + " L".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(f"<path d='{path}' class='line'{' marker-end=' + chr(39) + 'url(#end)' + chr(39) if arrow else ''}/>")

    def svg(self):
        end = ("<defs><marker id='end' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' orient='auto'>"
               "<path d='M0,0 L8,4 L0,8 z' fill='#8c959f'/></marker></defs>")
        return (f"{SPDX}\n<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' width='{self.width}' "
                f"height='{self.height}' role='img' aria-label='{html.escape(self.about, quote=True)}'>\n<style>{STYLE}</style>{end}"
                f"<rect class='paper' width='{self.width}' height='{self.height}' rx='8' fill='#fff'/>\n"
                + "\n".join(self.parts) + "\n</svg>\n")


def hue(part):
    """From blue to red, light enough for dark letters."""
    red, green, blue = colorsys.hls_to_rgb(0.62 * (1 - part), 0.78, 0.75)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


# Name, who reads it so, the place of the weight in field `field` (bits 7-6 are field 0) of byte `byte`.
I2S = [("x86-128", "bitnet.cpp on x86, and the files that Microsoft publishes", lambda byte, field: 32 * field + byte),
       ("arm-64", "bitnet.cpp on ARM", lambda byte, field: byte // 16 * 64 + 16 * field + byte % 16),
       ("sequential", "bitnet.cpp's plain C++", lambda byte, field: 4 * byte + field)]


def layouts():
    """Source: src/quant/i2s_layouts.cpp."""
    width, height, left, size = 800, 590, 76, (22, 19)
    drawing = Drawing(width, height, "Which weights share a byte in the four layouts of I2_S")
    drawing.text(20, 30, "I2_S, type 36: one number, four layouts", "title")
    drawing.text(20, 50, "Each column is a byte, the first 32 of a tensor from left to right; each cell is two bits and the weight "
                         "that they hold.", "note")
    top = 66
    for name, reader, place in I2S + [("row4", "bitnet.cpp with rows in fours", None)]:
        drawing.text(20, top + 18, name, "head")
        drawing.text(110, top + 18, reader, "note")
        for field in range(4):
            y = top + 26 + field * size[1]
            drawing.text(20, y + 14, f"bits {7 - 2 * field}-{6 - 2 * field}", "note")
            for byte in range(32):
                if place is None:
                    drawing.cell(left + byte * size[0], y, size, str(byte), hue(field / 3))
                else:
                    drawing.cell(left + byte * size[0], y, size, str(place(byte, field)), hue(place(byte, field) / 127))
        if place is None:
            drawing.text(110, top + 26 + 4 * size[1] + 17, "In row4 a byte holds one column of four rows: the number is the column, "
                                                           "the colour the row.", "note")
        top += 124
    return drawing.svg()


def levels():
    """The length of the longest way from each folder down to base."""
    level = {}

    def of(folder):
        if folder not in level:
            level[folder] = 1 + max((of(below) for below in BELOW[folder]), default=-1)
        return level[folder]

    for folder in BELOW:
        of(folder)
    return level


def house():
    level = levels()
    most = max(level.values())
    rows = [sorted(folder for folder in BELOW if level[folder] == k) for k in range(most + 1)]
    drawing = Drawing(780, 96 + 46 * (most + 1), "The layers of Bittern, the lowest one below")
    drawing.text(20, 30, "The house", "title")
    drawing.text(20, 50, "A folder includes only what lies below it; not all of that is allowed (tools/check_layers.py has the "
                         "list).", "note")
    for k, row in enumerate(rows):
        y = 66 + 46 * (most - k)
        each = min(200, (740 - 12 * (len(row) - 1)) / len(row))
        x = 20 + (740 - each * len(row) - 12 * (len(row) - 1)) / 2
        for folder in row:
            name = folder if folder not in ("cli", "mpi") else f"apps/{folder}"
            drawing.box(x, y, each, 34, [name], "exact" if folder in ("kernels", "model", "runtime") else "box")
            x += each + 12
    drawing.text(20, 84 + 46 * (most + 1), "Green: a token is computed here.", "note")
    return drawing.svg()


def token():
    drawing = Drawing(780, 520, "One token's way through the program")
    drawing.text(20, 30, "One token's way", "title")
    for x, lines in ((20, ["text", "\"A tern is\""]), (215, ["tokenizer", "ids"]), (410, ["embedding", "a row for each id"])):
        drawing.box(x, 50, 160, 50, lines)
    drawing.line((180, 75), (213, 75))
    drawing.line((375, 75), (408, 75))
    drawing.line((570, 75), (675, 75), (675, 129))
    drawing.box(20, 130, 740, 250, [], "box")
    drawing.text(36, 154, "each layer of BitNet b1.58", "head")
    drawing.text(250, 154, "numbers between the steps are floats; green is exact, in integers", "note")
    rows = ((172, [("norm", "to 8 bits"), ("q, k, v", "ternary products"), ("attention", "keys and values"),
                   ("norm, o", "ternary product"), ("+ input", "")]),
            (280, [("norm", "to 8 bits"), ("gate, up", "ternary products"), ("act(gate) * up", "zeros are skipped"),
                   ("norm, down", "ternary product"), ("+ input", "")]))
    for y, steps in rows:
        for i, (name, note) in enumerate(steps):
            drawing.box(36 + 144 * i, y, 124, 56, [name, note] if note else [name], "exact" if "ternary" in note else "box")
            if i:
                drawing.line((16 + 144 * i, y + 28), (34 + 144 * i, y + 28))
    drawing.line((674, 228), (674, 254), (98, 254), (98, 278))
    drawing.line((674, 336), (674, 408))
    for x, lines in ((595, ["norm, head", "a logit for each id"]), (400, ["sampler", "one id"]), (205, ["detokenizer", "whole characters"]),
                     (20, ["text", "\"a small slender gull\""])):
        drawing.box(x, 410, 160, 50, lines)
    for start, end in ((595, 562), (400, 367), (205, 182)):
        drawing.line((start, 435), (end, 435))
    drawing.line((480, 460), (480, 490), (772, 490), (772, 62), (572, 62))
    drawing.text(500, 508, "the next token begins with this id", "note")
    return drawing.svg()


def exactness():
    drawing = Drawing(780, 410, "Why the bits are the same everywhere")
    drawing.text(20, 30, "The same bits everywhere", "title")
    drawing.text(20, 60, "1. Products of ternary weights are integers. A sum of integers is the same in any order.", "head")
    for i, (code, value) in enumerate(zip((1, 0, -1, 1, -1, 0), (31, -7, 12, -90, 5, 127))):
        drawing.box(36 + 84 * i, 74, 72, 34, [f"{code:+d} x {value}" if code else f"0 x {value}"], "exact")
    drawing.line((540, 91), (573, 91))
    drawing.box(575, 74, 110, 34, ["-76"], "exact")
    drawing.text(20, 142, "2. Floats are summed in one written order: element i in lane i mod 16, then a tree of lanes.", "head")
    for k, count in enumerate((16, 8, 4, 2, 1)):
        y, step = 156 + 36 * k, 40
        for i in range(count):
            x = 36 + step * i
            drawing.box(x, y, 32, 20, [], "box")
            drawing.text(x + 16, y + 14, str(i), "note mid")
            if k:
                drawing.line((x + 16, y - 16), (x + 16, y - 1), arrow=False)
                drawing.line((x + step * count + 16, y - 16), (x + 16, y - 1), arrow=False)
        if k:
            drawing.text(690, y + 14, f"+{count}", "note")
    drawing.text(20, 352, "3. Threads share out whole results (rows, tokens, heads), never parts of one sum.", "head")
    drawing.text(36, 376, "So SSE4.1, AVX2, AVX-512 and NEON, one thread or eight, alone or in a batch, give the same logits.", "note")
    drawing.text(36, 396, "bittern certify prints their hash; docs/design/0001-numerics.md has the whole contract.", "note")
    return drawing.svg()


def drawings():
    """{name: picture}"""
    return {"i2s-layouts.svg": layouts(), "house.svg": house(), "token.svg": token(), "exactness.svg": exactness()}
