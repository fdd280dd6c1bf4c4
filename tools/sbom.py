#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints an SPDX 2.3 document of what the static program holds: Bittern itself, the headers and
archives of Debian packages that it was built from, and the runtime libraries of the compiler. Its
name is a hash of what it says, the program's own hash among it: each build has another, and a build
that is repeated (SOURCE_DATE_EPOCH) has the same.

usage: tools/sbom.py VERSION PROGRAM
"""
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import notices

WORDNET = "LicenseRef-WordNet-3.0"  # SPDX's list does not have it


def version_of(package):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else None


def package(name, version, licence):
    return {"SPDXID": "SPDXRef-" + name.replace("+", "p"), "name": name, "versionInfo": version,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False}


def document(version, program):
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    itself = package("bittern", version, f"Apache-2.0 AND {WORDNET}")
    itself["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(program).hexdigest()}]
    packages = [itself] + [package(name, found, held.licence) for name, held in notices.LINKED.items()
                           if (found := version_of(name)) is not None]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-bittern"}]
    relations += [{"spdxElementId": "SPDXRef-bittern", "relationshipType": "CONTAINS",
                   "relatedSpdxElement": other["SPDXID"]} for other in packages[1:]]
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
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    print(json.dumps(document(sys.argv[1], pathlib.Path(sys.argv[2]).read_bytes()), indent=1))


if __name__ == "__main__":
    main()
