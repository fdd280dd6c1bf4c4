# SPDX-License-Identifier: Apache-2.0
"""A PEP 517 and 660 build backend without dependencies: builds libbittern with cmake and packs it with
the Python files into a wheel for this platform. No compiler is needed where the wheel is installed.

It builds in build/pip of the checkout, or where that cannot be written in a temporary folder; nothing
else is touched. BITTERN_LIBRARY=FILE takes a shared library that is built already. Called by pip, in
one thread.
"""
import base64
import contextlib
import hashlib
import io
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent.parent
# A source distribution has the rest of the repository in a folder of its own.
SOURCE = HERE / "source" if (HERE / "source").is_dir() else HERE.parent
NAME, VERSION = "bittern", "0.1.0"
INFO = f"{NAME}-{VERSION}.dist-info"
EPOCH = (2020, 1, 1, 0, 0, 0)  # of all files: two builds give the same bytes
# Of the repository: what the library is built from, and what goes with it.
PARTS = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "apps", "cmake", "deploy/notices", "include",
         "models/WORDNET-LICENSE", "models/pocket-3-i2s.gguf", "src", "tools/notices.py",
         "tools/packages.sh")


def _platform():
    """This machine, in the words of a wheel's name."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


# As the package looks for it.
library_name = runpy.run_path(str(HERE / "bittern" / "_library_name.py"))["library_name"]


def _way_out():
    """What ./bittern says where packages are missing: the command that installs them on this system."""
    script = SOURCE / "tools" / "packages.sh"
    try:
        done = subprocess.run(["bash", str(script), "build"], capture_output=True, text=True, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"The packages that a build needs are named in {script}"


def _need_tools():
    for tool in ("cmake", "ninja", "c++"):
        if shutil.which(tool) is None:
            raise RuntimeError(f"{tool} is needed to build bittern. {_way_out()}")


@contextlib.contextmanager
def _build_folder():
    """build/pip, which makes a second build short, or a temporary folder."""
    folder = SOURCE / "build" / "pip"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        with tempfile.TemporaryDirectory(prefix="bittern-") as temporary:
            yield pathlib.Path(temporary)
        return
    yield folder


def _run(*command):
    """Runs a tool; where it fails, says which packages it wants."""
    try:
        subprocess.run(command, cwd=SOURCE, check=True)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{command[0]} failed (above). {_way_out()}") from error


def _library():
    """The bytes of the shared library, without symbols that only a debugger wants."""
    given = os.environ.get("BITTERN_LIBRARY")
    with _build_folder() as build:
        if given:
            library = pathlib.Path(given).resolve()
        else:
            _need_tools()
            hub = "ON" if shutil.which("curl-config") else "OFF"  # pull() needs libcurl's headers
            _run("cmake", "--preset", "release", "-B", str(build), f"-DBITTERN_HUB={hub}",
                 "-DBITTERN_TLS=OFF", "-DBITTERN_NODE=OFF")
            _run("cmake", "--build", str(build), "--target", "bittern_shared")
            library = (build / "src" / "capi" / library_name()).resolve()
        if sys.platform != "linux" or shutil.which("strip") is None:
            return library.read_bytes()
        stripped = build / f"libbittern-{os.getpid()}.so"
        try:
            _run("strip", "--strip-unneeded", "-o", str(stripped), str(library))
            return stripped.read_bytes()
        finally:
            stripped.unlink(missing_ok=True)


def _metadata():
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
            "Summary: Ternary language models (BitNet b1.58) on CPUs\nLicense: Apache-2.0\n"
            "License-File: LICENSE\nLicense-File: NOTICES\n"
            "Requires-Python: >=3.9\nProvides-Extra: numpy\n"
            "Requires-Dist: numpy; extra == 'numpy'\n"
            "Description-Content-Type: text/markdown\n\n" + readme)


def _info_files(platform, notices="library"):
    """The files of the folder .dist-info, but RECORD. `notices`: a kind of tools/notices.py."""
    text = subprocess.run([sys.executable, str(SOURCE / "tools" / "notices.py"), notices],
                          check=True, capture_output=True).stdout
    wheel = (f"Wheel-Version: 1.0\nGenerator: bittern_build\nRoot-Is-Purelib: false\n"
             f"Tag: py3-none-{platform}\n")
    return {"METADATA": _metadata().encode(), "WHEEL": wheel.encode(),
            "LICENSE": (SOURCE / "LICENSE").read_bytes(), "NOTICES": text}


class _Wheel:
    """A wheel being written: a zip file and the hashes of what is in it."""

    def __init__(self, folder, platform):
        self.name, self.platform = f"{NAME}-{VERSION}-py3-none-{platform}.whl", platform
        self.zip = zipfile.ZipFile(os.path.join(folder, self.name), "w", zipfile.ZIP_DEFLATED)
        self.records = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, EPOCH)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def finish(self, notices="library"):
        for name, data in _info_files(self.platform, notices).items():
            self.add(f"{INFO}/{name}", data)
        record = f"{INFO}/RECORD"
        lines = "\n".join(self.records + [f"{record},,"]) + "\n"
        self.zip.writestr(zipfile.ZipInfo(record, EPOCH), lines)
        self.zip.close()
        return self.name


def write_wheel(folder, library, platform, system=sys.platform, notices="library"):
    """The name of a wheel with the bytes of that shared library. `system` is sys.platform there."""
    wheel = _Wheel(folder, platform)
    for path in sorted((HERE / "bittern").iterdir()):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            wheel.add(f"bittern/{path.name}", path.read_bytes())
    wheel.add(f"bittern/{library_name(system)}", library, 0o755)
    return wheel.finish(notices)


# The hooks. pip asks for metadata before it builds; that costs no build.


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory) / INFO
    folder.mkdir()
    for name, data in _info_files(_platform()).items():
        (folder / name).write_bytes(data)
    return INFO


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, _library(), _platform())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The Python files stay in the checkout; the library is the one of this moment."""
    library = _library()
    wheel = _Wheel(wheel_directory, _platform())
    wheel.add("bittern_editable.pth", f"{HERE}\n".encode())
    wheel.add("_bittern_editable/__init__.py", b'"""The library of an editable install."""\n')
    wheel.add(f"_bittern_editable/{library_name()}", library, 0o755)
    return wheel.finish()


def _source_files():
    """What goes into a source distribution: (file, its name there)."""
    for path in sorted(HERE.rglob("*")):
        name = path.relative_to(HERE)
        if path.is_file() and name.parts[0] != "source":
            yield path, str(name)
    for part in PARTS:
        start = SOURCE / part
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if path.is_file():
                yield path, f"source/{path.relative_to(SOURCE)}"


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{VERSION}"
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz") as archive:
        def add(name, data, mode=0o644):
            info = tarfile.TarInfo(f"{base}/{name}")
            info.size, info.mode = len(data), mode
            archive.addfile(info, io.BytesIO(data))
        add("PKG-INFO", _metadata().encode())
        for path, name in _source_files():
            if "__pycache__" not in name and name != "PKG-INFO":
                add(name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
    return base + ".tar.gz"
