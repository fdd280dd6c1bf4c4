# SPDX-License-Identifier: Apache-2.0
"""Ranks on cores of this machine, and on hosts of their own: network namespaces of this machine, each with a host name, an address and one core, joined
by a bridge. Needs root, `ip` (iproute2), `unshare` and `taskset` (util-linux), and Open MPI's mpirun."""
import contextlib
import os
import shutil
import subprocess
import tempfile

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
PROGRAMS = {"mpirun": "openmpi-bin", "ip": "iproute2", "unshare": "util-linux", "taskset": "util-linux"}
BRIDGE, NAME, NETWORK = "bitscale0", "bitscale", "10.77.19"
# Open MPI calls it in place of ssh: agent HOST WORDS...
AGENT = f"""#!/bin/sh
number=${{1##*.}}
shift
words="$*"
set -- CORES
shift $(((number - 1) % $#))
exec ip netns exec {NAME}$number unshare --uts sh -c 'hostname "$0"; exec taskset -c "$1" sh -c "$2"' {NAME}$number $1 "$words"
"""


def cores():
    """A processor of each core, in the order in which ranks get them."""
    def first_of(processor):
        try:
            with open(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list", encoding="ascii") as file:
                return int(file.read().replace("-", ",").split(",")[0])
        except OSError:
            return processor
    return sorted(set(map(first_of, os.sched_getaffinity(0))) & os.sched_getaffinity(0))


def missing():
    """Why namespaces cannot be made here; None: they can."""
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: {package})"
    return None if os.geteuid() == 0 else "root is needed for network namespaces"


def on_cores(ranks, delay_us=0):
    """The words of mpirun for ranks of this machine that exchange in shared memory, dealt to its cores."""
    return ["mpirun", "--map-by", "core:OVERSUBSCRIBE", "--bind-to", "core:overload-allowed", *_delay(delay_us),
            *_yields(ranks), "-np", str(ranks)]


def by_loopback(ranks, delay_us=0):
    """The same by TCP."""
    return [*on_cores(ranks, delay_us), "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]


def _delay(delay_us):
    return ["-x", f"BITTERN_MPI_DELAY_US={delay_us}"] if delay_us else []


def _yields(ranks):
    """A rank that waits lets others have its core, where there are more of them than cores."""
    return ["--mca", "mpi_yield_when_idle", "1"] if ranks > len(cores()) else []


class Hosts:
    """Some namespaces, and mpirun over them."""

    def __init__(self, count, folder):
        self.count, self.agent = count, os.path.join(folder, "agent")
        with open(self.agent, "w", encoding="ascii") as file:
            file.write(AGENT.replace("CORES", " ".join(map(str, cores()))))
        os.chmod(self.agent, 0o755)

    def mpirun(self, ranks, delay_us=0):
        """The words in front of a program that runs on the first `ranks` hosts."""
        hosts = ",".join(f"{NETWORK}.{number}" for number in range(1, ranks + 1))
        settings = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "oob_tcp_if_include": "eth0",
                    "btl_tcp_if_include": "eth0"}
        words = [word for key, value in settings.items() for word in ("--mca", key, value)]
        return ["ip", "netns", "exec", f"{NAME}1", "unshare", "--uts", "sh", "-c",
                f'hostname {NAME}1; exec taskset -c {cores()[0]} "$@"', "sh", "mpirun", *words, *_yields(ranks), *_delay(delay_us),
                "--bind-to", "none", "-H", hosts, "-np", str(ranks)]


def _ip(*words, check=True):
    subprocess.run(["ip", *words], check=check, stdin=subprocess.DEVNULL, capture_output=not check)


@contextlib.contextmanager
def hosts(count):
    """Makes the namespaces, and removes them."""
    def remove():
        for number in range(1, count + 1):
            _ip("netns", "del", f"{NAME}{number}", check=False)
        _ip("link", "del", BRIDGE, check=False)

    remove()
    with tempfile.TemporaryDirectory() as folder:
        try:
            _ip("link", "add", BRIDGE, "type", "bridge")
            _ip("link", "set", BRIDGE, "up")
            for number in range(1, count + 1):
                name = f"{NAME}{number}"
                _ip("netns", "add", name)
                _ip("link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0", "netns", name)
                _ip("link", "set", f"{name}v", "master", BRIDGE, "up")
                _ip("-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
                for device in ("eth0", "lo"):
                    _ip("-n", name, "link", "set", device, "up")
            yield Hosts(count, folder)
        finally:
            remove()


def run(words, seconds=600, **options):
    """Its output, standard output alone."""
    return subprocess.run(words, env=ENVIRONMENT, check=True, timeout=seconds, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=options.pop("stderr", subprocess.DEVNULL), **options).stdout
