#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two files of a layer give the same name to things in anonymous namespaces.

Files are compiled in batches (BITTERN_UNITY), so such names may meet; which files share a batch changes with every
file that is added. Each layer is parsed here as one batch.

    tools/check_unity_names.py SOURCE_FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def main(source):
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DBITTERN_UNITY_BATCH=0", "-DBITTERN_TESTS=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                       check=True, stdout=subprocess.DEVNULL)
        for entry in json.loads((pathlib.Path(folder) / "compile_commands.json").read_text()):
            if "/Unity/" not in entry["file"]:
                continue
            command = re.sub(r" -o \S+", "", entry["command"]).replace(" -c ", " -fsyntax-only ")
            run = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                failed = True
                print("\n".join(line for line in run.stderr.split("\n") if "error" in line or "previously" in line))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
