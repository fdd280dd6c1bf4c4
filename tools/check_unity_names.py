#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two files of a layer give the same name to things in anonymous namespaces.

Files are compiled in batches (BITTERN_UNITY), so such names may meet; which files share a batch changes with every
file that is added. Each layer is parsed here as one batch.

    tools/check_unity_names.py SOURCE_FOLDER
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def names_given_twice(entry):
    """The compiler's words about one batch; none if it parses."""
    command = re.sub(r" -o \S+", "", entry["command"]).replace(" -c ", " -fsyntax-only ")
    run = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    return "\n".join(line for line in run.stderr.split("\n") if "error" in line or "previously" in line)


def main(source):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DBITTERN_UNITY_BATCH=0", "-DBITTERN_TESTS=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                       check=True, stdout=subprocess.DEVNULL)
        entries = json.loads((pathlib.Path(folder) / "compile_commands.json").read_text())
        batches = [entry for entry in entries if "/Unity/" in entry["file"]]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = [words for words in pool.map(names_given_twice, batches) if words is not None]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
