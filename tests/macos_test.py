#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads programs and libraries for macOS as its loader does, since no Mac is here to run them.

usage: macos_test.py [--stubs libSystem.tbd] ARCHIVE...

ARCHIVE is the tarball with the universal program, a wheel for macOS, or the npm package with addons for both kinds of
Mac. Of each program or library in it: the kind, the oldest system, libraries that the system itself has and no others,
every symbol that is asked of them listed in Apple's stubs (those of zig's compiler, which tools/release_deps.sh gets;
an addon asks Node.js for those of Node-API), a signature whose hashes fit the bytes. Structures: <mach-o/loader.h>,
<mach-o/nlist.h>, <mach-o/fat.h>, and cs_blobs.h of XNU for the signature.
"""
import argparse
import glob
import hashlib
import os
import re
import struct
import subprocess
import sys
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = "bittern-macos-universal/bin/bittern"
X86_64, ARM64 = 0x01000007, 0x0100000C
KINDS = {X86_64: "x86_64", ARM64: "arm64"}
TARGETS = {X86_64: "x86_64-macos", ARM64: "arm64e-macos"}  # as stubs say it
EXECUTE, DYLIB = 2, 6
PIE = 0x200000
SYMTAB, LOAD_DYLIB, CODE_SIGNATURE, VERSION_MIN_MACOS, MAIN, BUILD_VERSION = 0x2, 0xC, 0x1D, 0x24, 0x80000028, 0x32
SEGMENT_64 = 0x19
NLIST_STAB, NLIST_TYPE, NLIST_UNDEFINED = 0xE0, 0x0E, 0x0
SIGNATURE, CODE_DIRECTORY, SHA256, ADHOC = 0xFADE0CC0, 0xFADE0C02, 2, 0x2
# Newer than macOS 11, though a stub of today lists them (os/os_sync_wait_on_address.h, libc++'s availability).
NEWER = re.compile(r"^_(os_sync_wait|os_sync_wake|aligned_alloc_zone|memset_explicit|strchrnul|mkfifoat|mknodat)")


class Broken(Exception):
    """The file is not as a loader wants it."""


def need(condition, text):
    if not condition:
        raise Broken(text)


class Program:
    """A program for one kind of Mac: its load commands."""

    def __init__(self, data):
        self.data = data
        magic, self.cpu, _, self.type, count, size, self.flags, _ = struct.unpack_from("<8I", data)
        need(magic == 0xFEEDFACF, f"a 64-bit Mach-O expected, which begins with feedfacf; {magic:x} found")
        self.commands, place = [], 32
        for _ in range(count):
            command, length = struct.unpack_from("<II", data, place)
            need(8 <= length <= 32 + size - place, "a load command is longer than all of them")
            self.commands.append((command, data[place:place + length]))
            place += length

    def of(self, *wanted):
        return [body for command, body in self.commands if command in wanted]

    def oldest(self):
        """(major, minor) of the oldest system."""
        for body in self.of(BUILD_VERSION):
            platform, version = struct.unpack_from("<II", body, 8)
            need(platform == 1, f"the platform macOS expected, number {platform} found")
            return version >> 16, version >> 8 & 0xFF
        (body,) = self.of(VERSION_MIN_MACOS)
        version = struct.unpack_from("<I", body, 8)[0]
        return version >> 16, version >> 8 & 0xFF

    def libraries(self):
        return [body[struct.unpack_from("<I", body, 8)[0]:].split(b"\0")[0].decode() for body in self.of(LOAD_DYLIB)]

    def undefined(self):
        """Names that the loader has to find."""
        (body,) = self.of(SYMTAB)
        symbols, count, strings, size = struct.unpack_from("<4I", body, 8)
        names = self.data[strings:strings + size]
        found = set()
        for i in range(count):
            at, kind, _, _, _ = struct.unpack_from("<IBBHQ", self.data, symbols + 16 * i)
            if not kind & NLIST_STAB and kind & NLIST_TYPE == NLIST_UNDEFINED:
                found.add(names[at:names.index(b"\0", at)].decode())
        return found

    def check_signature(self):
        """Every page has the hash that the signature names; the signer is nobody (ad hoc)."""
        bodies = self.of(CODE_SIGNATURE)
        need(len(bodies) == 1, "a signature expected, none found: Apple's processors run nothing unsigned")
        place, size = struct.unpack_from("<II", bodies[0], 8)
        need(place + size == len(self.data) == self.end_of(b"__LINKEDIT"), "a signature at the end of the file expected")
        blob = self.data[place:place + size]
        magic, _, count = struct.unpack_from(">III", blob)
        need(magic == SIGNATURE, f"a signature begins with fade0cc0, {magic:x} found")
        at = next(offset for _, offset in (struct.unpack_from(">II", blob, 12 + 8 * i) for i in range(count))
                  if struct.unpack_from(">I", blob, offset)[0] == CODE_DIRECTORY)
        (_, _, _, flags, hashes, _, special, slots, limit, width, kind, _, page) = struct.unpack_from(
            ">9I4B", blob, at)
        need(flags & ADHOC, "a signature of nobody (ad hoc) expected")
        need((kind, width) == (SHA256, 32), f"hashes of SHA-256 expected, kind {kind} found")
        need(limit == place, f"a signature of all bytes before it expected: {place}, {limit} found")
        need(slots == -(-limit // (1 << page)) and special >= 0, f"{slots} pages of {1 << page} bytes, {limit} bytes")
        for i in range(slots):
            wanted = blob[at + hashes + 32 * i:at + hashes + 32 * i + 32]
            found = hashlib.sha256(self.data[i << page:min(limit, (i + 1) << page)]).digest()
            need(found == wanted, f"the page at {i << page:#x} is not what was signed")

    def end_of(self, name):
        """Where in the file a segment ends."""
        for body in self.of(SEGMENT_64):
            if body[8:24].rstrip(b"\0") == name:
                return sum(struct.unpack_from("<QQ", body, 40))
        raise Broken(f"no segment {name.decode()}")


def stubs(path, target):
    """Names that libraries of the system have for a kind of Mac."""
    names = set()
    for part in re.split(r"^--- ?", open(path, encoding="utf-8").read(), flags=re.M):
        for block in re.finditer(r"targets:\s*\[(.*?)\]\s*\n(.*?)(?=\n\s*- targets:|\n\w|\Z)", part, re.S):
            if target in re.split(r"[\s,]+", block[1]):
                for names_of in re.finditer(r"(?:weak-|thread-local-)?symbols:\s*\[(.*?)\]", block[2], re.S):
                    names.update(word.strip().strip("'") for word in names_of[1].split(","))
    return names


def slices(data):
    magic, count = struct.unpack_from(">II", data)
    need(magic == 0xCAFEBABE, f"a universal program begins with cafebabe, {magic:x} found")
    for i in range(count):
        cpu, _, place, size, alignment = struct.unpack_from(">5I", data, 8 + 20 * i)
        need(place % (1 << alignment) == 0 and alignment >= 14, f"a program at {place} is not aligned")
        need(place + size <= len(data), f"a program ends behind the file: {place} + {size}, {len(data)}")
        program = Program(data[place:place + size])
        need(program.cpu == cpu, "the table names another kind of Mac than the program")
        yield program


def check(program, known, addon):
    if program.type == EXECUTE:
        need(program.flags & PIE, "a program that may lie anywhere expected")
        need(program.of(MAIN), "no entry")
    need(program.oldest() <= (11, 0), f"a program for macOS 11 expected, for {program.oldest()} found")
    need(program.libraries() == ["/usr/lib/libSystem.B.dylib"], f"libSystem alone expected, {program.libraries()} found")
    wanted = program.undefined()
    if addon:
        own = {name for name in wanted if name.startswith("_napi_")}
        need(own, "an addon that asks for nothing of Node-API")
        wanted -= own
    need(len(wanted) > 50 and "_main" not in wanted, f"{len(wanted)} symbols of the system")
    need(not wanted - known, f"no library of the system has {sorted(wanted - known)}")
    newer = sorted(name for name in wanted if NEWER.match(name))
    need(not newer, f"newer than macOS 11: {newer}")
    program.check_signature()
    return f"{len(wanted)} symbols of libSystem, all pages are signed"


def self_test(program, known, addon):
    """A flipped bit, an unknown symbol and a foreign library are found."""
    flipped = bytearray(program.data)
    flipped[len(flipped) // 2] ^= 1
    faults = [(program, known - {"_malloc"}),
              (Program(program.data.replace(b"/usr/lib/libSystem.B", b"/usr/lib/libSystem.C")), known),
              (Program(bytes(flipped)), known)]
    for broken, names in faults:
        try:
            check(broken, names, addon)
        except Broken:
            continue
        raise Broken("a planted fault was not found")


def of_tarball(path):
    """The universal program."""
    with tarfile.open(path) as archive:
        names = archive.getnames()
        need(PROGRAM in names, f"{path}: {PROGRAM} expected, it has {names[:3]}")
        data = archive.extractfile(PROGRAM).read()
        mode = archive.getmember(PROGRAM).mode
    need(mode & 0o111, "the program cannot be executed")
    for wanted in ("share/doc/bittern/NOTICES", "share/man/man1/bittern.1"):
        need(f"{os.path.dirname(os.path.dirname(PROGRAM))}/{wanted}" in names, f"no {wanted}")
    programs = list(slices(data))
    kinds = {KINDS.get(program.cpu) for program in programs}
    need(kinds == {"arm64", "x86_64"}, f"both kinds of Mac expected, {kinds} found")
    return programs, EXECUTE, False


def of_wheel(path):
    with zipfile.ZipFile(path) as archive:
        program = Program(archive.read("bittern/libbittern.dylib"))
    need(path.endswith(f"_{KINDS.get(program.cpu)}.whl"), f"{path}: for {KINDS.get(program.cpu)}, in fact")
    return [program], DYLIB, False


def of_npm(path):
    with tarfile.open(path) as archive:
        programs = [Program(archive.extractfile(f"package/prebuilds/darwin-{name}/bittern.node").read())
                    for name in ("arm64", "x64")]
    need([program.cpu for program in programs] == [ARM64, X86_64], "addons for both kinds of Mac expected")
    return programs, DYLIB, True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("archives", nargs="+")
    parser.add_argument("--stubs", default=next(iter(glob.glob(
        f"{ROOT}/build/zig/*/lib/python3*/site-packages/ziglang/lib/libc/darwin/libSystem.tbd")), None))
    options = parser.parse_args()
    if options.stubs is None:
        sys.exit("macOS: stubs of its libraries expected; tools/release_deps.sh aarch64-macos.11.0 gets them")
    for path in options.archives:
        read = of_wheel if path.endswith(".whl") else of_npm if path.endswith(".tgz") else of_tarball
        programs, kind, addon = read(path)
        for program in programs:
            need(program.type == kind, f"{path}: a file of type {kind} expected, {program.type} found")
            known = stubs(options.stubs, TARGETS[program.cpu])
            found = check(program, known, addon)
            self_test(program, known, addon)
            print(f"{os.path.basename(path)}, {KINDS[program.cpu]}: macOS {program.oldest()[0]}.{program.oldest()[1]}, "
                  f"{len(program.data):,} bytes, {found}: good")


if __name__ == "__main__":
    try:
        main()
    except Broken as error:
        sys.exit(f"macOS: {error}")
