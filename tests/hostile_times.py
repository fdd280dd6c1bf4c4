# SPDX-License-Identifier: Apache-2.0
"""What the tests that disturb running commands share: a folder for each run, a clock, a tally.

A command is run once undisturbed, which gives its right output and how long it takes; then again
and again, disturbed at times spread evenly over that, so that loading, reading a prompt, decoding
and writing all get their share.
"""

import dataclasses
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def prepare_child():
    """No core files, and Ctrl-C as in a terminal even where a shell ignores it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclasses.dataclass
class Outcome:
    status: int  # as subprocess has it: negative for a signal
    out: bytes
    err: bytes
    files: dict  # contents of what lies in the folder "out", by name within it
    seconds: float


class Place:
    """A fresh folder: the model, "out" for what the command writes, a cache of its own."""

    def __init__(self, root, model):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=root))
        self.model = self.folder / "model.gguf"
        shutil.copyfile(model, self.model)
        self.out = self.folder / "out"
        self.out.mkdir()
        (self.folder / "cache").mkdir()

    def start(self, bittern, arguments, limit=None, stdout=subprocess.PIPE):
        """Words of `arguments`: MODEL and OUT stand for places in here."""
        names = {"MODEL": str(self.model), "OUT": str(self.out)}
        words = [str(bittern)] + [
            names.get(w, w.replace("OUT/", names["OUT"] + "/")) for w in arguments]
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"))

        def before():
            prepare_child()
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=stdout,
                                stderr=subprocess.PIPE, bufsize=0, env=environment,
                                preexec_fn=before)

    def files(self):
        found = {}
        for path in self.out.rglob("*"):
            if path.is_file():
                found[str(path.relative_to(self.out))] = path.read_bytes()
            elif not any(path.iterdir()):
                found[str(path.relative_to(self.out)) + "/"] = b""
        return found

    def unfinished(self):
        return [str(p) for p in self.folder.rglob("*.part-*")]

    def remove(self):
        shutil.rmtree(self.folder)


def finish(process, place, text=b"", started=None):
    out, err = process.communicate(text, timeout=300)
    seconds = 0 if started is None else time.monotonic() - started
    return Outcome(process.returncode, out or b"", err, place.files(), seconds)


class Tally:
    def __init__(self, seed):
        self.runs = 0
        self.failures = 0
        self.random = random.Random(seed)
        self.seed = seed
        self.counts = {}  # of each outcome

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def fail(self, name, why, outcome):
        self.failures += 1
        print(f"FAILED: {name}: {why} (status {outcome.status}, seed {self.seed})")
        print(f"  stderr: {outcome.err[-300:]!r}")
        print(f"  stdout: {outcome.out[-200:]!r}", flush=True)

    def times(self, count, seconds):
        """`count` times in [0, seconds], one in each of as many equal parts."""
        return [(i + self.random.random()) * seconds / count for i in range(count)]

    def end(self):
        listed = ", ".join(f"{v} {k}" for k, v in sorted(self.counts.items()))
        print(f"{self.runs} runs: {listed}; {self.failures} failures")
        sys.exit(1 if self.failures else 0)
