# SPDX-License-Identifier: Apache-2.0
"""A PEP 517 build backend without dependencies: builds libbittern with cmake and packs it with the
Python files into a wheel for this platform. No compiler is needed where the wheel is installed.

BITTERN_LIBRARY=FILE takes a shared library that is built already. Called by pip, in one thread.
"""
import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent.parent
SOURCE = HERE.parent
NAME, VERSION = "bittern", "0.1.0"
EPOCH = (2020, 1, 1, 0, 0, 0)  # of all files: two builds give the same bytes


def _tag():
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def _build_library():
    """The path of libbittern.so."""
    given = os.environ.get("BITTERN_LIBRARY")
    if given:
        return pathlib.Path(given).resolve()
    for tool in ("cmake", "ninja", "c++"):
        if shutil.which(tool) is None:
            raise RuntimeError(f"{tool} is needed to build bittern; on Debian: apt-get install "
                               "g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev "
                               "libexpected-dev libutf8proc-dev libxxhash-dev, and "
                               "libcurl4-openssl-dev for models by name")
    build = SOURCE / "build" / "release"
    hub = "ON" if shutil.which("curl-config") else "OFF"  # pull() needs libcurl's headers here
    subprocess.run(["cmake", "--preset", "release", f"-DBITTERN_HUB={hub}", "-DBITTERN_TLS=OFF"], cwd=SOURCE, check=True)
    subprocess.run(["cmake", "--build", str(build), "--target", "bittern_shared"], check=True)
    return (build / "src" / "capi" / "libbittern.so").resolve()


def _metadata():
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
            "Summary: Ternary language models (BitNet b1.58) on CPUs\nLicense: Apache-2.0\n"
            "Requires-Python: >=3.9\nProvides-Extra: numpy\n"
            "Requires-Dist: numpy; extra == 'numpy'\n"
            "Description-Content-Type: text/markdown\n\n" + readme)


def _wheel_file():
    return f"Wheel-Version: 1.0\nGenerator: bittern_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


class _Wheel:
    """A wheel being written: a zip file and the hashes of what is in it."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.records = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, EPOCH)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def finish(self, info):
        record = f"{info}/RECORD"
        lines = "\n".join(self.records + [f"{record},,"]) + "\n"
        self.zip.writestr(zipfile.ZipInfo(record, EPOCH), lines)
        self.zip.close()


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = _build_library()
    name = f"{NAME}-{VERSION}-{_tag()}.whl"
    wheel = _Wheel(os.path.join(wheel_directory, name))
    for path in sorted((HERE / "bittern").iterdir()):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            wheel.add(f"bittern/{path.name}", path.read_bytes())
    wheel.add("bittern/libbittern.so", _stripped(library), 0o755)
    info = f"{NAME}-{VERSION}.dist-info"
    wheel.add(f"{info}/METADATA", _metadata().encode())
    wheel.add(f"{info}/WHEEL", _wheel_file().encode())
    wheel.add(f"{info}/LICENSE", (SOURCE / "LICENSE").read_bytes())
    wheel.finish(info)
    return name


def _stripped(library):
    """The library's bytes without symbols that only a debugger wants, where strip is there."""
    if shutil.which("strip") is None:
        return library.read_bytes()
    copy = SOURCE / "build" / f"libbittern-{os.getpid()}.so"
    copy.parent.mkdir(exist_ok=True)
    try:
        subprocess.run(["strip", "--strip-unneeded", "-o", str(copy), str(library)], check=True)
        return copy.read_bytes()
    finally:
        copy.unlink(missing_ok=True)
