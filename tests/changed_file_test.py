#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: changed_file_test.py BITTERN MODEL OTHER_MODEL [TIMINGS [SEED [COMMAND]]]

Models that change while a command uses them: cut off, written over, deleted, replaced. At any time
the command must give the right output or an error that names the file, with exit code 2; it must
not die from a signal, and leave nothing unfinished behind.
"""

import pathlib
import shutil
import sys
import tempfile
import time

import hostile_times

PROMPT = "In the beginning God created the heaven and the earth. And the earth was " * 8
COMMANDS = {
    "run": ["run", "-m", "MODEL", "-p", PROMPT, "-n", "60", "--temp", "0"],
    "logits": ["logits", "-m", "MODEL", "-p", PROMPT, "--all", "-o", "OUT/logits"],
    "tokenize": ["tokenize", "-m", "MODEL", "In the beginning"],
    "inspect": ["inspect", "MODEL"],
    "inspect --json": ["inspect", "MODEL", "--json"],
    "convert": ["convert", "MODEL", "OUT/new.gguf", "--to", "tl2", "--prove"],
    "convert to a folder": ["convert", "MODEL", "OUT/new", "--to", "safetensors"],
    "meta set": ["meta", "set", "MODEL", "general.name", "str:x", "-o", "OUT/new.gguf"],
    "certify": ["certify", "MODEL", "--out", "OUT/certificate.json"],
    "bench": ["bench", "-m", "MODEL", "-p", "16", "-n", "8", "-r", "2", "-o", "json"],
}
# Of these the output says how long it took, or where it went.
TIMED = {"bench", "convert", "convert to a folder", "meta set"}


def cut_off(place, other):
    with open(place.model, "r+b") as file:
        file.truncate(0)


def cut_in_half(place, other):
    size = place.model.stat().st_size
    with open(place.model, "r+b") as file:
        file.truncate(size // 2 + 1234)


def overwrite_with_noise(place, other):
    size = place.model.stat().st_size
    with open(place.model, "r+b") as file:
        file.write(bytes((i * 197 + 31) % 256 for i in range(65536)) * (size // 65536))


def overwrite_with_other(place, other):
    shutil.copyfile(other, place.model)


def delete(place, other):
    place.model.unlink()


def replace(place, other):
    new = place.folder / "replacement"
    shutil.copyfile(other, new)
    new.rename(place.model)


CHANGES = [cut_off, cut_in_half, overwrite_with_noise, overwrite_with_other, delete, replace]


def is_right(name, found, right):
    """Whether the outcome is that of an undisturbed run. What is timed differs from run to run."""
    if found.status != 0 or right.status != 0 or found.files != right.files:
        return False
    return name in TIMED or found.out == right.out


class Test:
    def __init__(self, bittern, model, other, root, seed):
        self.bittern, self.model, self.other, self.root = bittern, model, other, root
        self.tally = hostile_times.Tally(seed)

    def undisturbed(self, arguments, change=None):
        """The outcome with the model, or with what a change before the start makes of it."""
        place = hostile_times.Place(self.root, self.model)
        if change is not None:
            change(place, self.other)
        started = time.monotonic()
        outcome = hostile_times.finish(place.start(self.bittern, arguments), place,
                                       started=started)
        outcome.out = outcome.out.replace(str(place.folder).encode(), b"")
        place.remove()
        return outcome

    def judge(self, name, place, found, rights, streams):
        self.tally.runs += 1
        found.out = found.out.replace(str(place.folder).encode(), b"")
        if place.unfinished():
            self.tally.fail(name, f"left behind: {place.unfinished()}", found)
        elif any(is_right(name.split(",")[0], found, right) for right in rights):
            self.tally.count("right")
        elif found.status == 2 and str(place.model).encode() in found.err and not found.files:
            # What was printed before is right.
            begun = not streams or any(right.out.startswith(found.out) for right in rights)
            if begun:
                self.tally.count("refused")
            else:
                self.tally.fail(name, "wrong output before the error", found)
        else:
            self.tally.fail(name, "neither the right output nor an error with exit code 2", found)
        place.remove()

    def command(self, name, arguments, timings):
        right = self.undisturbed(arguments)
        seconds = min(self.undisturbed(arguments).seconds for _ in range(2))
        if right.status != 0:
            self.tally.fail(name, "the undisturbed run failed", right)
        for change in CHANGES:
            changed = self.undisturbed(arguments, change)
            for at in self.tally.times(timings, seconds):
                place = hostile_times.Place(self.root, self.model)
                process = place.start(self.bittern, arguments)
                time.sleep(at)
                change(place, self.other)
                found = hostile_times.finish(process, place)
                self.judge(f"{name}, {change.__name__} after {at:.3f} s", place, found,
                           [right, changed], streams=name == "run")

    def chat(self, timings):
        """Between two turns, and in the middle of one."""
        arguments = ["chat", "-m", "MODEL", "-n", "24", "--temp", "0"]
        lines = b"And God said\nAnd it came to pass\n"
        place = hostile_times.Place(self.root, self.model)
        right = hostile_times.finish(place.start(self.bittern, arguments), place, lines)
        place.remove()
        if right.status != 0 or right.out.count(b"\n") < 2:
            self.tally.fail("chat", "the undisturbed run failed", right)
        for change in CHANGES:
            for at in self.tally.times(timings, 0.05):
                place = hostile_times.Place(self.root, self.model)
                process = place.start(self.bittern, arguments)
                first, rest = lines.split(b"\n", 1)
                process.stdin.write(first + b"\n")
                process.stdin.flush()
                # Bytes as they come: the reply begins, so the model is loaded.
                begun = process.stdout.read(1)
                time.sleep(at)
                change(place, self.other)
                found = hostile_times.finish(process, place, rest)
                found.out = begun + found.out
                self.judge(f"chat, {change.__name__} after {at:.3f} s", place, found, [right],
                           streams=True)


def main():
    bittern, model, other = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
    timings = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    with tempfile.TemporaryDirectory() as root:
        test = Test(bittern, model, other, root, seed)
        only = sys.argv[6] if len(sys.argv) > 6 else None
        for name, arguments in COMMANDS.items():
            if only in (None, name):
                test.command(name, arguments, timings)
        if only in (None, "chat"):
            test.chat(timings)
        test.tally.end()


main()
