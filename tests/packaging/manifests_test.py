#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/manifests.py writes for package managers: every field that they ask for, the hashes of the files, what is
left out where a program is missing; the formula by Ruby and winget's files by a reader of YAML, where these are there.

usage: manifests_test.py
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMES = ("bittern-linux-x86_64.tar.gz", "bittern-linux-aarch64.tar.gz", "bittern-macos-universal.tar.gz", "bittern-windows-x86_64.zip")
URL = "https://example.invalid/files"
# A formula's words, as far as it uses them, which print what it says on one system.
HOMEBREW = """
class Formula
  SAID = {}
  def self.test; end
  def self.method_missing(name, *words, &block)
    return (block.call if SYSTEM.include?(name.to_s.sub('on_', ''))) if name.to_s.start_with?('on_')
    SAID[name] = words.first unless block
  end
end
SYSTEM = ARGV[1..]
load ARGV[0]
puts Formula::SAID[:url], Formula::SAID[:sha256]
"""


class Manifests(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-manifests-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.sums = {}

    def make(self, names=NAMES, *words):
        """Writes a release of these files and its manifests; returns what is complained of."""
        dist = self.folder / "dist"
        dist.mkdir(exist_ok=True)
        self.sums = {name: hashlib.sha256(name.encode()).hexdigest() for name in names}
        (dist / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in self.sums.items()))
        self.out = self.folder / "out"
        shutil.rmtree(self.out, ignore_errors=True)
        done = subprocess.run([sys.executable, str(ROOT / "tools/manifests.py"), "1.2.3", str(dist), str(self.out), *words],
                              capture_output=True, text=True, env=os.environ | {"SOURCE_DATE_EPOCH": "1000000000"}, check=True)
        return done.stderr

    def text(self, name):
        return (self.out / name).read_text(encoding="utf-8")

    def test_formula(self):
        self.assertEqual(self.make(NAMES, URL), "")
        text = self.text("bittern.rb")
        for name in NAMES[:3]:
            self.assertIn(f'url "{URL}/1.2.3/{name}"\n', text)
            self.assertRegex(text, rf'{re.escape(name)}"\n +sha256 "{self.sums[name]}"')
        self.assertNotIn(NAMES[3], text)
        golden = (ROOT / "models/certificates.txt").read_text()
        self.assertIn(re.search('certificate = "(.*)"', text)[1], golden.splitlines())
        self.assertLess(len(re.search('desc "(.*)"', text)[1]), 80)  # Homebrew's rule

    @unittest.skipIf(shutil.which("ruby") is None, "no ruby")
    def test_formula_in_ruby(self):
        self.make(NAMES, URL)
        self.assertIn("Syntax OK", subprocess.run(["ruby", "-wc", str(self.out / "bittern.rb")], capture_output=True, text=True).stdout)
        for name, words in zip(NAMES[:3], (("linux", "intel"), ("linux", "arm"), ("macos", "arm"))):
            said = subprocess.run(["ruby", "-e", HOMEBREW, str(self.out / "bittern.rb"), *words], capture_output=True, text=True)
            self.assertEqual(said.stdout.split(), [f"{URL}/1.2.3/{name}", self.sums[name]], said.stderr)

    def test_scoop(self):
        self.make(NAMES, URL + "/")
        said = json.loads(self.text("bittern.json"))
        self.assertEqual(said["version"], "1.2.3")
        self.assertEqual(said["architecture"], {"64bit": {"url": f"{URL}/1.2.3/{NAMES[3]}", "hash": self.sums[NAMES[3]]}})
        self.assertEqual((said["extract_dir"], said["bin"]), ("bittern-windows-x86_64", "bittern.exe"))
        self.assertEqual(said["autoupdate"]["architecture"]["64bit"]["url"].replace("$version", "1.2.3"), f"{URL}/1.2.3/{NAMES[3]}")
        for key in ("homepage", "license", "description", "checkver"):
            self.assertTrue(said[key])

    def test_winget(self):
        self.make()
        kinds = {"": "version", ".installer": "installer", ".locale.en-US": "defaultLocale"}
        texts = {kind: self.text(f"winget/Bittern.Bittern{name}.yaml") for name, kind in kinds.items()}
        self.assertEqual(len(list((self.out / "winget").iterdir())), 3)
        for kind, text in texts.items():
            for line in ("PackageIdentifier: Bittern.Bittern", "PackageVersion: 1.2.3", f"ManifestType: {kind}", "ManifestVersion: 1.6.0"):
                self.assertIn(line, text.splitlines())
        for line in (f'  InstallerSha256: "{self.sums[NAMES[3]].upper()}"', "- RelativeFilePath: bittern-windows-x86_64\\bittern.exe",
                     "  PortableCommandAlias: bittern", "InstallerType: zip", "NestedInstallerType: portable", "ReleaseDate: 2001-09-09",
                     f"  InstallerUrl: https://bittern.invalid/releases/1.2.3/{NAMES[3]}"):
            self.assertIn(line, texts["installer"].splitlines())
        if yaml is None:
            return
        said = {kind: yaml.safe_load(text) for kind, text in texts.items()}
        self.assertEqual(said["version"]["DefaultLocale"], said["defaultLocale"]["PackageLocale"])
        self.assertEqual(said["installer"]["Installers"][0]["InstallerSha256"], self.sums[NAMES[3]].upper())
        for key in ("Publisher", "PackageName", "License", "ShortDescription"):  # winget asks for these
            self.assertIsInstance(said["defaultLocale"][key], str)

    def test_what_a_release_lacks(self):
        said = self.make(NAMES[:1])
        for name in NAMES[1:]:
            self.assertIn(f"{name} expected in SHA256SUMS", said)
        self.assertEqual([path.name for path in self.out.rglob("*")], ["bittern.rb"])
        self.assertNotIn("on_macos", self.text("bittern.rb"))
        self.assertNotIn("on_arm", self.text("bittern.rb"))
        self.make(NAMES[3:])
        self.assertEqual({path.name for path in self.out.iterdir()}, {"bittern.json", "winget"})


if __name__ == "__main__":
    unittest.main()
