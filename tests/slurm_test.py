#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: slurm_test.py BITTERN [MODEL]   deploy/slurm on a cluster of this machine: munged, slurmctld and four slurmd,
each with its own port and folder, all ended at the end. An array of 8 shards, a node killed while it works, the merge
beside the file of one machine. Skipped where Slurm and munge are not installed (Debian: slurm-wlm munge) or without
root, which slurmd wants."""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BITTERN = os.path.abspath(sys.argv[1])
MODEL = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NODES, SHARDS, LINES = 4, 8, 240
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")

CONFIGURATION = """
ClusterName=bittern
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n.spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=5
JobRequeue=1
MinJobAge=3600
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
"""


def free_ports(count):
    """Ports that nothing listens at."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent_of(pid):
    """0: it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def say(text):
    print(f"-- {text}", flush=True)


class Cluster:
    """The daemons. Each runs in the foreground, as a child."""

    def __init__(self, folder):
        self.folder = folder
        self.running = {}
        self.environment = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}
        port, *ports = free_ports(1 + NODES)
        host = socket.gethostname()
        text = CONFIGURATION.format(host=host, port=port, folder=folder)
        for number, node_port in enumerate(ports, 1):
            text += (f"NodeName=node{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port} CPUs=1 "
                     "RealMemory=1000 State=UNKNOWN\n")
        text += "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        with open(f"{folder}/slurm.conf", "w", encoding="utf-8") as file:
            file.write(text)
        os.mkdir(f"{folder}/state")
        with open(f"{folder}/munge.key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{folder}/munge.key", 0o400)

    def start(self, name, *command):
        """Its output is its log."""
        with open(f"{self.folder}/{name}.out", "wb") as log:
            self.running[name] = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log, start_new_session=True)

    def begin(self):
        where = self.folder
        self.start("munged", "munged", "--foreground", "--force", f"--key-file={where}/munge.key",
                   f"--socket={where}/munge.socket", f"--pid-file={where}/munge.pid", f"--log-file={where}/munge.log",
                   f"--seed-file={where}/munge.seed")
        self.wait(lambda: os.path.exists(f"{where}/munge.socket"), "munged's socket")
        self.start("slurmctld", "slurmctld", "-D")
        for number in range(1, NODES + 1):
            self.begin_node(number)
        self.wait(lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * NODES, "four idle nodes")

    def begin_node(self, number):
        self.start(f"node{number}", "slurmd", "-D", "-N", f"node{number}")

    def kill_node(self, number):
        """slurmd with all that it has begun, at once: a host that loses its power."""
        name = f"node{number}"
        daemon = self.running.pop(name)
        daemon.kill()
        self.end_jobs(name)
        daemon.wait()

    def end_jobs(self, name):
        """Kills all that a node has begun."""
        begun = [pid for pid in processes() if self.is_begun_by(pid, name)]
        steps = {parent for parent in map(parent_of, begun) if name_of(parent) == "slurmstepd"}
        for pid in [*steps, *begun]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def is_begun_by(self, pid, name):
        """True of the processes of jobs, whose environment tells node and cluster."""
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                told = file.read().split(b"\0")
        except OSError:
            return False
        return (f"SLURM_CONF={self.folder}/slurm.conf".encode() in told
                and f"SLURMD_NODENAME={name}".encode() in told)

    def signal_job(self, job):
        """SIGINT for the script of a job, as before the end of its time. scancel asks again until Slurm has queued
        the job again."""
        with subprocess.Popen(["scancel", "--signal=INT", "--batch", job], env=self.environment,
                              stderr=subprocess.DEVNULL) as asking:
            try:
                asking.wait(3)
            except subprocess.TimeoutExpired:
                asking.kill()

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60).stdout

    def wait(self, done, what, seconds=60):
        until = time.monotonic() + seconds
        while not done():
            if time.monotonic() > until:
                raise AssertionError(f"{what}: not after {seconds} s\n{self.logs()}")
            time.sleep(0.2)

    def logs(self):
        """The last lines of every log."""
        found = [self.ask("squeue"), self.ask("sinfo", "-N", "-l")]
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(f"{self.folder}/{name}", errors="replace", encoding="utf-8") as file:
                    found.append(f"{name}:\n{file.read()[-1500:]}")
        return "\n".join(found)

    def end(self):
        for name in [*(f"node{i}" for i in range(1, NODES + 1)), "slurmctld", "munged"]:
            if name.startswith("node"):
                self.end_jobs(name)
            daemon = self.running.pop(name, None)
            if daemon is None:
                continue
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def make_requests(path):
    """Lines that take a while: some 70,000 tokens."""
    chance = random.Random(7)
    with open(path, "w", encoding="utf-8") as out:
        for i in range(LINES):
            line = {"id": f"r{i}", "prompt": chance.choice(["In the beginning", "And he said unto", "Behold"]),
                    "n_predict": chance.randint(200, 400), "seed": i, "ignore_eos": True}
            if i % 4 == 0:
                line["temperature"] = 0
            print(json.dumps(line), file=out)


def lines_of(path):
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [program for program in NEEDED if shutil.which(program) is None]
        why = f"no {missing[0]}: apt-get install slurm-wlm munge" if missing else "slurmd wants root"
        if missing or os.geteuid() != 0:
            print(f"SKIPPED: {why}")
            raise unittest.SkipTest(why)
        cls.folder = tempfile.mkdtemp(prefix="bittern-slurm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cluster = Cluster(cls.folder)
        cls.addClassCleanup(cls.cluster.end)
        cls.cluster.environment["BITTERN"] = BITTERN
        if MODEL is not None:
            cls.cluster.environment["BITTERN_MODEL"] = MODEL
        cls.cluster.begin()
        say("a cluster of four nodes")
        make_requests(cls.path("in.jsonl"))
        subprocess.run([BITTERN, "batch", cls.path("in.jsonl"), "-o", cls.path("whole.jsonl"), "--quiet"],
                       env=cls.cluster.environment, check=True)
        say("the file of one machine")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def submit(self, *words):
        return subprocess.run([f"{TOP}/deploy/slurm/submit.sh", *words], env=self.cluster.environment,
                              capture_output=True, text=True, cwd=self.folder, timeout=60)

    def task_at_work(self, array, done):
        """(task, node) of a running one that has written a few lines, without those in `done`."""
        listed = self.cluster.ask("squeue", "-h", "-r", "-t", "R", "-o", "%A %K %N %F")
        for _, task, node, job in (line.split() for line in listed.splitlines() if len(line.split()) == 4):
            written = lines_of(self.path(f"out.jsonl.parts/part-{task}.jsonl"))
            if job == array and task not in done and 5 <= written < LINES // SHARDS // 2:
                return task, node
        return None

    def wait_for_task(self, array, done):
        found = []

        def look():
            found[:] = [self.task_at_work(array, done)]
            return found[0] is not None

        self.cluster.wait(look, "a task at work", 120)
        return found[0]

    def is_queued_again(self, array, task):
        shown = self.cluster.ask("scontrol", "show", "job", f"{array}_{task}")
        return "Restarts=1 " in shown and "JobState=PENDING" in shown

    def test_a_node_dies(self):
        queued = self.submit("in.jsonl", "out.jsonl", str(SHARDS), "-np", "2")
        self.assertEqual(queued.returncode, 0, queued.stderr)
        array = re.match(r"array (\d+), merge \d+\n$", queued.stdout)[1]
        stopped, _ = self.wait_for_task(array, ())
        self.cluster.signal_job(f"{array}_{stopped}")
        say(f"shard {stopped} told that its time is over")
        killed, node = self.wait_for_task(array, (stopped,))
        self.cluster.kill_node(int(node[4:]))
        kept = lines_of(self.path(f"out.jsonl.parts/part-{killed}.jsonl")) - 1
        say(f"{node} killed with {kept} results of shard {killed}")
        self.cluster.wait(lambda: self.is_queued_again(array, killed), "shard on the dead node queued again", 120)
        self.cluster.wait(lambda: self.is_queued_again(array, stopped), "shard out of time queued again", 120)
        say("both are queued again")
        # Slurm gives a node two minutes before it takes a job again.
        for task in (killed, stopped):
            self.cluster.ask("scontrol", "update", f"jobid={array}_{task}", "starttime=now")
        self.cluster.wait(lambda: os.path.exists(self.path("out.jsonl")), "the merge", 400)
        with open(self.path("whole.jsonl"), "rb") as one, open(self.path("out.jsonl"), "rb") as many:
            self.assertEqual(one.read(), many.read())
        for task in (killed, stopped):
            with open(self.path(f"out.jsonl.parts/log-{task}"), encoding="utf-8") as log:
                self.assertRegex(log.read(), r"\d+ results were there already")
        self.assertEqual(self.cluster.ask("sinfo", "-h", "-N", "-n", node, "-o", "%T").strip(), "down*")
        self.cluster.begin_node(int(node[4:]))
        self.cluster.wait(lambda: self.cluster.ask("sinfo", "-h", "-N", "-n", node, "-o", "%T").strip() == "idle",
                          "the node is back")

    def test_wrong_words(self):
        for words, text in (((), "usage:"), (("in.jsonl", "x"), "usage:"),
                            (("none.jsonl", "x", "2"), "none.jsonl: a file expected, none found"),
                            (("in.jsonl", "x", "0"), 'a number of 1 to 1000 expected, "0" found'),
                            (("in.jsonl", "x", "1001"), '"1001" found'), (("in.jsonl", "x", "two"), '"two" found'),
                            (("in.jsonl", "whole.jsonl", "2"), "whole.jsonl exists already")):
            refused = self.submit(*words)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn(text, refused.stderr)
            self.assertFalse(os.path.exists(self.path("x.parts")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
