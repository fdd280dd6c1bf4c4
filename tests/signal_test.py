#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: signal_test.py BITTERN MODEL [TIMINGS [SEED]]

Signals, closed pipes and limits of file sizes at any time of every command that writes. Afterwards
there is the whole output or what was there before, and nothing beside it.
"""

import pathlib
import signal
import sys
import tempfile
import time

import hostile_times

COMMANDS = {
    "convert": ["convert", "MODEL", "OUT/new.gguf", "--to", "tl2"],
    "convert to a folder": ["convert", "MODEL", "OUT/new", "--to", "safetensors"],
    "meta set -o": ["meta", "set", "MODEL", "general.name", "str:x", "-o", "OUT/new.gguf"],
    "meta set -i": ["meta", "set", "OUT/old.gguf", "general.name", "str:x", "-i"],
    "logits": ["logits", "-m", "MODEL", "--prompt-ids", "1,2,3,4,5,6,7,8", "--all", "-o",
               "OUT/logits", "--hidden", "OUT/hidden"],
    "certify": ["certify", "MODEL", "--out", "OUT/certificate.json"],
    "bench": ["bench", "-m", "MODEL", "-p", "8", "-n", "4", "-r", "2", "--html", "OUT/page.html"],
}
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE,
           signal.SIGXFSZ]


class Test:
    def __init__(self, bittern, model, root, seed):
        self.bittern, self.model, self.root = bittern, model, root
        self.tally = hostile_times.Tally(seed)

    def place(self, name):
        place = hostile_times.Place(self.root, self.model)
        if name == "meta set -i":
            place.model.rename(place.out / "old.gguf")
        return place

    def is_whole(self, name, files, right):
        if name == "bench":  # its figures differ from run to run
            pages = list(files.values())
            return list(files) == ["page.html"] and pages[0].rstrip().endswith(b"</html>")
        return files == right.files

    def judge(self, name, what, place, found, before, right, statuses):
        self.tally.runs += 1
        where = f"{name}, {what}"
        # Two outputs get their names one after the other.
        partly = name == "logits" and found.files.items() <= right.files.items()
        if place.unfinished():
            self.tally.fail(where, f"left behind: {place.unfinished()}", found)
        elif found.status not in statuses:
            self.tally.fail(where, f"exit status {sorted(statuses)} expected", found)
        elif found.files == before:
            self.tally.count("as before")
        elif self.is_whole(name, found.files, right) or partly:
            self.tally.count("whole")
        else:
            self.tally.fail(where, f"half an output: {list(found.files)}", found)
        place.remove()

    def command(self, name, arguments, timings):
        seconds = []
        for _ in range(3):
            place = self.place(name)
            before = place.files()
            started = time.monotonic()
            right = hostile_times.finish(place.start(self.bittern, arguments), place,
                                         started=started)
            seconds.append(right.seconds)
            place.remove()
        if right.status != 0 or not self.is_whole(name, right.files, right):
            self.tally.fail(name, "the undisturbed run failed", right)
        for number in SIGNALS:
            for at in self.tally.times(timings, min(seconds)):
                place = self.place(name)
                process = place.start(self.bittern, arguments)
                time.sleep(at)
                process.send_signal(number)
                found = hostile_times.finish(process, place)
                statuses = {0, -number}
                if number == signal.SIGINT:
                    statuses.add(130)
                self.judge(name, f"{number.name} after {at:.3f} s", place, found, before, right,
                           statuses)
        self.limits(name, arguments, before, right)
        self.closed_pipe(name, arguments, before, right)

    def limits(self, name, arguments, before, right):
        """Files may not grow beyond a limit: an error as a full disk is, with exit code 3."""
        largest = max(len(data) for data in right.files.values())
        for limit in (0, 4096, largest // 2, largest - 1):
            if name == "bench" and limit > 4096:
                continue
            place = self.place(name)
            found = hostile_times.finish(place.start(self.bittern, arguments, limit), place)
            self.judge(name, f"files of {limit} bytes", place, found, before, right, {3})
            if b"ulimit -f" not in found.err:
                self.tally.fail(name, "the error does not name the limit", found)

    def closed_pipe(self, name, arguments, before, right):
        """Standard output goes to a reader that is gone."""
        place = self.place(name)
        process = place.start(self.bittern, arguments)
        process.stdout.close()
        process.stdin.close()
        err = process.stderr.read()
        process.wait(timeout=300)
        found = hostile_times.Outcome(process.returncode, b"", err, place.files(), 0)
        self.judge(name, "a closed pipe", place, found, before, right, {0, -signal.SIGPIPE})


def main():
    bittern, model = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    timings = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    with tempfile.TemporaryDirectory() as root:
        test = Test(bittern, model, root, seed)
        for name, arguments in COMMANDS.items():
            test.command(name, arguments, timings)
        test.tally.end()


main()
