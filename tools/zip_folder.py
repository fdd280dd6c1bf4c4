#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a zip file of a folder whose bytes depend on the contents alone: names in order, and the time of
SOURCE_DATE_EPOCH for all.

usage: tools/zip_folder.py FOLDER OUT.zip
"""
import os
import pathlib
import sys
import time
import zipfile


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    folder, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo((folder.name / path.relative_to(folder)).as_posix(), moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.suffix == ".exe" else 0o644) << 16
            archive.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    main()
