#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: deploy_test.py BITTERN   The files of deploy/: read by the programs they are for, where these are installed,
and compared with what the server has: its flags, its metrics, its packages, what is linked in. With haproxy: three
replicas, one killed."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from serve_client import Server

BITTERN = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(BITTERN)))
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOP + "/tools")
DEPLOY = TOP + "/deploy"


def text_of(name):
    with open(f"{DEPLOY}/{name}") as file:
        return file.read()


def packages_of(files):
    """The Debian packages that these files belong to."""
    owners = subprocess.run(["dpkg-query", "-S", *files], capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in owners.splitlines()}


def built_from():
    """Headers and archives of the system that the program is made of, by what the build noted."""
    deps = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True).stdout
    files = set()
    for part in deps.split("\n\n"):
        made = part.strip().split(":")[0]  # an object, or a program that newer linkers tell the inputs of
        if not re.search(r"CMakeFiles/\w*_(test|bench)\.dir/|(^|/)\w*_(test|bench)$|^(tests|node|fuzz)/", made):
            files.update(re.findall(r"^    (/usr/(?:include|lib)/\S+)", part, re.M))
    inputs = subprocess.run(["ninja", "-C", BUILD, "-t", "query", "apps/cli/bittern"], capture_output=True, text=True).stdout
    return files | set(re.findall(r"(/usr/lib\S+\.a)\b", inputs))


def need(program):
    if shutil.which(program) is None:
        raise unittest.SkipTest(f"no {program}")


class DeployTest(unittest.TestCase):
    def passes(self, *command, **options):
        run = subprocess.run(command, capture_output=True, text=True, **options)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def test_unit(self):
        need("systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            unit = text_of("bittern.service").replace("/usr/local/bin/bittern", BITTERN)
            with open(folder + "/bittern.service", "w") as file:
                file.write(unit)
            said = self.passes("systemd-analyze", "verify", "--man=no", folder + "/bittern.service")
            self.assertNotIn("bittern.service:", said)  # a line that systemd does not know
            said = self.passes("systemd-analyze", "security", "--offline=true", "--threshold=20", folder + "/bittern.service")
            self.assertIn("OK", said.upper())

    def test_flags_exist(self):
        help_text = subprocess.run([BITTERN, "serve", "--help"], capture_output=True, text=True).stdout
        for name in (one.name for one in os.scandir(DEPLOY) if one.is_file()):
            for flag in re.findall(r"(?<![\w-])(--(?:host|port|metrics|api-key-file|parallel|cache-mib)\b)", text_of(name)):
                self.assertIn(flag, help_text, name)
        for flag in ("--metrics", "--api-key-file"):
            self.assertIn(flag, text_of("bittern.service"))

    def test_packages(self):
        for package in self.passes("bash", TOP + "/tools/packages.sh", "build", "debian").split("install ")[1].split():
            if package != "ccache":
                self.assertIn(package, text_of("Containerfile"))
        self.assertRegex(text_of("Containerfile"), r"\nUSER [1-9]")

    def test_what_is_linked_is_named(self):
        """Every package that a header or an archive of the program comes from is in the list of what is linked; every
        notice is one of a licence that asks for it."""
        import notices
        need("ninja")
        need("dpkg-query")
        found = packages_of(built_from())
        if "libfmt-dev" not in found:
            raise unittest.SkipTest("not a build of ninja's against Debian's packages")
        # libcurl is loaded where it is there; bittern-mpi is no artefact; intrinsics and the kernel's headers leave nothing.
        found -= {name for name in found if re.match(r"libcurl4-|libopenmpi-|linux-libc-|lib(gcc|clang)-", name)}
        found = {re.sub(r"^libboost[\d.]+-dev", "libboost-dev", name) for name in found}
        found = {re.sub(r"^libstdc\+\+-\d+-dev", "libstdc++-12-dev", name) for name in found}  # of any g++
        self.assertLessEqual(found, set(notices.LINKED))
        for held in notices.LINKED.values():
            self.assertEqual(bool(held.notice), held.licence.startswith(("MIT", "BSD-", "ZPL-", "curl")), held)
            for kind in held.kinds if held.notice else ():
                self.assertIn(text_of("notices/" + held.notice), notices.notices(kind))
        self.assertEqual({held.notice for held in notices.LINKED.values()} - {""}, set(os.listdir(DEPLOY + "/notices")))

    def test_packages_are_hardened(self):
        need("ninja")
        with tempfile.TemporaryDirectory() as folder:
            self.passes("cmake", "-S", TOP, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBITTERN_TESTS=OFF",
                        "-DBITTERN_DEBIAN=ON")
            with open(folder + "/compile_commands.json") as file:
                for command in json.load(file):
                    self.assertIn("-D_FORTIFY_SOURCE=2", command["command"])
            links = subprocess.run(["ninja", "-C", folder, "-t", "commands", "bittern", "bittern_shared"],
                                   capture_output=True, text=True).stdout
            links = [line for line in links.splitlines() if re.search(r"-o (apps/cli/bittern|\S+\.so\S*) ", line)]
            self.assertEqual(len(links), 2)
            for line in links:
                self.assertIn("-Wl,-z,relro,-z,now", line)
            # The system's OpenSSL gets security updates, so the program links that one.
            program = next(line for line in links if "-o apps/cli/bittern " in line)
            self.assertIn("libssl.so", program)
            self.assertNotIn("libssl.a", program)

    def test_archives_have_no_dates(self):
        """Two builds give the same archive: no dates and no owners."""
        need("ar")
        archive = BUILD + "/src/capi/libbittern.a"
        if not os.path.exists(archive):
            raise unittest.SkipTest(f"no {archive}")
        for line in self.passes("ar", "tvO", archive).splitlines():
            self.assertRegex(line, r"^\S+ 0/0 .* (1969|1970) ")

    def test_installed_notices(self):
        import notices
        with tempfile.TemporaryDirectory() as folder:
            self.passes("cmake", "--install", BUILD, "--prefix", folder, "--component", "program")
            with open(folder + "/share/doc/bittern/NOTICES") as file:
                self.assertEqual(file.read(), notices.notices("program"))
            self.assertEqual(sorted(os.listdir(folder + "/share/doc/bittern")), ["LICENSE", "NOTICES", "README.md"])

    def test_list_of_materials(self):
        """Another program is another document, the same one the same; it says both licences of the model."""
        make = lambda name: json.loads(self.passes(TOP + "/tools/sbom.py", "0.1.0", f"{TOP}/{name}"))
        one, again, other = make("LICENSE"), make("LICENSE"), make("README.md")
        self.assertEqual(one, again)
        self.assertNotEqual(one["documentNamespace"], other["documentNamespace"])
        self.assertEqual(one["packages"][0]["licenseDeclared"], "Apache-2.0 AND LicenseRef-WordNet-3.0")
        self.assertIn("Princeton", one["hasExtractedLicensingInfos"][0]["extractedText"])

    def test_metrics_exist(self):
        server = Server(BITTERN, "--metrics", "-t", "1", "--log-format", "none")
        try:
            shown = server.get("/metrics")[1]
        finally:
            self.assertEqual(server.stop(), 0)
        for metric in set(re.findall(r"(bittern_\w+|llamacpp:\w+)", text_of("alerts.yml"))):
            self.assertIn(f"\n{metric} ", shown)

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("no python3-yaml")
        documents = {name: list(yaml.safe_load_all(text_of(name))) for name in ("kubernetes.yaml", "prometheus.yml", "alerts.yml")}
        kinds = [document["kind"] for document in documents["kubernetes.yaml"]]
        self.assertEqual(kinds, ["Deployment", "Service", "PodDisruptionBudget"])
        pod = documents["kubernetes.yaml"][0]["spec"]["template"]
        for part in documents["kubernetes.yaml"][1:]:
            selector = part["spec"]["selector"]
            labels = selector.get("matchLabels", selector)
            self.assertEqual(labels, pod["metadata"]["labels"])
        self.assertTrue(pod["spec"]["securityContext"]["runAsNonRoot"])

    def test_prometheus(self):
        need("promtool")
        self.passes("promtool", "check", "config", "prometheus.yml", cwd=DEPLOY)
        self.passes("promtool", "check", "rules", "alerts.yml", cwd=DEPLOY)

    def test_script(self):
        self.passes("bash", "-n", DEPLOY + "/debian.sh")
        if shutil.which("shellcheck"):
            self.passes("shellcheck", "-x", DEPLOY + "/debian.sh", cwd=TOP)

    def test_haproxy(self):
        need("haproxy")
        self.passes("haproxy", "-c", "-q", "-f", DEPLOY + "/haproxy.cfg")
        replicas = [Server(BITTERN, "-t", "1", "--log-format", "none") for _ in range(3)]
        config = text_of("haproxy.cfg").replace("bind :8000", "bind 127.0.0.1:18231").replace("log stdout", "#")
        for i, replica in enumerate(replicas):
            config = config.replace(f"127.0.0.1:808{i + 1}", f"127.0.0.1:{replica.port}")
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
            file.write(config)
            file.flush()
            proxy = subprocess.Popen(["haproxy", "-q", "-f", file.name], stderr=subprocess.DEVNULL)
            try:
                self.behind_proxy(replicas)
            finally:
                proxy.kill()
                proxy.wait()
                for replica in replicas:
                    replica.kill()

    def behind_proxy(self, replicas):
        """The same bytes from every replica; a killed one loses only what it was writing."""
        through = object.__new__(Server)
        through.port = 18231
        for _ in range(100):
            try:
                if through.get("/health")[0] == 200:
                    break
            except OSError:
                pass
            threading.Event().wait(0.1)
        self.assertEqual(through.get("/metrics")[0], 404)
        bodies = [{"messages": [{"role": "user", "content": f"Hello {i}"}], "max_tokens": 12, "seed": i} for i in range(24)]
        choices = lambda server, body: server.post("/v1/chat/completions", body)[1]["choices"]
        alone = [choices(replicas[2], body) for body in bodies]
        answers, retries = [None] * len(bodies), []

        def ask(i):
            for _ in range(5):
                try:
                    status, text, _ = through.request("POST", "/v1/chat/completions", bodies[i])
                    if status == 200:
                        answers[i] = json.loads(text)["choices"]
                        return
                except (OSError, ValueError):
                    pass
                retries.append(i)
                threading.Event().wait(0.3)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        for i, thread in enumerate(threads):
            thread.start()
            if i == 12:
                replicas[0].kill()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, alone)
        self.assertLess(len(retries), 24)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
