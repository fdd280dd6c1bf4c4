# SPDX-License-Identifier: Apache-2.0
"""Each wheel for Linux is what its name says by auditwheel's rules: the library in it needs no library and no version of a
symbol that the platform's oldest system lacks. A twin of each, whose library needs one that no platform has, is refused.
auditwheel knows musl's C library by Alpine's file name alone. Musl's loader takes every name that begins with "libc." for
itself, and the wheels have the one of musl's own build: their needs are read here.

usage: wheels.py FOLDER
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# Platforms by their older names, as auditwheel says them.
NAMES = {"manylinux2014": "manylinux_2_17"}


def needs(wheel, folder):
    """What the loader is to find for the library of a wheel, by the `readelf` of this machine."""
    with zipfile.ZipFile(wheel) as source:
        name = next(one for one in source.namelist() if one.endswith(".so"))
        library = source.extract(name, folder)
    done = subprocess.run(["readelf", "--dynamic", "--version-info", "--wide", library], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout) + re.findall(r"Version needs section.*", done.stdout)


def tag_of(wheel, folder):
    """The platform of a wheel, or a complaint."""
    if "musllinux" in wheel.name:
        needed = needs(wheel, folder)
        return expected(wheel) if needed == ["libc.so"] else "a library that needs %s" % needed
    # No library of this machine is looked into.
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--ldpaths", str(folder / "none"), str(wheel)],
                          capture_output=True, text=True, check=False)
    text = " ".join((done.stdout + done.stderr).split())
    found = re.search(r'is consistent with the following platform tag: "([^"]+)"', text)
    return found[1] if found else text


def expected(wheel):
    tag = wheel.stem.rsplit("-", 1)[1]
    for old, new in NAMES.items():
        tag = tag.replace(old, new)
    return tag


def spoilt(wheel, folder):
    """The wheel with a library that needs another one: the name of the C library, changed in its table of strings."""
    twin = folder / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(twin, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith(".so"):
                before = next(one for one in (b"\0libm.so.6\0", b"\0libc.so.6\0", b"\0libc.so\0") if one in data)
                data = data.replace(before, before.replace(b"lib", b"lab"))
            target.writestr(name, data)
    return twin


def main():
    wheels = sorted(one for one in pathlib.Path(sys.argv[1]).glob("*.whl") if "linux" in one.name)
    if not wheels:
        sys.exit("wheels.py: wheels for Linux expected, none found in %s" % sys.argv[1])
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for wheel in wheels:
            below = pathlib.Path(folder)
            found, twin = tag_of(wheel, below), tag_of(spoilt(wheel, below), below)
            print("%s: %s; a twin with an unknown library: %s" % (wheel.name, found, twin))
            good = good and found == expected(wheel) and twin != found
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
