# SPDX-License-Identifier: Apache-2.0
"""The texts Pocket is trained on: Debian packages, fetched by name, and their licences.

Only texts that may be used and passed on freely and that put no condition on what is made from
them (no copyleft) are listed. The packaging files of a Debian package may have another licence;
none of them is read.
"""
import pathlib
import subprocess

# package: (what is read from it, licence of what is read)
PACKAGES = {
    "wordnet-base": (
        "WordNet 3.0, Princeton University: which words there are",
        "WordNet 3.0 licence (permissive: use, copy, modify and distribute for any purpose, "
        "with the copyright notice)"),
    "wordnet-sense-index": (
        "WordNet 3.0, Princeton University: how often each sense was met in tagged text",
        "WordNet 3.0 licence (as above)"),
}


def fetch(work):
    """Downloads and unpacks what is not there yet; returns the folder of the unpacked files."""
    root = pathlib.Path(work) / "sources"
    debs = root / "deb"
    debs.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not list(debs.glob(package + "_*.deb")):
            subprocess.run(["apt-get", "download", "-qq", package], cwd=debs, check=True)
            deb = next(debs.glob(package + "_*.deb"))
            subprocess.run(["dpkg-deb", "-x", str(deb), str(root / "files")], check=True)
    return root / "files"


def licence_table():
    """Markdown table of the sources, for models/README.md."""
    rows = ["| Debian package | what is read | licence |", "|---|---|---|"]
    rows += ["| %s | %s | %s |" % (name, *facts) for name, facts in PACKAGES.items()]
    return "\n".join(rows)


if __name__ == "__main__":
    print(licence_table())
