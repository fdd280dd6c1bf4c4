#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: mpi_memory_test.py BITTERN_MPI MODEL

Ranks under valgrind: nothing of bittern-mpi reads memory that is not its own or not set, and nothing that it allocates
is lost. Open MPI's libraries do both; an error belongs to the program where the innermost function outside of valgrind's
own, or of those that valgrind took the place of, is the program's. A small program with two planted errors shows that these
would be found. Skips where valgrind, mpirun or mpicc is not installed.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BITTERN_MPI, MODEL = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")

PLANTED = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int* numbers = malloc(4 * sizeof *numbers);
  int odd = 0;
  if (numbers[1] > 3) odd = 1;  /* not set */
  volatile int* end = numbers;
  odd += end[4];  /* not its own */
  MPI_Finalize();
  free(numbers);
  return odd != 0 ? 0 : 0;
}
"""


def is_of(program, frame):
    return os.path.realpath(frame.findtext("obj", "")) == os.path.realpath(program)


def errors_of(program, folder):
    """Of each error that belongs to the program its kind and where it is."""
    found = []
    for path in glob.glob(os.path.join(folder, "*.xml")):
        for error in xml.etree.ElementTree.parse(path).iter("error"):
            frames = [frame for frame in error.find("stack") if "valgrind" not in frame.findtext("obj", "")]
            # libstdc++'s and libc's functions work for their caller.
            frames = [frame for frame in frames if not os.path.basename(frame.findtext("obj", "")).startswith(
                ("libstdc++", "libc.so", "libc-", "libm.so", "libgcc"))]
            if frames and is_of(program, frames[0]):
                found.append((error.findtext("kind"), frames[0].findtext("fn"), frames[0].findtext("file"),
                              frames[0].findtext("line")))
    return found


def under_valgrind(folder, ranks, program, *words):
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-np", str(ranks), "valgrind", "--leak-check=full", "--show-leak-kinds=definite",
         "--xml=yes", f"--xml-file={folder}/%p.xml", program, *words],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=900)


class Memory(unittest.TestCase):
    def setUp(self):
        for program in ("valgrind", "mpirun", "mpicc"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_planted_errors_are_found(self):
        source, program = os.path.join(self.folder, "planted.c"), os.path.join(self.folder, "planted")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PLANTED)
        subprocess.run(["mpicc", "-g", "-O0", source, "-o", program], check=True)
        under_valgrind(self.folder, 2, program)
        kinds = [kind for kind, *_ in errors_of(program, self.folder)]
        self.assertEqual(sorted(kinds), sorted(2 * ["UninitCondition", "InvalidRead"]))

    def check(self, ranks, *words):
        alone = subprocess.run([BITTERN_MPI, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        together = under_valgrind(self.folder, ranks, BITTERN_MPI, *words)
        self.assertEqual(together.returncode, 0, together.stderr)
        self.assertTrue(alone.stdout)
        self.assertEqual(together.stdout, alone.stdout)
        self.assertEqual(len(glob.glob(os.path.join(self.folder, "*.xml"))), ranks)
        self.assertEqual(errors_of(BITTERN_MPI, self.folder), [])

    def test_an_answer(self):
        self.check(2, "run", "-m", MODEL, "-p", "In the beginning", "-n", "8", "--temp", "0", "-t", "1")

    def test_a_batch_on_three_ranks(self):
        lines = os.path.join(self.folder, "lines.jsonl")
        with open(lines, "w", encoding="utf-8") as file:
            for number in range(4):
                file.write('{"id": "%d", "prompt": "And God said", "max_tokens": 4, "seed": %d}\n' % (number, number))
        self.check(3, "batch", "-m", MODEL, lines, "-t", "1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
