#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the Python package with a shared library that is built already, for a machine that need not be this one, into
OUT/bittern-VERSION-py3-none-PLATFORM.whl, by the writer of wheels of the build backend. Prints the wheel's name. Two
calls give the same bytes. PLATFORM is manylinux2014_x86_64, musllinux_1_1_aarch64, macosx_11_0_arm64, win_amd64 or the
like; the library is stripped by whoever built it.

usage: tools/wheel.py LIBRARY PLATFORM OUT
"""
import pathlib
import sys

import prebuilt

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "build_backend"))
import bittern_build  # noqa: E402  # pylint: disable=wrong-import-position

# How a tag begins: sys.platform there, Node.js's word, what a binary's notices are called (notices.py).
SYSTEMS = {"manylinux": ("linux", "linux", "download"), "musllinux": ("linux", "linux", "download"),
           "macosx": ("darwin", "darwin", "macos"), "win": ("win32", "win32", "windows")}
CPUS = {"x86_64": ("x64",), "amd64": ("x64",), "aarch64": ("arm64",), "arm64": ("arm64",), "universal2": ("x64", "arm64")}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    library, platform, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    system = next((row for start, row in SYSTEMS.items() if platform.startswith(start)), None)
    cpus = next((words for end, words in CPUS.items() if platform.endswith("_" + end)), ())
    if system is None or not cpus:
        sys.exit(f"tools/wheel.py: {'... or '.join(SYSTEMS)}... with one of {', '.join(CPUS)} at its end expected, {platform} found")
    data = library.read_bytes()
    for cpu in cpus:
        wrong = prebuilt.expect(data, f"{system[1]}-{cpu}", library)
        if wrong:
            sys.exit(f"tools/wheel.py: {wrong}")
    out.mkdir(parents=True, exist_ok=True)
    print(bittern_build.write_wheel(out, data, platform, system[0], system[2]))


if __name__ == "__main__":
    main()
