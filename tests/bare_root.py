#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's two commands where nothing is installed: bare roots made by debootstrap, as root; of Debian 12 where
a case names no other.

Usage: bare_root.py [--keep] [--unsigned] [--work FOLDER] [--build FOLDER] [CASE...]     (all cases without CASE)
  archive-run    `./bittern run`, then `./check`, from `git archive`
  archive-check  `./check` first, from `git archive`
  clone-run      the same two from a clone, with git installed
  clone-check
  debian-13      the same two from `git archive`: g++ 14, {fmt} 10, CLI11 2.4
  ubuntu-22.04   `./bittern run` from `git archive`: g++ 11, CMake 3.22, {fmt} 8.1, libcurl 7.81; without the keyring of
                 Ubuntu's archive only with --unsigned
  no-network     both commands say what to do
  no-rights      both commands, as a user who may not install, say what to do
  pip            `pip install ./python` in a checkout: first it names the packages that it needs, then it builds without
                 a compiler cache, and the example of docs/embedding.md runs
  library        the installed library and the commands of docs/embedding.md: first with a compiler for C alone, then
                 static, with one for C++. --build names the build folder that is installed
  node           the npm package of that build folder, where there is Node.js and no compiler

Each command runs at a terminal; nothing that is silent for more than 10 seconds passes. Prints seconds and packages.
Roots are made anew for each case in FOLDER (/var/tmp/bittern-roots); compiled files are shared between the cases."""
import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOOD = "A tern is a small slender gull"
MOST_SILENCE = 10
# Name: the release and its source, None: this machine's mirror.
SYSTEMS = {"debian-12": ("bookworm", None), "debian-13": ("trixie", None),
           "ubuntu-22.04": ("jammy", "http://archive.ubuntu.com/ubuntu")}
UBUNTU_KEYS = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
COMMANDS = {"run": ["./bittern", "run", "-p", "A tern is"], "check": ["./check"]}


def say(text):
    print(text, flush=True)


def output(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def mirror(release):
    """Where this machine gets packages of that release from."""
    rows = output("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    found = [row.split()[0] for row in rows.splitlines() if row.split()[1:] == [release, "main"]]
    return found[0] if found else None


def private_mounts():
    """Begins this program again where its mounts are its own: they end with it, whatever ends it. A `/dev` that stays
    mounted in a root is this machine's, and whoever deletes the root later deletes that."""
    if os.environ.get("BITTERN_PRIVATE_MOUNTS") != "1":
        os.environ["BITTERN_PRIVATE_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def make_base(folder, system):
    """A minimal system, Debian 12 with updates where this machine has them."""
    base = os.path.join(folder, "base" if system == "debian-12" else f"base-{system}")
    if os.path.exists(os.path.join(base, "complete")):
        return base
    shutil.rmtree(base, ignore_errors=True)
    say("making a bare root")
    release, source = SYSTEMS[system]
    words = []
    if source:
        words = ["--components=main,universe",
                 f"--keyring={UBUNTU_KEYS}" if os.path.exists(UBUNTU_KEYS) else "--no-check-gpg"]
    output("debootstrap", "--variant=minbase", *words, release, base, source or mirror("bookworm"))
    if system == "debian-12":
        with open(f"{base}/etc/apt/sources.list", "w", encoding="utf-8") as file:
            for name in (release, f"{release}-updates", f"{release}-security"):
                if mirror(name):
                    file.write(f"deb {mirror(name)} {name} main\n")
    for name in ("Check-Valid-Until", "Check-Date"):  # a mirror may be a snapshot
        with open(f"{base}/etc/apt/apt.conf.d/10dates", "a", encoding="utf-8") as file:
            file.write(f'Acquire::{name} "false";\n')
    open(os.path.join(base, "complete"), "w", encoding="utf-8").close()
    return base


class Root:
    """A copy of the bare root with the sources in /src/bittern."""

    def __init__(self, folder, name, kind=None, system="debian-12"):
        self.path = os.path.join(folder, name)
        self.unmount()
        shutil.rmtree(self.path, ignore_errors=True)
        output("cp", "-a", make_base(folder, system), self.path)
        self.source = f"{self.path}/src/bittern"
        cache = os.path.join(folder, "ccache")
        os.makedirs(cache, exist_ok=True)
        os.makedirs(f"{self.path}/root/.cache/ccache", exist_ok=True)
        for words in (["-t", "proc", "proc", f"{self.path}/proc"], ["--bind", "/dev", f"{self.path}/dev"],
                      ["--bind", "/dev/pts", f"{self.path}/dev/pts"],
                      ["--bind", cache, f"{self.path}/root/.cache/ccache"]):
            output("mount", *words)
        shutil.copy("/etc/resolv.conf", f"{self.path}/etc/resolv.conf")
        os.makedirs(f"{self.path}/src")
        if kind is None:
            return
        if kind == "clone":
            output("git", "clone", "-q", "--no-hardlinks", SOURCE, self.source)
            self.run(["sh", "-c", "apt-get -qq update && apt-get -qq -y install --no-install-recommends git"], place="/")
        else:
            os.makedirs(self.source)
            archive = subprocess.Popen(["git", "-C", SOURCE, "archive", "HEAD"], stdout=subprocess.PIPE)
            subprocess.run(["tar", "x", "-C", self.source], stdin=archive.stdout, check=True)
            archive.wait()

    def unmount(self):
        for place in ("root/.cache/ccache", "dev/pts", "dev", "proc"):
            subprocess.run(["umount", "-l", f"{self.path}/{place}"], capture_output=True, check=False)

    def packages(self):
        return len(output("chroot", self.path, "dpkg-query", "-W").splitlines())

    def run(self, words, place="/src/bittern", before=(), user=None):
        """At a terminal. Returns (exit code, text, the longest silence in seconds, seconds)."""
        # env -i: nothing of this machine's environment; names of the terminal as a login has them.
        command = [*before, "chroot", *([f"--userspec={user}"] if user else []), self.path, "/usr/bin/env", "-i",
                   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=xterm",
                   "sh", "-c", 'cd "$0" && exec "$@"', place, *words]
        begin = last = time.monotonic()
        silence, text = 0, b""
        process, terminal = pty.fork()
        if process == 0:
            os.execvp(command[0], command)
        while True:
            ready = select.select([terminal], [], [], 1)[0]
            now = time.monotonic()
            silence = max(silence, now - last)
            if not ready:
                continue
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            last = now
            text += piece
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return status, text.decode(errors="replace"), silence, time.monotonic() - begin


failures = []


def check(case, good, text):
    if not good:
        failures.append(case)
        say(f"FAILED: {case}: {text}")


def in_order(folder, case, kind, commands, system="debian-12"):
    root = Root(folder, case, kind, system)
    try:
        for name in commands:
            before = root.packages()
            status, text, silence, seconds = root.run(COMMANDS[name])
            say(f"{case}: {' '.join(COMMANDS[name])}: exit code {status}, {seconds:.0f} s, "
                f"{root.packages() - before} packages installed, {silence:.1f} s the longest silence")
            for line in re.findall(r"^.*SKIPPED.*$", text, re.M):
                say("   " + line.strip())
            check(case, status == 0, text[-4000:])
            check(case, silence <= MOST_SILENCE, f"{silence:.1f} s without a sign of life")
            wanted = GOOD if name == "run" else "check: all good"
            check(case, wanted in text, f"{wanted!r} is not in {text[-2000:]}")
    finally:
        root.unmount()


def refused(folder, case, **how):
    root = Root(folder, case, "archive")
    try:
        output("chroot", root.path, "chown", "-R", "1000:1000", "/src")
        for words in COMMANDS.values():
            status, text, _, seconds = root.run(words, **how)
            say(f"{case}: {' '.join(words)}: exit code {status} after {seconds:.0f} s: {text.strip().splitlines()[-1]}")
            check(case, status == 1, text)
            wanted = "network" if case == "no-network" else "apt-get install"
            check(case, wanted in text, f"{wanted!r} is not in {text}")
    finally:
        root.unmount()


def blocks(language):
    """The code in that language of docs/embedding.md."""
    with open(f"{SOURCE}/docs/embedding.md", encoding="utf-8") as page:
        return re.findall(rf"^```{language}\n(.*?)^```$", page.read(), re.M | re.S)


def succeed(root, case, command, wanted=""):
    """Runs a command by the shell in the root's home."""
    status, text, _, seconds = root.run(["sh", "-ec", command], place="/root")
    say(f"{case}: {command.strip().splitlines()[-1]}: exit code {status}, {seconds:.0f} s")
    check(case, status == 0 and wanted in text, f"{command}: {text[-3000:]}")


def install(root, case, *packages):
    succeed(root, case, f"apt-get -qq update && apt-get -qq -y install --no-install-recommends {' '.join(packages)}")


def library(folder, case, build):
    """The page's commands, word for word, but for the first, whose build folder lies outside of the root."""
    root = Root(folder, case)
    home = f"{root.path}/root"
    try:
        output("cmake", "--install", build, "--prefix", f"{home}/bittern")
        pkg_config, cmake = blocks("sh")[1:3]
        shared, static = pkg_config.splitlines()[1:]
        export = pkg_config.splitlines()[0]
        for name, language in (("hello.c", "c"), ("CMakeLists.txt", "cmake")):
            with open(f"{home}/{name}", "w", encoding="utf-8") as file:
                file.write(blocks(language)[0])
        install(root, case, "gcc", "libc6-dev", "cmake", "make", "pkg-config")
        succeed(root, case, "! command -v c++")
        succeed(root, case, f"{export}\n{shared}\n./hello", GOOD[len("A tern is"):])
        succeed(root, case, f"{cmake}\nbuild/hello", GOOD[len("A tern is"):])
        install(root, case, "g++", "libutf8proc-dev")
        succeed(root, case, f"{export}\n{static}\n./hello-static", GOOD[len("A tern is"):])
        succeed(root, case, "sed -i s/Bittern::bittern/Bittern::static/ CMakeLists.txt && rm -r build\n"
                f"{cmake}\nbuild/hello", GOOD[len("A tern is"):])
    finally:
        root.unmount()


def pip(folder, case):
    """The packages are those of the message, but for ccache."""
    root = Root(folder, case, "archive")
    try:
        install(root, case, "python3-venv")
        succeed(root, case, "python3 -m venv environment")
        command = "cd /src/bittern && /root/environment/bin/pip install ./python"
        status, text, _, _ = root.run(["sh", "-ec", command], place="/root")
        named = re.search(r"apt-get install ([a-z0-9+. -]+)", text)
        check(case, status != 0 and named, f"the packages to install expected, found {text[-2000:]}")
        if not named:
            return
        install(root, case, *(name for name in named[1].split() if name != "ccache"))
        succeed(root, case, "! command -v ccache")
        succeed(root, case, command, "Successfully installed bittern")
        with open(f"{root.path}/root/hello.py", "w", encoding="utf-8") as file:
            file.write(blocks("python")[0])
        succeed(root, case, "environment/bin/python hello.py", GOOD[len("A tern is"):])
    finally:
        root.unmount()


def node(folder, case, build):
    if not os.path.isdir(f"{build}/node/package") or not shutil.which("npm"):
        say(f"{case}: SKIPPED: {build}/node/package is not built, or npm is not there")
        return
    root = Root(folder, case)
    try:
        output("npm", "pack", "--silent", "--pack-destination", f"{root.path}/root", f"{build}/node/package")
        install(root, case, "nodejs")
        succeed(root, case, "! command -v cc")
        # npm itself would bring 400 packages: it unpacks the tarball in the same way.
        succeed(root, case, "mkdir -p node_modules && tar xzf bittern-*.tgz -C node_modules && "
                "mv node_modules/package node_modules/bittern\n"
                "node -e \"require('bittern').Model.load().then((m) => m.complete('A tern is', {nPredict: 20}))"
                ".then(({text}) => console.log(text))\"", GOOD[len("A tern is"):])
    finally:
        root.unmount()


CASES = {"archive-run": lambda folder: in_order(folder, "archive-run", "archive", ["run", "check"]),
         "archive-check": lambda folder: in_order(folder, "archive-check", "archive", ["check"]),
         "clone-run": lambda folder: in_order(folder, "clone-run", "clone", ["run", "check"]),
         "clone-check": lambda folder: in_order(folder, "clone-check", "clone", ["check"]),
         "debian-13": lambda folder: in_order(folder, "debian-13", "archive", ["run", "check"], "debian-13"),
         "ubuntu-22.04": lambda folder: in_order(folder, "ubuntu-22.04", "archive", ["run"], "ubuntu-22.04"),
         "no-network": lambda folder: refused(folder, "no-network", before=["unshare", "-n"]),
         "no-rights": lambda folder: refused(folder, "no-rights", user="1000:1000"),
         "pip": lambda folder: pip(folder, "pip")}
WITH_BUILD = {"library": library, "node": node}  # cases that take what was built here


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", default="/var/tmp/bittern-roots")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--unsigned", action="store_true")
    parser.add_argument("--build", default=f"{SOURCE}/build/release")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        say("bare roots SKIPPED: they need root's rights and debootstrap")
        return 0
    private_mounts()
    os.makedirs(options.work, exist_ok=True)
    cases = options.cases or [*CASES, *WITH_BUILD]
    for case in cases:
        if case == "ubuntu-22.04" and not options.unsigned and not os.path.exists(UBUNTU_KEYS):
            say(f"{case}: SKIPPED: {UBUNTU_KEYS} or --unsigned expected")
            continue
        if case in WITH_BUILD:
            WITH_BUILD[case](options.work, case, os.path.abspath(options.build))
        else:
            CASES[case](options.work)
        if not options.keep:
            shutil.rmtree(os.path.join(options.work, case), ignore_errors=True)
    say(f"bare roots: {len(cases)} cases, {len(set(failures))} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
