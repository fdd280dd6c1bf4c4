#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds of bittern.ray.batch with one worker beside `bittern batch`, in turn: no test, since machines are noisy. Both
load the model; Ray itself runs already. The files must be equal.

usage: BITTERN_LIBRARY=... PYTHONPATH=python ray_speed.py BITTERN MODEL [LINES [TOKENS [ROUNDS [CPUS]]]]
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import ray

import bittern.ray


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, model, *numbers = sys.argv[1:]
    lines, tokens, rounds, cpus = [*map(int, numbers), *(128, 32, 3, os.cpu_count())[len(numbers):]]
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/in"
        with open(path, "w", encoding="utf-8") as file:
            for i in range(lines):
                file.write(f'{{"prompt": "Line {i} is", "n_predict": {tokens}, "ignore_eos": true}}\n')

        def one_program():
            subprocess.run([program, "batch", path, "-o", f"{folder}/program", "-m", model, "-t", str(cpus), "--quiet",
                            "--force"], check=True)

        def one_worker():
            if os.path.exists(f"{folder}/ray"):
                os.remove(f"{folder}/ray")
            bittern.ray.batch(path, f"{folder}/ray", model, workers=1, cpus=cpus)

        times = {work: [] for work in (one_program, one_worker)}
        for number in range(rounds):
            for work, taken in times.items():
                begin = time.perf_counter()
                work()
                taken.append(time.perf_counter() - begin)
            print(f"round {number + 1}: " + ", ".join(f"{work.__name__} {taken[-1]:.2f} s" for work, taken in times.items()),
                  flush=True)
            with open(f"{folder}/program", "rb") as one, open(f"{folder}/ray", "rb") as other:
                assert one.read() == other.read(), "the files differ"
    medians = [statistics.median(taken) for taken in times.values()]
    print(f"medians {medians[0]:.2f} s and {medians[1]:.2f} s: {100 * (medians[1] / medians[0] - 1):+.1f} %")


if __name__ == "__main__":
    main()
