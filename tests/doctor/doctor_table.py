#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `bittern doctor` says of every fault of the fault kit, as the table of docs/doctor.md.

  doctor_table.py BITTERN MODEL... [--only NAME,NAME] [--pairs COUNT] [--check]

For every fault and model: the verdict, whether the cause was named, and, where it was cured, whether the greedy
text of the mended file equals the healthy one's. --pairs: random pairs of curable faults, too. --check: exit code
1 unless all is as the kit says.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from faults import FAULTS, RAW_FAULTS  # noqa: E402
from gguf_file import GgufFile  # noqa: E402

PROMPTS = ["In the beginning", "A tern is", "The king"]


class Kit:
    def __init__(self, bittern, model, folder):
        self.bittern, self.model, self.folder = bittern, model, folder
        self.healthy = self.texts(model)

    def run(self, *arguments):
        return subprocess.run([self.bittern, *arguments], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)

    def texts(self, path):
        return [self.run("run", "-m", path, "-p", p, "-n", "24", "--temp", "0").stdout for p in PROMPTS]

    def doctor(self, path, *arguments):
        done = self.run("doctor", path, "--json", *arguments)
        try:
            return done.returncode, json.loads(done.stdout)
        except json.JSONDecodeError:
            return done.returncode, {"verdict": "error", "findings": [], "summary": done.stderr.strip()}

    def examine(self, path, expected):
        """(verdict is right, all named, text equal or None, summary)"""
        mended = os.path.join(self.folder, "mended.gguf")
        if os.path.exists(mended):
            os.unlink(mended)
        curable = all(verdict == "curable" for verdict, _ in expected)
        code, said = self.doctor(path, *(["--fix", mended] if curable else []))
        if said["verdict"] == "error":
            code, said = self.doctor(path)
        ids = [f["id"] for f in said["findings"]]
        named = all(any(i in ids for i in wanted) for _, wanted in expected)
        verdict = "curable" if curable else "incurable"
        right = said["verdict"] == verdict and code == {"curable": 10, "incurable": 11}[verdict]
        equal = None
        if curable:
            equal = os.path.exists(mended) and self.texts(mended) == self.healthy
        causes = " ".join(f["cause"] for f in said["findings"]) or said["summary"]
        return right, named, equal, said["verdict"], causes, said.get("seconds", 0)

    def make(self, names):
        path = os.path.join(self.folder, "ill.gguf")
        model = GgufFile(self.model)
        for name in names:
            if name in FAULTS:
                FAULTS[name][0](model)
        model.write(path)
        for name in names:
            if name in RAW_FAULTS:
                raw = open(path, "rb").read()
                open(path, "wb").write(RAW_FAULTS[name][0](raw))
        return path


def single(kits, only):
    bad = 0
    both = {**FAULTS, **RAW_FAULTS}
    print("| fault | " + " | ".join(f"{pathlib.Path(k.model).stem}" for k in kits) + " | what doctor says |")
    print("|---" * (len(kits) + 2) + "|")
    for name, (_, verdict, ids, what) in both.items():
        if only and name not in only:
            continue
        cells, causes = [], ""
        for kit in kits:
            try:
                path = kit.make([name])
            except (KeyError, StopIteration):  # this architecture has no such thing
                cells.append("-")
                continue
            right, named, equal, found, causes, seconds = kit.examine(path, [(verdict, ids)])
            good = right and named and equal is not False
            bad += not good
            cells.append(("cured" if equal else "named") if good else
                         f"**{found}{'' if named else ', not named'}{', text differs' if equal is False else ''}**")
        print(f"| {what} | " + " | ".join(cells) + f" | {causes} |", flush=True)
    return bad


def pairs(kits, count):
    draw = random.Random(5)
    names = [n for n, (_, verdict, _, _) in FAULTS.items() if verdict == "curable"]
    good = 0
    for i in range(count):
        kit = kits[i % len(kits)]
        while True:  # until this architecture has both
            chosen = draw.sample(names, 2)
            try:
                path = kit.make(chosen)
                break
            except (KeyError, StopIteration):
                continue
        right, named, equal, found, causes, _ = kit.examine(path, [FAULTS[n][1:3] for n in chosen])
        good += right and named and bool(equal)
        if not (right and named and equal):
            print(f"pair {' + '.join(chosen)} on {pathlib.Path(kit.model).stem}: {found}, named {named}, "
                  f"text equal {equal}: {causes}", flush=True)
    print(f"{good} of {count} pairs named and cured")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bittern")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kits = [Kit(os.path.abspath(options.bittern), m, folder) for m in options.models]
        bad = 0
        for kit in kits:
            code, said = kit.doctor(kit.model)
            print(f"{kit.model}: {said['verdict']}, {said.get('seconds', 0):.1f} s\n")
            bad += code != 0
        bad += single(kits, [n for n in options.only.split(",") if n])
        good = pairs(kits, options.pairs) if options.pairs else 0
    if options.check:
        return 1 if bad or good < 0.7 * options.pairs else 0
    return 0


sys.exit(main())
