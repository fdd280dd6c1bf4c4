#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the pages show: each block ```console of README.md and docs/ in a folder with a few models and a hub of our own,
line by line as it stands there. A line "..." of the expected output stands for any lines, "..." in a line for any text.
Tables and pictures that are made must be what their tools make; links must lead somewhere; the index must be whole.

usage: docs_test.py BITTERN MODEL
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "hub"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from drawings import I2S  # noqa: E402
from hub_case import BITTERN, HubTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BITNET = "microsoft/bitnet-b1.58-2B-4T-gguf"


def read(path):
    return path.read_text(encoding="utf-8")


def blocks(page):
    """[[(command, expected lines)]] of the page's ```console blocks."""
    found = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", read(page)):
        steps = []
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        found.append(steps)
    return found


def agrees(expected, found):
    """True if the lines of `found` are those of `expected`, whose "..." stand for anything."""
    parts = []
    for line in expected:
        parts.append("(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n")
    return re.fullmatch("".join(parts), "".join(line + "\n" for line in found)) is not None


class Pages(HubTest):
    def setUp(self):
        super().setUp()
        self.hub.add(BITNET, {"ggml-model-i2_s.gguf": self.model})
        for name, model in (("pocket.gguf", "pocket-3-i2s.gguf"), ("kjv.gguf", "kjv-5m-i2s.gguf")):
            shutil.copy(ROOT / "models" / model, self.folder / name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "bittern").symlink_to(BITTERN)
        (self.folder / "bittern").symlink_to(BITTERN)

    def shell(self, commands, timeout=400):
        """The lines that each command prints, errors among them."""
        mark = "--- the next command ---"
        script = "exec 2>&1\n" + "".join(f"{command}\necho '{mark}'\n" for command in commands)
        env = self.env()
        env["PATH"] = f"{self.folder}/bin:{env['PATH']}"
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, timeout=timeout,
                              stdout=subprocess.PIPE, text=True, errors="replace")
        return [part.strip("\n").split("\n") for part in done.stdout.split(mark)[:-1]]

    def make_garbage(self, model):
        """That model with its weights in the order of ARM and a key that says otherwise."""
        self.shell([f"bittern convert {model} arm.gguf --to i2_s:arm-64",
                    "bittern meta set arm.gguf ternary.layout str:x86-128 -o garbage.gguf"])
        self.assertTrue((self.folder / "garbage.gguf").exists())

    def hold(self, steps):
        for (command, expected), found in zip(steps, self.shell([command for command, _ in steps]), strict=True):
            found = found if found != [""] else []
            with self.subTest(command):
                self.assertTrue(agrees(expected, found), "expected\n" + "\n".join(expected) + "\nfound\n" + "\n".join(found))

    def test_commands(self):
        ran = 0
        for page in PAGES:
            steps = [step for block in blocks(page) for step in block]
            if any("garbage.gguf" in command for command, _ in steps):
                self.make_garbage("kjv.gguf")
            ran += len(steps)
            with self.subTest(page.name):
                self.hold(steps)
        self.assertGreater(ran, 30)

    def test_terminals(self):
        """The pictures of terminals show what comes; what is left out stands at the end of a command's output."""
        self.make_garbage("pocket.gguf")
        for transcript in sorted((DOCS / "pictures").glob("*.txt")):
            steps = []
            for line in read(transcript).splitlines()[1:]:  # behind the licence
                if line.startswith("$ "):
                    steps.append((line[2:], []))
                else:
                    steps[-1][1].append(line)
            self.hold([(command, [*expected, "..."]) for command, expected in steps])

    def test_the_first_screen(self):
        """The README's commands of a real model, word for word, once it is here."""
        block = re.search(r"(?ms)^## A real model\n+```\n(.*?)^```", read(ROOT / "README.md"))[1]
        commands = [line.split("  #")[0].rstrip() for line in block.splitlines()]
        self.assertEqual([line.split()[1] for line in commands], ["chat", "run", "serve"])
        self.pull("bitnet-2b")
        talk, run, serve = commands
        said = self.shell([f"echo hello | {talk} -n 4", f"{run} -n 4",
                           f"({serve} --port 0 & pid=$!; sleep 4; kill $pid; wait) | grep ready"])
        self.assertIn("The capital of France is", "\n".join(said[1]))
        self.assertIn("ready", "\n".join(said[2]))
        self.assertNotIn("error", "\n".join(map(str, said[:2])))


class Whole(HubTest):
    def test_made_parts(self):
        for tool in (["tools/pages.py", BITTERN], ["tools/pictures.py"]):
            done = subprocess.run([sys.executable, ROOT / tool[0], *tool[1:], "--check"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_drawing_of_i2s(self):
        """The codes that the program reads under each layout are at the places that the drawing names."""
        name, first, model = "blk.0.ffn_gate.weight", 128, ROOT / "models" / "kjv-5m-i2s.gguf"
        shown = json.loads(self.run_bittern("inspect", model, "--tensors", "--json").stdout)
        tensor = next(tensor for tensor in shown["tensors"] if tensor["name"] == name)
        data = model.read_bytes()[tensor["offset"]:]
        columns = tensor["shape"][0]
        places = {layout: place for layout, _, place in I2S}
        for layout, place in (*places.items(), ("row4", None)):
            found = json.loads(self.run_bittern("inspect", model, "--tensor", name, "--head", str(first), "--i2s-layout", layout,
                                                "--json").stdout)["codes"]
            self.assertEqual(len(found), first)
            held = {}
            for byte in range(columns if place is None else first // 4):
                for field in range(4):
                    weight = field * columns + byte if place is None else place(byte, field)
                    held[weight] = (data[byte] >> (6 - 2 * field) & 3) - 1
            self.assertEqual([held[weight] for weight in range(first)], found, layout)

    def test_the_figure_of_the_bench_page(self):
        """The figure that the page of `bench` compares with is the one of performance.md."""
        told = re.search(r"writes ([\d.]+) tokens/s and reads (\d+)", read(ROOT / "src" / "report" / "page" / "bench.js"))
        page = read(DOCS / "performance.md")
        for figure in told.groups():
            self.assertRegex(page, rf"\| 2 \| {re.escape(figure)}(?: tok/s)? \|")

    def test_links(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?s)```.*?```|`[^`\n]*`", "", read(page))):
                path, _, anchor = target.partition("#")
                if "://" in path or path.startswith("mailto:"):
                    continue
                there = (page.parent / path) if path else page
                self.assertTrue(there.exists(), f"{page.name}: {target}")
                if anchor and there.suffix == ".md":
                    titles = re.findall(r"(?m)^#+ +(.*?)\s*$", read(there))
                    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
                    self.assertIn(anchor, anchors, f"{page.name}: {target}")

    def test_plain_sentences(self):
        """No sentence of a page begins with a word that only a later one explains, and the old words for ignoring and for
        winning are gone."""
        odd = re.compile(r"(?:[.:;] |^)(?:(?:What|Of|Where|Those|One that) [^.?|]{10,}(?:[.|]|$)|That [^.?|]{10,}(?:[.|]|$))")
        for page in [*PAGES, *(ROOT / place / "README.md" for place in ("python", "node", "deploy", "models"))]:
            if page.name in ("performance-log.md", "findings.md") or page.parent.name == "design":
                continue  # a log of measurements, quotations, and reasons for developers
            found, text = [], re.sub(r"(?s)```.*?```", "\n\n", read(page))
            for part in re.split(r"\n\s*\n|\n\s*[-|>] |\n\s*\d+\. |^#+ |\n#+ | \| ", text):
                sentence = " ".join(part.split())
                found += [one[0] for one in odd.finditer(sentence)] + re.findall(r"\b(?:is|are) read over\b|\bgoes first\b", sentence)
            self.assertEqual(found, [], page.name)

    def test_the_index(self):
        index = read(DOCS / "README.md")
        for page in sorted(DOCS.rglob("*.md")):
            name = page.relative_to(DOCS).as_posix()
            if name != "README.md" and not name.startswith("design/"):
                self.assertIn(f"]({name})", index)

    def test_the_oldest_cmake(self):
        """Which CMake is named is the one that CMakeLists.txt asks for, and the presets ask for no younger one."""
        least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", read(ROOT / "CMakeLists.txt"))[1]
        for page in ("README.md", "docs/install.md"):
            self.assertIn(f"CMake {least},", read(ROOT / page), page)
        presets = json.loads(read(ROOT / "CMakePresets.json"))["version"]
        self.assertGreaterEqual(least, {2: "3.20", 3: "3.21", 4: "3.23"}[presets])

    def test_the_table_of_commands(self):
        """The manual's first table has every command, in the order of --help."""
        part = self.run_bittern("--help").stdout.split("\nCommon flags:")[0]
        commands = re.findall(r"(?m)^  ([a-z-]+) ", part)
        manual = read(DOCS / "cli.md")
        listed = ", ".join(re.findall(r"(?m)^\| \[([^\]]*)\]\(#", manual[:manual.index("## ")])).split(", ")
        self.assertEqual(listed, commands)


if __name__ == "__main__":
    unittest.main(verbosity=2 if os.environ.get("VERBOSE") else 1)
