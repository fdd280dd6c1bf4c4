#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: mpi_test.py BITTERN BITTERN_MPI MODEL

bittern-mpi on one to four ranks gives the bytes of bittern: certificates, a batch of 200 lines with sampling of all
kinds, answers of the server. Wrong numbers of ranks, other files and lost ranks end with a sentence, and nothing hangs.
Skips where Open MPI's mpirun is not installed.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

BITTERN, BITTERN_MPI, MODEL = (os.path.abspath(path) for path in sys.argv[1:4])
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
WORDS = "In the beginning God created heaven and earth light was good day night waters firmament".split()


def mpirun(ranks, *words, **options):
    command = ["mpirun", "--oversubscribe", "-np", str(ranks), BITTERN_MPI, *words]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240, **options)


def alone(*words):
    return subprocess.run([BITTERN, *words], capture_output=True, text=True, timeout=240, check=True)


def command_of(process):
    with open(f"/proc/{process}/cmdline", encoding="utf-8") as file:
        return file.read()


def state_of(process):
    """Z: ended, and nobody has asked for it yet; X: gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "X"


def lines_of_batch(count):
    """Bodies of requests with sampling of all kinds."""
    dice = random.Random(7)
    for number in range(count):
        body = {"id": f"line-{number}", "prompt": " ".join(dice.choices(WORDS, k=dice.randint(1, 40))),
                "max_tokens": dice.randint(1, 24), "seed": number, "temperature": dice.choice([0, 0.3, 1, 1.7])}
        for name, values in {"top_k": [1, 5, 40, 0], "top_p": [0.1, 0.9, 1], "min_p": [0, 0.05],
                             "repeat_penalty": [1, 1.3], "logprobs": [2, 5], "mirostat": [0, 2],
                             "grammar": ['root ::= ("and " | "the ")+']}.items():
            if dice.random() < 0.3:
                body[name] = dice.choice(values)
        yield json.dumps(body)


class SameBytes(unittest.TestCase):
    def test_certificates(self):
        expected = alone("certify", MODEL).stdout
        self.assertIn("bittern-certificate", expected)
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                self.assertEqual(mpirun(ranks, "certify", MODEL).stdout, expected)

    def test_a_rank_of_each_instruction_set(self):
        words = []
        for isa in ("scalar", "avx2", ""):
            words += [":"] if words else []
            words += ["-np", "1", "-x", f"BITTERN_ISA={isa}", BITTERN_MPI, "certify", MODEL]
        mixed = subprocess.run(["mpirun", "--oversubscribe", *words], env=ENVIRONMENT, capture_output=True, text=True,
                               timeout=240)
        self.assertEqual(mixed.stdout, alone("certify", MODEL).stdout, mixed.stderr)

    def test_a_batch_of_200_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            given, expected, found = (os.path.join(folder, name) for name in ("in.jsonl", "alone.jsonl", "found.jsonl"))
            with open(given, "w", encoding="utf-8") as file:
                file.write("\n".join(lines_of_batch(200)) + "\n")
            words = ["batch", given, "-m", MODEL, "--temp", "0", "--parallel", "8", "-c", "256", "-o"]
            alone(*words, expected)
            for ranks in (2, 3, 4):
                run = mpirun(ranks, *words, found)
                self.assertEqual(run.returncode, 0, run.stderr)
                with open(found, "rb") as file, open(expected, "rb") as other:
                    self.assertEqual(file.read(), other.read())
                os.remove(found)

    def test_delta_layers_and_experts(self):
        """Recurrent states begin, are kept and end on both ranks; experts are cut by rows."""
        with tempfile.TemporaryDirectory() as folder:
            given, expected, found = (os.path.join(folder, name) for name in ("in.jsonl", "alone.jsonl", "found.jsonl"))
            with open(given, "w", encoding="utf-8") as file:
                file.write("\n".join(lines_of_batch(60)) + "\n")
            for architecture in ("qwen35", "maple"):
                model = os.path.join(folder, architecture + ".gguf")
                subprocess.run([sys.executable, TOP + "/tools/synth_model.py", "--arch", architecture, model], check=True,
                               capture_output=True)
                words = ["batch", given, "-m", model, "--temp", "0", "--parallel", "8", "-c", "256", "--force", "-o"]
                alone(*words, expected)
                run = mpirun(2, *words, found)
                self.assertEqual(run.returncode, 0, run.stderr)
                with open(found, "rb") as file, open(expected, "rb") as other:
                    self.assertEqual(file.read(), other.read(), architecture)

    def test_a_long_prompt(self):
        words = ["run", "-m", MODEL, "-p", " ".join(WORDS * 12), "-n", "40", "--temp", "0.8", "--seed", "3"]
        expected = alone(*words).stdout
        self.assertEqual(mpirun(3, *words).stdout, expected)


# Open MPI sends uninitialised padding to its daemon.
OF_MPI = """{
  padding
  Memcheck:Param
  writev(vector[...])
  ...
  obj:*libpmix*
}
"""


@unittest.skipIf(shutil.which("valgrind") is None, "valgrind is not installed")
class UnderValgrind(unittest.TestCase):
    def test_no_rank_reads_or_writes_what_it_may_not(self):
        with tempfile.TemporaryDirectory() as folder:
            given, found, known = (os.path.join(folder, name) for name in ("in.jsonl", "out.jsonl", "of_mpi"))
            with open(given, "w", encoding="utf-8") as file:
                file.write("\n".join(lines_of_batch(4)) + "\n")
            with open(known, "w", encoding="ascii") as file:
                file.write(OF_MPI)
            words = ["valgrind", "-q", "--error-exitcode=9", f"--suppressions={known}", BITTERN_MPI, "batch", given, "-m",
                     MODEL, "-t", "2", "-c", "128", "-o", found]
            run = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", "-x", "BITTERN_ISA=avx2", *words],
                                 env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertNotIn("==", run.stderr)
            with open(found, encoding="utf-8") as file:
                self.assertEqual(len(file.readlines()), 4)


class Traffic(unittest.TestCase):
    def test_bench_tells_what_a_token_exchanges(self):
        """Four exchanges a layer: q_size, hidden, inner and hidden values, of which each of two ranks gets half."""
        layers, hidden, q_size, inner = 6, 256, 256, 768
        run = mpirun(2, "bench", "-m", MODEL, "-p", "0", "-n", "16", "-r", "2", "--explain", "-o", "json")
        exchanged = json.loads(run.stdout)[0]["explain"]["exchanged"]
        self.assertEqual(exchanged["ranks"], 2)
        steps = {step["step"]: step for step in exchanged["of_a_token"]}
        for name, values in {"attention": q_size, "o_proj": hidden, "gate and up": inner, "down_proj": hidden}.items():
            self.assertEqual(steps[name]["messages"], layers)
            self.assertEqual(steps[name]["bytes"], layers * values * 4 / 2, name)
            self.assertGreater(steps[name]["seconds"], 0)
        self.assertEqual(steps["pass told"]["messages"], 2)
        self.assertEqual(steps["output head"]["messages"], 2)
        self.assertEqual(len(steps), 6)


class Faults(unittest.TestCase):
    def test_more_ranks_than_heads(self):
        run = mpirun(5, "certify", MODEL)
        self.assertEqual(run.returncode, 1)
        self.assertIn("5 ranks are too many for this network: its 4 heads make 4 parts at most", run.stderr)

    def test_a_usage_error_is_rank_0s(self):
        run = mpirun(2, "certify", "--nonsense")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr.count('flag "--nonsense" is not known'), 1)

    def test_other_files_on_two_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            hosts = [os.path.join(folder, name) for name in ("a", "b", "c")]
            for host in hosts:
                os.mkdir(host)
            shutil.copy(MODEL, os.path.join(hosts[0], "model.gguf"))
            with open(MODEL, "rb") as file:
                changed = bytearray(file.read())
            changed[-100] ^= 1
            with open(os.path.join(hosts[1], "model.gguf"), "wb") as file:
                file.write(changed)
            for other, expected in ((hosts[1], "rank 1 has another file at this path than rank 0"),
                                    (hosts[2], "rank 1: model.gguf: ")):
                words = ["-np", "1", "-wdir", hosts[0], BITTERN_MPI, "certify", "model.gguf", ":",
                         "-np", "1", "-wdir", other, BITTERN_MPI, "certify", "model.gguf"]
                run = subprocess.run(["mpirun", "--oversubscribe", *words], env=ENVIRONMENT, capture_output=True,
                                     text=True, timeout=60)
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertIn(expected, run.stderr)

    def test_a_lost_rank_ends_all_within_five_seconds(self):
        for lost in (0, 2):
            with self.subTest(lost=lost), tempfile.NamedTemporaryFile("r") as errors:
                command = ["mpirun", "--oversubscribe", "-np", "3", BITTERN_MPI, "serve", "-m", MODEL, "--port", "0"]
                with open(errors.name, "a", encoding="utf-8") as own:  # with a position that no reader moves
                    job = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=own)
                ranks = self.ranks_of(job, errors)
                os.kill(ranks[lost], signal.SIGKILL)
                start = time.monotonic()
                self.assertNotEqual(job.wait(timeout=20), 0)
                self.assertLess(time.monotonic() - start, 5)
                for rank in ranks:
                    self.assertIn(state_of(rank), "ZX", f"rank {rank} lives on")
                errors.seek(0)
                text = errors.read()
                self.assertIn("exited on signal 9", text)
                if lost != 0:
                    self.assertIn("bittern-mpi: ended by mpirun: a rank was lost", text)

    def ranks_of(self, job, errors):
        """The processes of the ranks, in order, once an answer shows that all of them work."""
        for _ in range(300):
            time.sleep(0.1)
            errors.seek(0)
            lines = [line for line in errors.read().splitlines() if line.startswith("ready: ")]
            if lines:
                break
        else:
            self.fail("the server is not ready")
        address = lines[0].split(" at ")[1].split(",")[0]
        body = json.dumps({"prompt": "In the", "max_tokens": 4, "temperature": 0}).encode()
        with urllib.request.urlopen(address + "/v1/completions", body, timeout=20) as answer:
            self.assertEqual(len(json.load(answer)["choices"]), 1)
        with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as file:
            ranks = [int(word) for word in file.read().split()]
        return [rank for rank in ranks if command_of(rank).startswith(BITTERN_MPI)]


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("SKIPPED: Open MPI's mpirun is not installed (Debian: openmpi-bin)")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1], verbosity=2)
