#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one npm package for several machines: PACKAGE, the folder that a build makes for its own (build/release/node/
package), with the addons that are named instead of its own, in OUT, as `npm pack` takes it. Each is for
PLATFORM-ARCH in Node.js's words, with -musl at its end for Linux with that C library; node/lib/addon.js chooses.

usage: tools/npm_package.py PACKAGE OUT PLATFORM-ARCH[-musl]=bittern.node...
"""
import json
import pathlib
import shutil
import sys

import notices
import prebuilt


# What the notices of binaries for a system are called, beside those for Linux.
SYSTEMS = {"win32": notices.WINDOWS, "darwin": notices.MACOS}


def fail(text):
    sys.exit(f"tools/npm_package.py: {text}")


def read_addons(words):
    """Name: bytes. Each is for the machine that it is named after."""
    addons = {}
    for word in words:
        name, _, file = word.partition("=")
        if not file or len(name.removesuffix("-musl").split("-")) != 2:
            fail(f"PLATFORM-ARCH=FILE expected, {word} found")
        addons[name] = pathlib.Path(file).read_bytes()
        wrong = prebuilt.expect(addons[name], name.removesuffix("-musl"), file)
        if wrong:
            fail(wrong)
    return addons


def describe(package, addons):
    """package.json with the machines that there are addons for; npm refuses the others."""
    machines = [name.split("-") for name in sorted(addons)]
    package["os"] = sorted({words[0] for words in machines})
    package["cpu"] = sorted({words[1] for words in machines})
    # npm takes any word here for "Linux alone".
    package.pop("libc", None)
    if package["os"] == ["linux"]:
        package["libc"] = sorted({"musl" if len(words) > 2 else "glibc" for words in machines})
    return package


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.split("\n\n")[-1].strip())
    source, out, addons = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), read_addons(sys.argv[3:])
    if not (source / "package.json").exists():
        fail(f"{source}: a folder with package.json expected; cmake --build makes it (target node_package)")
    if out.exists():
        shutil.rmtree(out)
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("prebuilds"))
    package = describe(json.loads((source / "package.json").read_text(encoding="utf-8")), addons)
    (out / "package.json").write_text(json.dumps(package, indent=2) + "\n", encoding="utf-8")
    kinds = {SYSTEMS.get(name.split("-")[0], notices.DOWNLOAD) for name in addons}
    (out / "NOTICES").write_text(notices.notices(notices.LIBRARY, *kinds), encoding="utf-8")
    for name, data in addons.items():
        place = out / "prebuilds" / name
        place.mkdir(parents=True)
        (place / "bittern.node").write_bytes(data)


if __name__ == "__main__":
    main()
