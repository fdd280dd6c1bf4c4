#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_pip.py BITTERN [TEST...] (BITTERN is not used)

The build backend: what is in a wheel, and what it leaves alone. With BITTERN_LIBRARY nothing is
compiled; without it (./check deep) the library is built from a read-only copy of a source
distribution. pip is asked where venv is there, without an index."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent
sys.path.insert(0, str(PACKAGE / "build_backend"))
import bittern_build  # noqa: E402  # pylint: disable=wrong-import-position

LIBRARY = os.environ.get("BITTERN_LIBRARY")
TRY = "import bittern; print(bittern.Model().generate('A tern is', n_predict=5, temperature=0)); print(bittern.__file__)"
try:
    import ensurepip  # noqa: F401  # pylint: disable=unused-import
    import venv
except ImportError:
    venv = None


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout[-3000:]} {done.stderr[-3000:]}")
    return done.stdout


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-pip-"))
        self.addCleanup(shutil.rmtree, self.folder)


@unittest.skipUnless(LIBRARY, "the deep test builds")
class Files(Folder):
    def test_wheel(self):
        wheel = zipfile.ZipFile(self.folder / bittern_build.build_wheel(self.folder))
        names = set(wheel.namelist())
        info = bittern_build.INFO
        self.assertLessEqual({f"bittern/{path.name}" for path in (PACKAGE / "bittern").glob("*.py")}, names)
        self.assertLessEqual({"bittern/py.typed", "bittern/libbittern.so", f"{info}/LICENSE"}, names)
        notices = wheel.read(f"{info}/NOTICES").decode()
        for words in ("Princeton University", "Victor Zverovich", "Niels Lohmann", "Yann Collet", "Unicode, Inc."):
            self.assertIn(words, notices)
        for line in wheel.read(f"{info}/RECORD").decode().splitlines():
            name, digest, size = line.rsplit(",", 2)
            if digest:
                self.assertEqual(len(wheel.read(name)), int(size))
        first = hashlib.sha256((self.folder / wheel.filename).read_bytes()).digest()
        bittern_build.build_wheel(self.folder)
        self.assertEqual(hashlib.sha256((self.folder / wheel.filename).read_bytes()).digest(), first)

    def test_metadata_needs_no_build(self):
        bittern_build.prepare_metadata_for_build_wheel(self.folder)
        written = {path.name for path in (self.folder / bittern_build.INFO).iterdir()}
        self.assertEqual(written, {"METADATA", "WHEEL", "LICENSE", "NOTICES"})

    def test_one_list_of_packages(self):
        """Where a tool is missing, the message is that of tools/packages.sh."""
        for name in ("awk", "bash", "dirname", "grep", "id"):
            (self.folder / name).symlink_to(shutil.which(name))
        for name in ("apt-get", "dpkg-query"):  # nothing is installed
            (self.folder / name).write_text("#!/bin/sh\nexit 1\n")
            (self.folder / name).chmod(0o755)
        path, os.environ["PATH"] = os.environ["PATH"], str(self.folder)
        try:
            with self.assertRaisesRegex(RuntimeError, "cmake is needed .*apt-get install g.*libboost-dev"):
                bittern_build._need_tools()
            (self.folder / "bash").unlink()
            with self.assertRaisesRegex(RuntimeError, "named in .*packages.sh"):
                bittern_build._need_tools()
        finally:
            os.environ["PATH"] = path

    def test_notices_are_those_of_the_packages(self):
        """Each line of copyright is in Debian's file, too."""
        seen = 0
        for name, package in [("fmt", "libfmt-dev"), ("nlohmann-json", "nlohmann-json3-dev"), ("cli11", "libcli11-dev"),
                              ("utf8proc", "libutf8proc-dev"), ("xxhash", "libxxhash-dev")]:
            debian = pathlib.Path(f"/usr/share/doc/{package}/copyright")
            if not debian.exists():
                continue
            text = re.sub(r"\s+", " ", debian.read_text(encoding="utf-8"))
            for line in (ROOT / "deploy/notices" / name).read_text(encoding="utf-8").split("\n\n")[0].splitlines():
                self.assertIn(line.removeprefix("Copyright "), text)
                seen += 1
        if seen == 0:
            self.skipTest("no Debian packages here")


@unittest.skipIf(venv is None, "needs venv and ensurepip")
class Pip(Folder):
    def setUp(self):
        super().setUp()
        venv.create(self.folder / "venv", with_pip=True)
        self.python = str(self.folder / "venv/bin/python")
        self.environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def install(self, *what):
        run(self.python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", *what,
            env=self.environment, cwd=self.folder)
        bare = {key: value for key, value in self.environment.items() if key != "BITTERN_LIBRARY"}
        return run(self.python, "-c", TRY, env=bare, cwd=self.folder).splitlines()

    @unittest.skipUnless(LIBRARY, "the deep test builds")
    def test_editable(self):
        text, where = self.install("-e", str(PACKAGE))
        self.assertIn("small", text)
        self.assertEqual(pathlib.Path(where).parent, PACKAGE / "bittern")

    def test_read_only_source_distribution(self):
        """With BITTERN_LIBRARY in no time; else this is the whole build."""
        before = {path: path.stat().st_mtime_ns for path in (ROOT / "build").glob("*/CMakeCache.txt")
                  if path.parent.name != "pip"}
        with tarfile.open(self.folder / bittern_build.build_sdist(self.folder)) as archive:
            archive.extractall(self.folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        source = self.folder / f"bittern-{bittern_build.VERSION}"
        held = sum(path.stat().st_size for path in source.rglob("*"))
        self.assertLess(held, 30e6)
        if os.getuid() == 0:  # root writes everywhere, but not over a file in the way of the folder
            (source / "source/build").write_text("no folder")
        run("chmod", "-R", "a-w", str(source))
        try:
            text, where = self.install(str(source))
        finally:
            run("chmod", "-R", "u+w", str(source))
        self.assertIn("small", text)
        self.assertIn("site-packages", where)
        self.assertEqual(held, sum(path.stat().st_size for path in source.rglob("*") if path.name != "build"
                                   and "__pycache__" not in str(path)))
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in before})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
