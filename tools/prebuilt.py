# SPDX-License-Identifier: Apache-2.0
"""Which machines a shared library is for, by its first bytes: what wheel.py and npm_package.py ask before they pack one.
Names are those of Node.js: PLATFORM-ARCH."""
import struct

ELF = {62: "linux-x64", 183: "linux-arm64"}
MACH_O = {0x01000007: "darwin-x64", 0x0100000C: "darwin-arm64"}
PE = {0x8664: "win32-x64", 0xAA64: "win32-arm64"}


def machines_of(data):
    """A set of names; empty where the bytes are no shared library of a kind that is known."""
    found = []
    if data[:6] == b"\x7fELF\x02\x01" and len(data) >= 20:
        found = [ELF.get(struct.unpack_from("<H", data, 18)[0])]
    elif data[:4] == b"\xcf\xfa\xed\xfe" and len(data) >= 8:
        found = [MACH_O.get(struct.unpack_from("<I", data, 4)[0])]
    elif data[:4] == b"\xca\xfe\xba\xbe" and len(data) >= 8:  # one for several machines
        count = struct.unpack_from(">I", data, 4)[0]
        if count < 8 and len(data) >= 8 + 20 * count:
            found = [MACH_O.get(struct.unpack_from(">I", data, 8 + 20 * i)[0]) for i in range(count)]
    elif data[:2] == b"MZ" and len(data) >= 64:
        at = struct.unpack_from("<I", data, 60)[0]
        if data[at:at + 4] == b"PE\0\0" and len(data) >= at + 6:
            found = [PE.get(struct.unpack_from("<H", data, at + 4)[0])]
    return {name for name in found if name}


def expect(data, machine, name):
    """A sentence where the bytes of the file `name` are not for that machine; else None."""
    found = machines_of(data)
    if machine in found:
        return None
    return f"{name}: a shared library for {machine} expected, {' and '.join(sorted(found)) or 'something else'} found"
