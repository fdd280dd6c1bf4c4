#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what package managers want to know of a release, by the hashes in its SHA256SUMS: OUT/bittern.rb (Homebrew's
formula), OUT/bittern.json (Scoop's manifest), OUT/winget/*.yaml (winget's three files). A program that the release lacks
is left out, with a line that says so. URL/VERSION/FILE is where the files will lie; there is no public place yet, and the
URL that stands for one leads nowhere.

usage: tools/manifests.py VERSION DIST OUT [URL]
"""
import datetime
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASES = "https://bittern.invalid/releases"
LINUX = {"intel": "bittern-linux-x86_64.tar.gz", "arm": "bittern-linux-aarch64.tar.gz"}
MACOS, WINDOWS = "bittern-macos-universal.tar.gz", "bittern-windows-x86_64.zip"
SUMMARY = "Ternary language models on ordinary CPUs, with the same answers everywhere"


class Release:
    def __init__(self, version, dist, url):
        self.version, self.url = version, url.rstrip("/")
        lines = (dist / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        self.sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}

    def has(self, name, leaves_out):
        if name not in self.sums:
            print(f"tools/manifests.py: {name} expected in SHA256SUMS, and not there; {leaves_out}", file=sys.stderr)
        return name in self.sums

    def place(self, name, version=None):
        return f"{self.url}/{version or self.version}/{name}"


def built_in_certificate():
    """What the built-in model answers everywhere."""
    text = (ROOT / "models" / "certificates.txt").read_text(encoding="utf-8")
    return re.search(r"built-in model;.*\n(bittern-certificate .*)", text)[1]


def formula(release):
    """Homebrew's formula; None where the release has nothing for it."""
    def source(name, depth):
        return [" " * depth + f'url "{release.place(name)}"', " " * depth + f'sha256 "{release.sums[name]}"']

    lines = []
    if release.has(MACOS, "the formula leaves macOS out"):
        lines += ["  on_macos do", *source(MACOS, 4), "    depends_on macos: :big_sur", "  end", ""]
    linux = {cpu: name for cpu, name in LINUX.items() if release.has(name, "the formula leaves it out")}
    if linux:
        lines += ["  on_linux do"]
        for cpu, name in linux.items():
            lines += [f"    on_{cpu} do", *source(name, 6), "    end"]
        lines += ["  end", ""]
    if not lines:
        return None
    return "\n".join([
        "# SPDX-License-Identifier: Apache-2.0", "# Written by tools/manifests.py.", "class Bittern < Formula",
        f'  desc "{SUMMARY}"', f'  homepage "{release.url}"', f'  version "{release.version}"',
        '  license all_of: ["Apache-2.0", :cannot_represent] # the built-in model: WordNet 3.0', "", *lines,
        "  def install", '    prefix.install "bin", "share"', "  end", "", "  test do",
        '    assert_match version.to_s, shell_output("#{bin}/bittern --version")',
        "    # What the built-in model answers on every machine.",
        f'    certificate = "{built_in_certificate()}"',
        '    assert_equal certificate, shell_output("#{bin}/bittern certify").strip', "  end", "end", ""])


def scoop(release):
    if not release.has(WINDOWS, "there is no manifest of Scoop's"):
        return None
    at = WINDOWS.removesuffix(".zip")
    return json.dumps({
        "version": release.version, "description": SUMMARY, "homepage": release.url,
        "license": {"identifier": "Apache-2.0,WordNet-3.0"},
        "architecture": {"64bit": {"url": release.place(WINDOWS), "hash": release.sums[WINDOWS]}},
        "extract_dir": at, "bin": "bittern.exe",
        "checkver": {"url": f"{release.url}/latest", "regex": r"([\d.]+)"},
        "autoupdate": {"architecture": {"64bit": {"url": release.place(WINDOWS, "$version")}},
                       "hash": {"url": "$baseurl/SHA256SUMS"}}}, indent=4) + "\n"


def yaml(fields, depth=0):
    """YAML of texts, lists and dictionaries; texts that YAML would take for something else stand in quotes."""
    lines = []
    for key, value in fields.items():
        start = "  " * depth + key + ":"
        if isinstance(value, str):
            plain = re.fullmatch(r"[A-Za-z][\w .,/\\:-]*|\d+(\.\d+){2,}|\d{4}-\d\d-\d\d", value) and ": " not in value
            lines.append(f"{start} {value if plain else json.dumps(value)}")
            continue
        lines.append(start)
        for one in value:
            part = yaml(one, depth + 1).splitlines() if isinstance(one, dict) else ["  " * (depth + 1) + one]
            lines += ["  " * depth + "- " + part[0].strip(), *part[1:]]
    return "\n".join(lines)


def winget(release):
    """Name of a file: its text. Empty where the release has no program for Windows."""
    if not release.has(WINDOWS, "there are no manifests of winget's"):
        return {}
    name = "Bittern.Bittern"
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    head = {"PackageIdentifier": name, "PackageVersion": release.version}
    files = {
        f"{name}.yaml": ("version", {"DefaultLocale": "en-US"}),
        f"{name}.installer.yaml": ("installer", {
            "Platform": ["Windows.Desktop"], "MinimumOSVersion": "10.0.17763.0", "InstallerType": "zip",
            "NestedInstallerType": "portable",
            "NestedInstallerFiles": [{"RelativeFilePath": WINDOWS.removesuffix(".zip") + "\\bittern.exe",
                                      "PortableCommandAlias": "bittern"}],
            "Commands": ["bittern"], "ReleaseDate": when.strftime("%Y-%m-%d"),
            "Installers": [{"Architecture": "x64", "InstallerUrl": release.place(WINDOWS),
                            "InstallerSha256": release.sums[WINDOWS].upper()}]}),
        f"{name}.locale.en-US.yaml": ("defaultLocale", {
            "PackageLocale": "en-US", "Publisher": "Bittern developers", "PackageName": "Bittern",
            "PackageUrl": release.url, "License": "Apache-2.0 AND WordNet-3.0", "ShortDescription": SUMMARY, "Moniker": "bittern",
            "Tags": ["bitnet", "llm", "ternary"]})}
    end = lambda kind: {"ManifestType": kind, "ManifestVersion": "1.6.0"}
    return {file: yaml(head | fields | end(kind)) + "\n" for file, (kind, fields) in files.items()}


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__.split("\n\n")[-1].strip())
    version, dist, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    release = Release(version, dist, sys.argv[4] if len(sys.argv) == 5 else RELEASES)
    files = {"bittern.rb": formula(release), "bittern.json": scoop(release)}
    files |= {f"winget/{name}": text for name, text in winget(release).items()}
    for name, text in files.items():
        if text is not None:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
