#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which packages a build needs, on systems beside Debian: ./bittern and ./check on a PATH with another package manager
name the command that installs what is missing; docs/install.md shows those of the table in tools/packages.sh; what
./bittern runs is understood by bash 3.2 and needs no GNU tool. BITTERN_OLD_BASH names a bash 3.2 to run it by.

usage: packages_test.py
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "tools" / "packages.sh"
SYSTEMS = ("debian", "fedora", "arch", "homebrew", "alpine", "vcpkg")
# What a small system has; no compiler, no package manager.
TOOLS = ("awk", "cat", "dirname", "env", "find", "grep", "head", "id", "ls", "mkdir", "mkfifo", "mktemp", "mv", "paste", "perl",
         "readlink", "rm", "sed", "sleep", "sort", "tail", "touch", "tr", "uname", "wc")
# Programs by which each system is known and asked; "$2" of the case is the name that is asked for last.
MANAGERS = {"fedora": ("dnf", "rpm"), "arch": ("pacman",), "alpine": ("apk",), "homebrew": ("brew",)}


def command(use, system):
    """The command of the table, without sudo."""
    said = subprocess.run(["bash", str(TABLE), use, system], capture_output=True, text=True, check=True).stdout.strip()
    return said.removeprefix("sudo ")


class Machine:
    """A folder with a copy of the scripts and a PATH of its own."""

    def __init__(self, folder):
        self.tree, self.bin = folder / "tree", folder / "bin"
        self.bin.mkdir()
        self.tree.mkdir()
        for name in ("bittern", "check"):
            shutil.copy2(ROOT / name, self.tree)
        shutil.copytree(ROOT / "tools", self.tree / "tools")
        for name in TOOLS:
            self.link(name, shutil.which(name))
        self.link("bash", os.environ.get("BITTERN_OLD_BASH") or shutil.which("bash"))

    def link(self, name, place):
        (self.bin / name).symlink_to(place)

    def add(self, name, text):
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text("#!/bin/sh\n" + text + "\n")
        (self.bin / name).chmod(0o755)

    def become(self, system, installed=()):
        """The system's manager says of these names that they are installed."""
        cases = f'for last; do :; done\ncase " {" ".join(installed)} " in *" $last "*) exit 0 ;; esac\nexit 1'
        for name in MANAGERS[system]:
            self.add(name, cases)

    def run(self, *words, code=1):
        done = subprocess.run(words, cwd=self.tree, env={"PATH": str(self.bin), "HOME": "/nowhere"}, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
        if done.returncode != code:
            raise AssertionError(f"{words}: exit code {code} expected, {done.returncode} found: {done.stdout} {done.stderr}")
        return done.stdout + done.stderr


class OtherSystems(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-packages-"))
        self.addCleanup(shutil.rmtree, folder)
        self.machine = Machine(folder)
        self.machine.add("id", "echo 1000")

    def test_nothing_is_there(self):
        for system in MANAGERS:
            with self.subTest(system):
                self.machine.become(system)
                said = self.machine.run("./bittern", "run")
                self.assertIn("not found: c++ cmake ninja.", said)
                root = "" if system == "homebrew" else "sudo "
                wanted = command("build", system).replace("brew", "xcode-select --install && brew", 1)
                self.assertIn(f"This installs them: {root}{wanted}\n", said)
                for name in MANAGERS[system]:
                    (self.machine.bin / name).unlink()

    def test_some_are_there(self):
        self.machine.become("fedora", ["gcc-c++", "cmake", "fmt-devel", "openssl-devel"])
        for name in ("c++", "cmake"):
            self.machine.add(name, "exit 1")
        said = self.machine.run("./bittern")
        self.assertIn("not found: ninja. This installs them: sudo dnf install ninja-build ccache json-devel ", said)
        for name in ("fmt-devel", "openssl-devel", "gcc-c++"):
            self.assertNotIn(name, said)
        self.machine.add("id", "echo 0")
        self.assertIn("installs them: dnf install ninja-build", self.machine.run("./bittern"))

    def test_libraries_are_named_where_the_build_fails(self):
        """They may have come by another way, so the build is tried."""
        self.machine.become("arch", ["cmake", "ninja", "gcc", "fmt"])
        for name in ("c++", "cmake", "ninja"):
            self.machine.add(name, "echo 'Could not find CLI11'; exit 1")
        said = self.machine.run("./bittern")
        self.assertIn("the build failed", said)
        self.assertIn("Could not find CLI11", said)
        self.assertIn("sudo pacman -S --needed nlohmann-json cli11 tl-expected", said)
        self.assertNotIn("ccache", said)

    def test_no_manager_that_is_known(self):
        said = self.machine.run("./bittern")
        self.assertIn("no package manager that is known", said)
        self.assertIn("g++ cmake ninja-build ccache libfmt-dev", said)
        self.machine.add("dpkg-query", "exit 1")  # without apt-get
        self.assertIn("no package manager that is known", self.machine.run("./bittern"))

    def test_debian(self):
        """There everything is installed; bash 3.2 shows how it goes."""
        asked = self.machine.tree / "asked"
        self.machine.add("sudo", 'exec "$@"')
        self.machine.add("dpkg-query", 'for last; do :; done\n[ "$last" != cmake ] || printf "ii "')
        self.machine.add("apt-get", f'echo "$@" >> "{asked}"; echo "Get:1 a package"')
        said = self.machine.run("./bittern")
        wanted = [name for name in command("build", "debian").split("install ")[1].split() if name != "cmake"]
        self.assertIn(f"installing packages that are missing: {' '.join(wanted)}\n", said)
        self.assertEqual(asked.read_text().splitlines(), ["update -q", "install -q -y --no-install-recommends " + " ".join(wanted)])
        self.assertIn("not found: c++ cmake ninja. This installs them: sudo apt-get install g++ ninja-build", said)
        self.machine.add("apt-get", "echo 'E: no such package'; exit 100")
        said = self.machine.run("./bittern")
        self.assertIn("E: no such package\n", said)
        self.assertIn("Is there a network", said)

    def test_check(self):
        self.machine.bin.joinpath("bash").unlink()
        self.machine.link("bash", shutil.which("bash"))
        self.machine.become("fedora")
        said = self.machine.run("./check")
        self.assertIn("check: not found: c++ cmake ninja python3.", said)
        self.assertIn(command("check", "fedora"), said)

    def test_a_linked_script_finds_its_checkout(self):
        (self.machine.tree / "over").symlink_to("bittern")
        elsewhere = self.machine.bin.parent / "elsewhere"
        elsewhere.symlink_to(self.machine.tree / "over")
        self.assertIn(f"log: {self.machine.tree}/build/release.log", self.machine.run(str(elsewhere)))

    def test_what_is_built_is_run(self):
        """And the second call builds nothing; two calls at once build once."""
        self.machine.become("arch")
        build = "echo built >> count; mkdir -p build/release/apps/cli; printf '#!/bin/sh\\necho ran $1\\n' > build/new"
        self.machine.add("cmake", f'case $1 in --build) ;; *) exit 0 ;; esac\n{build}\nchmod +x build/new\nsleep 1\n'
                         "mv build/new build/release/apps/cli/bittern")
        self.machine.link("chmod", shutil.which("chmod"))
        for name in ("c++", "ninja"):
            self.machine.add(name, "exit 0")
        for folder in ("src", "apps", "cmake"):
            (self.machine.tree / folder).mkdir()
        for name in ("CMakeLists.txt", "CMakePresets.json"):
            (self.machine.tree / name).touch()
        words = [str(self.machine.tree / "bittern"), "this"]
        both = [subprocess.Popen(words, env={"PATH": str(self.machine.bin)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                for _ in range(2)]
        self.assertEqual([one.communicate(timeout=60)[0] for one in both], ["ran this\n"] * 2)
        self.assertEqual(self.machine.run(*words, code=0), "ran this\n")
        self.assertEqual((self.machine.tree / "count").read_text(), "built\n")
        (self.machine.tree / "src" / "new.cpp").touch()
        self.machine.run(*words, code=0)
        self.assertEqual((self.machine.tree / "count").read_text(), "built\nbuilt\n")


class Table(unittest.TestCase):
    def test_the_page_shows_it(self):
        page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").split("## From source")[1].split("\n## ")[0]
        for system in SYSTEMS:
            shown = [line.split("  #")[0].rstrip() for line in page.splitlines()]
            root = "" if system in ("homebrew", "vcpkg") else "sudo "
            self.assertIn(root + command("build", system), [line.removeprefix("xcode-select --install && ") for line in shown])

    def test_rows_are_whole(self):
        table = re.search(r"PACKAGES='\n(.*?)'", TABLE.read_text(), re.S)[1]
        for row in table.splitlines():
            self.assertEqual(len(row.split()), 7, row)
        self.assertEqual(subprocess.run(["bash", str(TABLE), "build", "plan9"], capture_output=True, check=False).returncode, 2)


# What bash 3.2 or a system without GNU's tools does not have.
NEWER = {
    "mapfile": r"\b(mapfile|readarray)\b", "case of a variable": r"\$\{\w+(,,?|\^\^?)", "associative array": r"\b(declare|local|typeset) -\w*[An]",
    "coproc": r"\bcoproc\b", "a descriptor's name": r"\bexec \{\w+\}", "both outputs": r"&>>|\|&", "negative index": r"\[-1\]",
    "time in variables": r"\bEPOCH(REALTIME|SECONDS)\b|%\(.*\)T", "readlink": r"\breadlink -", "realpath": r"\brealpath\b",
    "flock": r"^(?!.*command -v flock)(?!    flock 9$).*\bflock \S", "find": r"-printf\b|-quit\b|-maxdepth\b|\bfind -", "sed": r"\bsed (-\w*[ir])",
    "GNU words": r"\b(nproc|sha256sum|tac|timeout|stat -c|date -d|xargs -\w*[dr]|grep -\w*P|sort -\w*V|cp -\w*[at]|ln -\w*[tr])\b", "wait": r"\bwait -n\b",
    "test of a variable": r"\[\[? -v\b", "quoting": r"\$\{\w+@",
}
SAMPLES = ("mapfile -t x", "${x,,}", "local -A x", "coproc x", "exec {never}<> <(:)", "x |& y", "${x[-1]}", "$EPOCHREALTIME", "readlink -f x", "realpath x",
           "flock 9", "find x -printf y", "sed -i x", "nproc", "wait -n", "[[ -v x ]]", "${x@Q}")


class OldBash(unittest.TestCase):
    def scripts(self):
        first = ROOT / "bittern"
        sourced = re.findall(r'source "\$root/(\S+)"', first.read_text())
        self.assertEqual(len(sourced), 2)
        return [first, *(ROOT / name for name in sourced)]

    def test_nothing_newer(self):
        for script in self.scripts():
            for number, line in enumerate(script.read_text().splitlines(), 1):
                code = re.sub(r"(^|\s)#.*", "", line)
                for what, pattern in NEWER.items():
                    self.assertIsNone(re.search(pattern, code), f"{script.name}:{number}: {what}: {line}")

    def test_the_patterns_see_them(self):
        for sample, (what, pattern) in zip(SAMPLES, NEWER.items(), strict=True):
            self.assertRegex(sample, pattern, what)


if __name__ == "__main__":
    unittest.main()
