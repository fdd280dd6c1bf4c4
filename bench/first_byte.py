#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds from start to the first byte of an answer, of several programs in turn, with medians.

usage: first_byte.py ROUNDS PROMPT COMMAND...
Each COMMAND is one argument, which prints the prompt and then the answer, as soon as it comes.

example: first_byte.py 9 "A tern is" 'bittern run -m M.gguf -p "A tern is" -n 8 --temp 0 --ignore-eos -t 2 --quiet' \\
           'llama-cli -m M.gguf -p "A tern is" -n 8 --temp 0 --ignore-eos -t 2'
"""
import os
import shlex
import statistics
import subprocess
import sys
import time


def seconds(command, prompt):
    """To the first byte that follows the prompt; to the end."""
    begin = time.perf_counter()
    with subprocess.Popen(shlex.split(command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        text, first = b"", None
        while piece := os.read(program.stdout.fileno(), 1 << 16):
            text += piece
            if first is None and len(text.strip()) > len(prompt.encode()):
                first = time.perf_counter() - begin
    if program.returncode != 0 or first is None:
        sys.exit(f"{command}: exit code {program.returncode}, {len(text)} bytes")
    return first, time.perf_counter() - begin


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    rounds, prompt, commands = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    found = [[] for _ in commands]
    for number in range(rounds):
        order = range(len(commands))
        for i in order if number % 2 == 0 else reversed(order):
            found[i].append(seconds(commands[i], prompt))
    for command, times in zip(commands, found):
        firsts = [first for first, _ in times]
        print(f"first {statistics.median(firsts):.2f} s ({min(firsts):.2f} to {max(firsts):.2f}), "
              f"end {statistics.median(end for _, end in times):.2f} s: {command}")


main()
