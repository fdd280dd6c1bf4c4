#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wheels for machines that need not be this one (tools/wheel.py): names, tags and hashes for each system, the library's
name there, the same bytes twice, a library for another machine refused; the one for this machine, unpacked, answers.

usage: wheel_test.py LIBRARY
"""
import base64
import hashlib
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tools"))
import prebuilt  # noqa: E402

# The first bytes of libraries for other machines.
PE = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664)
MACH_O = struct.pack("<II", 0xFEEDFACF, 0x0100000C) + bytes(24)
UNIVERSAL = struct.pack(">II", 0xCAFEBABE, 2) + b"".join(struct.pack(">5I", cpu, 0, 0, 0, 0) for cpu in (0x01000007, 0x0100000C))
ELF_ARM = b"\x7fELF\x02\x01" + bytes(12) + struct.pack("<H", 183)


class Wheels(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-wheel-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, data, tag, code=0):
        library = self.folder / "library"
        library.write_bytes(data)
        done = subprocess.run([sys.executable, str(ROOT / "tools/wheel.py"), str(library), tag, str(self.folder)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.folder / done.stdout.strip() if code == 0 else done.stderr

    def check(self, data, tag, name):
        wheel = self.make(data, tag)
        self.assertRegex(wheel.name, rf"^bittern-\d+\.\d+\.\d+-py3-none-{tag}\.whl$")
        archive = zipfile.ZipFile(wheel)
        self.assertEqual(archive.read(f"bittern/{name}"), data)
        for needed in ("bittern/__init__.py", "bittern/py.typed", "bittern/_library_name.py"):
            self.assertIn(needed, archive.namelist())
        info = next(one.split("/")[0] for one in archive.namelist() if ".dist-info/" in one)
        self.assertIn(f"\nTag: py3-none-{tag}\n", archive.read(f"{info}/WHEEL").decode())
        notices = archive.read(f"{info}/NOTICES").decode()
        inside = {"dll": "mingw-w64", "so": "musl", "dylib": "Zig contributors"}[name.split(".")[1]]
        self.assertIn(inside, notices)  # what is inside a library for others
        listed = set()
        for line in archive.read(f"{info}/RECORD").decode().splitlines():
            file, digest, size = line.rsplit(",", 2)
            listed.add(file)
            if digest:
                held = archive.read(file)
                found = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={found}", str(len(held))))
        self.assertEqual(listed, set(archive.namelist()))
        first = wheel.read_bytes()
        self.assertEqual(self.make(data, tag).read_bytes(), first)

    def test_every_system(self):
        self.check(ELF_ARM, "manylinux2014_aarch64", "libbittern.so")
        self.check(ELF_ARM, "musllinux_1_1_aarch64", "libbittern.so")
        self.check(MACH_O, "macosx_11_0_arm64", "libbittern.dylib")
        self.check(UNIVERSAL, "macosx_10_15_x86_64", "libbittern.dylib")
        self.check(UNIVERSAL, "macosx_11_0_universal2", "libbittern.dylib")
        self.check(PE, "win_amd64", "bittern.dll")

    def test_a_library_for_another_machine(self):
        self.assertIn("for win32-x64 expected, linux-arm64 found", self.make(ELF_ARM, "win_amd64", 1))
        self.assertIn("for darwin-x64 expected, darwin-arm64 found", self.make(MACH_O, "macosx_11_0_universal2", 1))
        self.assertIn("for linux-x64 expected, something else found", self.make(b"text", "manylinux2014_x86_64", 1))
        self.assertIn("manylinux... or", self.make(PE, "beos_x86_64", 1))
        for cut in (LIBRARY.read_bytes()[:64], PE, UNIVERSAL):
            for end in range(len(cut)):
                prebuilt.machines_of(cut[:end])  # nothing is read behind the end

    @unittest.skipUnless(sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64"), "written for Linux")
    def test_this_machine(self):
        with zipfile.ZipFile(self.make(LIBRARY.read_bytes(), f"manylinux2014_{platform.machine()}")) as archive:
            archive.extractall(self.folder / "site")
        environment = {key: value for key, value in os.environ.items() if key != "BITTERN_LIBRARY"} | {"PYTHONPATH": str(self.folder / "site")}
        script = "import bittern; print(bittern.Model().generate('A tern is', n_predict=5, temperature=0), bittern.__file__)"
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=self.folder, check=False)
        self.assertIn("small", said.stdout, said.stderr)
        self.assertIn(str(self.folder), said.stdout)

    def test_names_of_the_library(self):
        sys.path.insert(0, str(ROOT / "python" / "bittern"))
        from _library_name import library_name
        self.assertEqual([library_name(system) for system in ("linux", "darwin", "win32", "freebsd14")],
                         ["libbittern.so", "libbittern.dylib", "bittern.dll", "libbittern.so"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
