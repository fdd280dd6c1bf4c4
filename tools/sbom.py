#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints an SPDX 2.3 document of what the static program holds: Bittern itself, the headers and
archives of Debian packages that it was built from, and the runtime libraries of the compiler.

usage: tools/sbom.py VERSION
"""
import datetime
import json
import os
import subprocess
import sys

LINKED = {  # Debian package: licence of what is compiled or linked in
    "libfmt-dev": "MIT",
    "nlohmann-json3-dev": "MIT",
    "libcli11-dev": "BSD-3-Clause",
    "libexpected-dev": "CC0-1.0",
    "libutf8proc-dev": "MIT",
    "libxxhash-dev": "BSD-2-Clause",
    "libboost-dev": "BSL-1.0",
    "libssl-dev": "Apache-2.0",
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libc6-dev": "LGPL-2.1-or-later",
}


def version_of(package):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else None


def package(name, version, licence):
    return {"SPDXID": "SPDXRef-" + name.replace("+", "p"), "name": name, "versionInfo": version,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False}


def main():
    version = sys.argv[1]
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    packages = [package("bittern", version, "Apache-2.0")]
    packages += [package(name, found, licence) for name, licence in LINKED.items()
                 if (found := version_of(name)) is not None]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-bittern"}]
    relations += [{"spdxElementId": "SPDXRef-bittern", "relationshipType": "CONTAINS",
                   "relatedSpdxElement": other["SPDXID"]} for other in packages[1:]]
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": "bittern-" + version, "documentNamespace": "urn:bittern:sbom:" + version,
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tools/sbom.py"]},
        "packages": packages, "relationships": relations}, indent=1))


if __name__ == "__main__":
    main()
