#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that people download, where little or something old is installed; as root.

Usage: old_systems.py [--dist FOLDER] [--work FOLDER] [--unsigned] PROGRAM [CASE...]     (all cases without CASE)
  debian    the oldest Debian that debootstrap can make from this machine's mirror
  ubuntu    the oldest Ubuntu that its archive has; without its keyring only with --unsigned
  busybox   a folder with BusyBox, nothing else, nothing mounted (with Debian's package busybox-static)
  aarch64   the program for 64-bit ARM by qemu-aarch64, beside nothing; compiled by clang with libc++, as Macs' is

FOLDER (dist) has what tools/release.sh makes. In each case the program unpacked there gives the text and the
certificate of PROGRAM, finds nothing wrong with itself, and pulls a model from a hub over HTTPS: it names the places
of certificates that it looked for, takes a file in the place of a distribution and one that is named. Roots share
this machine's kernel: what an old kernel lacks is not seen here."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "hub"))
from bare_root import SOURCE, mirror, output, private_mounts, say  # noqa: E402
from hub_server import Hub, make_certificate, sha256  # noqa: E402

MODEL = pathlib.Path(SOURCE) / "models" / "pocket-3-i2s.gguf"
REPO, FILE = "user/tern-GGUF", "tern-i2_s.gguf"
DEBIANS = ("jessie", "stretch", "buster", "bullseye", "bookworm")
UBUNTUS = ("trusty", "xenial", "bionic", "focal", "jammy", "noble")
UBUNTU_MIRROR, UBUNTU_KEYS = "http://archive.ubuntu.com/ubuntu", "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
MOUNTS = (("-t", "proc", "proc", "proc"), ("--bind", "/dev", "dev"))

failures = []


def check(case, good, text):
    if not good:
        failures.append(case)
        say(f"FAILED: {case}: {text}")


def unpacked(dist, arch, folder):
    """The program of the tarball, below `folder`."""
    name = f"bittern-linux-{arch}"
    output("tar", "xf", f"{dist}/{name}.tar.gz", "-C", folder)
    return f"{name}/bin/bittern"


def run(words, **variables):
    """The exit code, what it prints, what it complains of."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "HF_HUB_CACHE": "/tmp/bittern-old-systems/hub",
                   "no_proxy": "*", "HF_HUB_DOWNLOAD_TIMEOUT": "30"} | variables
    done = subprocess.run(words, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


class Case:
    """`command` is before the program's words; `root` is where its files are."""

    def __init__(self, name, command, root, options):
        self.name, self.command, self.root, self.options = name, command, pathlib.Path(root), options

    def same_as_here(self, *words):
        _, wanted, _ = run([self.options.program, *words])
        code, found, complaint = run([*self.command, *words])
        check(self.name, code == 0 and found == wanted, f"{words}: {wanted!r} expected, {found!r} found, {complaint[-2000:]}")

    def pull(self, code, wanted, **variables):
        shutil.rmtree(self.root / "tmp/bittern-old-systems", ignore_errors=True)
        found, place, complaint = run([*self.command, "pull", REPO], HF_ENDPOINT=self.options.hub.url, **variables)
        good = found == code and wanted in place + complaint
        if good and code == 0:
            file = self.root / place.strip().lstrip("/")
            good = sha256(file.read_bytes()) == sha256(MODEL.read_bytes())
        check(self.name, good, f"pull, {variables}: {code} and {wanted!r} expected, {found} found, {place}{complaint[-2000:]}")

    def all(self, place=None):
        """`place`: where the root's distribution keeps certificates; None: the root is this machine's own."""
        (self.root / "tmp").mkdir(exist_ok=True)
        self.same_as_here("run", "-p", "A tern is", "--temp", "0")
        self.same_as_here("certify")
        code, found, complaint = run([*self.command, "selftest", "--seconds", "3000"])  # emulators are slow
        check(self.name, code == 0 and "Nothing is wrong" in found, found + complaint)
        pem = self.options.certificate
        named = self.root / "tmp/named.pem"
        if place:
            system = self.root / place
            self.pull(3, f"/{place}")  # the message names all places
            system.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pem, system)
            self.pull(0, FILE)
            system.unlink()
        shutil.copy(pem, named)
        self.pull(0, FILE, SSL_CERT_FILE="/tmp/named.pem")
        self.pull(3, "/tmp/none.pem", SSL_CERT_FILE="/tmp/none.pem")
        say(f"{self.name}: {' '.join(map(str, self.command))}: {'FAILED' if self.name in failures else 'good'}")


def in_root(name, root, place, options, mounts=MOUNTS):
    program = unpacked(options.dist, os.uname().machine, root)
    try:
        for *words, where in mounts:
            output("mount", *words, f"{root}/{where}")
        Case(name, ["chroot", root, "/" + program], root, options).all(place)
    finally:
        for *_, where in reversed(mounts):
            subprocess.run(["umount", "-l", f"{root}/{where}"], capture_output=True, check=False)


def debootstrap(name, releases, source, options, *words):
    """A root of the first release that can be made; None without one."""
    for release in releases:
        root = f"{options.work}/{name}-{release}"
        shutil.rmtree(root, ignore_errors=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", *words, release, root, source], capture_output=True,
                              text=True, check=False)
        if made.returncode == 0:
            return root
        say(f"{name}: no {release}: {(made.stdout + made.stderr).strip().splitlines()[-1]}")
        shutil.rmtree(root, ignore_errors=True)
    say(f"{name}: SKIPPED: no root can be made")
    return None


def debian(options):
    root = debootstrap("debian", DEBIANS, mirror("bookworm"), options)
    if root:
        in_root(os.path.basename(root), root, "etc/ssl/certs/ca-certificates.crt", options)


def ubuntu(options):
    if not os.path.exists(UBUNTU_KEYS) and not options.unsigned:
        say(f"ubuntu: SKIPPED: needs {UBUNTU_KEYS}, or --unsigned")
        return
    keys = "--no-check-gpg" if options.unsigned else f"--keyring={UBUNTU_KEYS}"
    root = debootstrap("ubuntu", UBUNTUS, UBUNTU_MIRROR, options, keys)
    if root:
        in_root(os.path.basename(root), root, "etc/ssl/certs/ca-certificates.crt", options)


def busybox(options):
    if not shutil.which("busybox"):
        say("busybox: SKIPPED: needs busybox-static")
        return
    root = f"{options.work}/busybox"
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root + "/bin")
    shutil.copy(shutil.which("busybox"), root + "/bin/sh")
    in_root("busybox", root, "etc/pki/tls/certs/ca-bundle.crt", options, mounts=())


def aarch64(options):
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if not qemu:
        say("aarch64: SKIPPED: needs qemu-user")
        return
    if not os.path.exists(f"{options.dist}/bittern-linux-aarch64.tar.gz"):
        say("aarch64: SKIPPED: tools/release.sh bittern-linux-aarch64.tar.gz makes its program")
        return
    folder = f"{options.work}/aarch64"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    program = unpacked(options.dist, "aarch64", folder)
    Case("aarch64", [qemu, f"{folder}/{program}"], "/", options).all()


CASES = {"debian": debian, "ubuntu": ubuntu, "busybox": busybox, "aarch64": aarch64}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist", default=f"{SOURCE}/dist")
    parser.add_argument("--work", default="/var/tmp/bittern-old-systems")
    parser.add_argument("--unsigned", action="store_true", help="do not check Ubuntu's signatures")
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        say("old systems SKIPPED: they need root's rights and debootstrap")
        return 0
    private_mounts()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    options.certificate = make_certificate(pathlib.Path(options.work))
    options.hub = Hub(tls=options.certificate)
    options.hub.add(REPO, {FILE: MODEL.read_bytes()})
    cases = options.cases or list(CASES)
    for case in cases:
        CASES[case](options)
    options.hub.close()
    shutil.rmtree(options.work, ignore_errors=True)
    say(f"old systems: {len(cases)} cases, {len(set(failures))} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
