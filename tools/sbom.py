#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints an SPDX 2.3 document of a release: its files, which are programs and packages, and what is linked into
them: headers and archives of Debian packages, the sources that tools/release_deps.sh builds, the run-time
libraries of compilers. Its name is a hash of what it says, the hashes of the files among it: each build has
another, and a build that is repeated (SOURCE_DATE_EPOCH) has the same.

usage: tools/sbom.py VERSION FILE...
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import notices

WORDNET = "LicenseRef-WordNet-3.0"  # SPDX's list does not have it


def version_of(package):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else None


def identifier(name):
    return "SPDXRef-" + re.sub("[^A-Za-z0-9.-]", "-", name.replace("+", "p"))


def package(name, version, licence):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False}


def sources():
    """Versions of what downloads are built from, by name; none before tools/release_deps.sh has run."""
    place = notices.ROOT / "build" / "release-deps" / "versions"
    return dict(line.split() for line in place.read_text().splitlines()) if place.exists() else {}


def kind_of(file):
    """Which of notices.KINDS a file of a release is."""
    if file.name.endswith((".zip", "win_amd64.whl")):
        return notices.WINDOWS
    if "-macos" in file.name:
        return notices.MACOS
    if file.name.endswith((".tar.gz", ".rpm", ".whl")):
        return notices.DOWNLOAD
    library = file.name.startswith("libbittern") or file.suffix == ".tgz"
    return notices.LIBRARY if library else notices.PROGRAM


def parts(kind, known):
    """The libraries that are linked into a file of that kind; a download may have another version than this machine."""
    for name, held in notices.LINKED.items():
        if kind not in held.kinds:
            continue
        version = known.get(held.source) if kind in notices.DOWNLOADS and held.source else version_of(name)
        if version is not None:
            version = f"of zig {version}" if held.source == "zig" else version
            yield package(name, version, held.licence) | {"SPDXID": identifier(f"{name}-{version}")}


def document(version, files):
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    made = []
    for file in files:
        made.append(package(file.name, version, f"Apache-2.0 AND {WORDNET}"))
        made[-1]["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read_bytes()).hexdigest()}]
    known = sources()
    held = [list(parts(kind_of(file), known)) for file in files]
    packages = made + list({part["SPDXID"]: part for some in held for part in some}.values())
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": one["SPDXID"]} for one in made]
    relations += [{"spdxElementId": one["SPDXID"], "relationshipType": "CONTAINS",
                   "relatedSpdxElement": part["SPDXID"]} for one, some in zip(made, held) for part in some]
    said = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": "bittern-" + version,
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tools/sbom.py"]},
        "packages": packages, "relationships": relations,
        "hasExtractedLicensingInfos": [{"licenseId": WORDNET, "name": "WordNet 3.0 license",
                                        "extractedText": notices.wordnet_licence()}]}
    name = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return said | {"documentNamespace": f"urn:bittern:sbom:{version}:{name}"}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    print(json.dumps(document(sys.argv[1], [pathlib.Path(file) for file in sys.argv[2:]]), indent=1))


if __name__ == "__main__":
    main()
