#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/rpm.sh packs: the files of the tarball and the unit, owned by root, with the dates of SOURCE_DATE_EPOCH,
needing nothing; the same bytes twice; unpacked, BITTERN runs. Skipped without rpmbuild (Debian: rpm).

usage: rpm_test.py BITTERN
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BITTERN = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tools"))
import notices  # noqa: E402
import sbom  # noqa: E402

EPOCH = 1000000000
DOC, PAGE = "share/doc/bittern/LICENSE", "share/man/man1/bittern.1"


def run(*words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH), "TZ": "UTC", "PAYLOAD": "w1.gzdio"})
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}: {done.stdout} {done.stderr}")
    return done.stdout + done.stderr


class Rpm(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-rpm-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, program, arch="x86_64"):
        """The package of a tarball with that program and two files beside it."""
        tree = self.folder / f"bittern-linux-{arch}"
        for name in ("bin", "share/doc/bittern", "share/man/man1"):
            (tree / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(program, tree / "bin" / "bittern")
        if program == BITTERN:
            run("strip", str(tree / "bin" / "bittern"))
        for name in (DOC, PAGE):
            (tree / name).write_text(name)
        tarball = self.folder / f"{tree.name}.tar.gz"
        with tarfile.open(tarball, "w:gz") as archive:
            archive.add(tree, tree.name)
        run(str(ROOT / "tools/rpm.sh"), "1.2.3", str(tarball), str(self.folder / "out"))
        return self.folder / "out" / f"bittern-1.2.3-1.{arch}.rpm"

    def small(self):
        """A program that needs no time to pack."""
        script = self.folder / "script"
        script.write_text("#!/bin/sh\necho hello\n")
        script.chmod(0o755)
        return script

    def test_what_it_says(self):
        for arch in ("x86_64", "aarch64"):
            package = str(self.make(self.small(), arch))
            said = run("rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{OS} %{BUILDTIME} %{BUILDHOST}", package)
            self.assertEqual(said, f"bittern 1.2.3 1 {arch} linux {EPOCH} bittern")
            self.assertEqual([line for line in run("rpm", "-qp", "--requires", package).split("\n") if not line.startswith("rpmlib(")], [""])
            listed = run("rpm", "-qp", "--qf", "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEMTIMES}\n]", package)
            modes = {"/usr/bin/bittern": "-rwxr-xr-x", "/usr/share/doc/bittern": "drwxr-xr-x"}
            expected = ["/usr/bin/bittern", "/usr/lib/systemd/system/bittern.service", "/usr/share/doc/bittern", f"/usr/{DOC}", f"/usr/{PAGE}"]
            self.assertEqual(listed.splitlines(), [f"{name} {modes.get(name, '-rw-r--r--')} root root {EPOCH}" for name in expected])
            self.assertEqual(run("rpm", "-qp", "--licensefiles", package).strip(), f"/usr/{DOC}")
            self.assertEqual(run("rpm", "-qp", "--scripts", package), "")

    def test_it_holds_what_a_download_holds(self):
        self.assertEqual(sbom.kind_of(pathlib.Path("bittern-1.2.3-1.aarch64.rpm")), notices.DOWNLOAD)

    def test_twice(self):
        first = self.make(self.small()).read_bytes()
        self.assertEqual(self.make(self.small()).read_bytes(), first)

    def test_it_runs(self):
        package = self.make(BITTERN)
        run("rpm2archive", str(package))
        with tarfile.open(f"{package}.tgz") as archive:
            archive.extractall(self.folder / "root", **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
        program = self.folder / "root" / "usr" / "bin" / "bittern"
        self.assertEqual(run(str(program), "certify"), run(str(BITTERN), "certify"))
        unit = (self.folder / "root/usr/lib/systemd/system/bittern.service").read_text()
        self.assertIn("\nExecStart=/usr/bin/bittern serve ", unit)

    def test_wrong_words(self):
        self.assertIn("tools/rpm.sh VERSION TARBALL FOLDER", run(str(ROOT / "tools/rpm.sh"), code=2))
        self.assertIn("there is none", run(str(ROOT / "tools/rpm.sh"), "1", str(self.folder / "bittern-linux-x86_64.tar.gz"), ".", code=1))
        other = self.folder / "bittern-macos-universal.tar.gz"
        other.touch()
        self.assertIn("universal.tar.gz found", run(str(ROOT / "tools/rpm.sh"), "1", str(other), ".", code=2))


if __name__ == "__main__":
    if shutil.which("rpmbuild") is None:
        print("SKIPPED: no rpmbuild (Debian: rpm)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
