#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one program for several kinds of Mac: the given ones behind a table that says where each begins
(<mach-o/fat.h>: all numbers big-endian).

usage: tools/universal.py PROGRAM... OUT
"""
import pathlib
import struct
import sys

MACH_O_64 = 0xFEEDFACF
FAT = 0xCAFEBABE
ALIGNMENT = 14  # as a power of two: the largest page of these machines
PAGE = 1 << ALIGNMENT


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    *names, out = map(pathlib.Path, sys.argv[1:])
    programs = [name.read_bytes() for name in names]
    table, body = struct.pack(">II", FAT, len(programs)), b""
    for name, program in zip(names, programs):
        magic, cpu, kind = struct.unpack_from("<III", program)
        if magic != MACH_O_64:
            sys.exit(f"{name}: a program for macOS expected, which begins with {MACH_O_64:x}; {magic:x} found")
        body += bytes(-len(body) % PAGE)
        table += struct.pack(">IIIII", cpu, kind, PAGE + len(body), len(program), ALIGNMENT)
        body += program
    out.write_bytes(table.ljust(PAGE, b"\0") + body)
    out.chmod(0o755)


if __name__ == "__main__":
    main()
