#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signs programs and libraries for Macs of Intel's as nobody (ad hoc), as zig's linker signs those of Apple's: a hash
of each page, which the loader compares. One that is signed already is left alone. Structures: <mach-o/loader.h> and
cs_blobs.h of XNU; numbers of the signature are big-endian.

usage: tools/sign_macos.py FILE...
"""
import hashlib
import pathlib
import struct
import sys

MACH_O_64 = 0xFEEDFACF
EXECUTE = 2
SEGMENT_64, CODE_SIGNATURE = 0x19, 0x1D
COMMAND_SIZE = 16
SIGNATURE, CODE_DIRECTORY, VERSION = 0xFADE0CC0, 0xFADE0C02, 0x20400
ADHOC, SHA256, MAIN_BINARY = 0x2, 2, 1
PAGE_BITS = 12
PAGE = 1 << PAGE_BITS
DIRECTORY = struct.Struct(">9I4B4I4Q")  # CS_CodeDirectory up to execSegFlags


def commands_of(data):
    """(offset, kind) of each load command, and where they end."""
    count, size = struct.unpack_from("<II", data, 16)
    place, found = 32, []
    for _ in range(count):
        kind, length = struct.unpack_from("<II", data, place)
        found.append((place, kind))
        place += length
    if place != 32 + size:
        raise ValueError(f"load commands of {size} bytes expected, {place - 32} found")
    return found, place


def segment(data, commands, name):
    """Where the load command of the segment lies."""
    for place, kind in commands:
        if kind == SEGMENT_64 and data[place + 8:place + 24].rstrip(b"\0") == name:
            return place
    raise ValueError(f"a segment {name.decode()} expected, none found")


def first_byte(data, commands):
    """The lowest place in the file of a section's bytes."""
    places = []
    for place, kind in commands:
        if kind == SEGMENT_64:
            for i in range(struct.unpack_from("<I", data, place + 64)[0]):
                offset = struct.unpack_from("<I", data, place + 72 + 80 * i + 48)[0]
                places += [offset] if offset else []
    return min(places)


def directory(data, limit, name, text):
    """The signature of data[:limit]; text: (offset, size) of the segment with the code."""
    slots = -(-limit // PAGE)
    ident = name.encode() + b"\0"
    hashes = DIRECTORY.size + len(ident)
    flags = MAIN_BINARY if struct.unpack_from("<I", data, 12)[0] == EXECUTE else 0
    head = DIRECTORY.pack(CODE_DIRECTORY, hashes + 32 * slots, VERSION, ADHOC, hashes, DIRECTORY.size, 0, slots, limit, 32,
                          SHA256, 0, PAGE_BITS, 0, 0, 0, 0, 0, *text, flags)
    body = head + ident
    for i in range(slots):
        body += hashlib.sha256(data[i * PAGE:min(limit, (i + 1) * PAGE)]).digest()
    return struct.pack(">5I", SIGNATURE, 20 + len(body), 1, 0, 20) + body


def signed(data, name):
    """The bytes with a signature behind them."""
    if struct.unpack_from("<I", data)[0] != MACH_O_64:
        raise ValueError("a program for macOS expected, which begins with feedfacf")
    commands, end = commands_of(data)
    if any(kind == CODE_SIGNATURE for _, kind in commands):
        return data
    if first_byte(data, commands) < end + COMMAND_SIZE:
        raise ValueError("no room for one more load command")
    text = struct.unpack_from("<QQ", data, segment(data, commands, b"__TEXT") + 40)
    linkedit = segment(data, commands, b"__LINKEDIT")
    out = bytearray(data + bytes(-len(data) % 16))
    limit = len(out)
    size = len(directory(out, limit, name, text))
    count, length = struct.unpack_from("<II", out, 16)
    struct.pack_into("<II", out, 16, count + 1, length + COMMAND_SIZE)
    struct.pack_into("<4I", out, end, CODE_SIGNATURE, COMMAND_SIZE, limit, size)
    filled = limit + size - struct.unpack_from("<Q", out, linkedit + 40)[0]
    struct.pack_into("<Q", out, linkedit + 48, filled)
    struct.pack_into("<Q", out, linkedit + 32, -(-filled // PAGE) * PAGE)
    return bytes(out) + directory(bytes(out), limit, name, text)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    for file in map(pathlib.Path, sys.argv[1:]):
        try:
            file.write_bytes(signed(file.read_bytes(), file.name))
        except ValueError as error:
            sys.exit(f"tools/sign_macos.py: {file}: {error}")


if __name__ == "__main__":
    main()
