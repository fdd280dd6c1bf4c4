#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: scaling_test.py BITTERN BITTERN_MPI MODEL

tools/scaling: the simulation does what can be counted by hand, the shapes agree with what ranks say that they exchange,
and ranks on hosts of their own (network namespaces, as root) give the certificate of one process.
"""
import json
import os
import subprocess
import sys
import unittest

BITTERN, BITTERN_MPI, MODEL = (os.path.abspath(path) for path in sys.argv[1:4])
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOP + "/tools/scaling")
import network  # noqa: E402
import shapes  # noqa: E402
import simulate  # noqa: E402

SMALL = shapes.Shape("kjv-5m", layers=6, hidden=256, queries=256, neurons=768, mixed=512, vocabulary=4096, most_ranks=4)


class Simulated(unittest.TestCase):
    def test_an_exchange_of_two_is_two_overheads_and_the_way(self):
        link = simulate.Link(overhead=3.0, latency=10.0, per_byte=0.5)
        self.assertAlmostEqual(simulate.exchange_seconds(link, 2, 8), 3 + 8 * 0.5 + 10 + 3)

    def test_ranks_on_one_core_take_turns(self):
        link = simulate.Link(overhead=1.0, latency=0.0, per_byte=0.0)
        self.assertAlmostEqual(simulate.exchange_seconds(link, 2, 8, cores=1, times=1), 4)
        machine = simulate.Machine(per_byte=1e-9)
        free = simulate.Link(0.0, 0.0, 0.0)
        whole = SMALL.weight_bytes() * 1e-9
        for ranks, cores, share in ((1, 1, 1), (2, 2, 1 / 2), (4, 2, 1 / 2), (4, 4, 1 / 4), (4, 1, 1)):
            self.assertAlmostEqual(simulate.token_seconds(SMALL, machine, free, ranks, cores), whole * share)

    def test_everything_sent_is_received(self):
        link = simulate.Link(1e-6, 5e-6, 1e-9)
        for ranks in (1, 2, 3, 4, 7, 16, 64):
            for share in (100, 40_000):
                got = [0] * ranks

                def life(rank, ranks=ranks, share=share, got=got):
                    for action in simulate.gather(rank, ranks, share, 0):
                        if action[0] == "send":
                            got[action[1]] += action[2]
                        yield action
                simulation = simulate.Simulation(list(range(ranks)), link)
                simulation.run([life(rank) for rank in range(ranks)])
                self.assertEqual((simulation.arrived, simulation.waiting), ({}, {}))
                self.assertEqual(got, [share * (ranks - 1)] * ranks)

    def test_a_slower_link_makes_slower_tokens(self):
        machine = simulate.Machine(1e-9, jitter=0.1)
        times = [simulate.token_seconds(SMALL, machine, simulate.Link(1e-6, latency, 1e-9), 4)
                 for latency in (0, 1e-5, 1e-4)]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[0], times[2] / 2)


@unittest.skipIf(network.missing(), network.missing() or "")
class OnRanks(unittest.TestCase):
    def test_shapes_agree_with_what_ranks_exchange(self):
        words = ["bench", "-m", MODEL, "-p", "0", "-n", "8", "-r", "1", "-t", "1", "--explain", "-o", "json"]
        test = json.loads(network.run([*network.on_cores(2), BITTERN_MPI, *words]))[0]
        steps = test["explain"]["exchanged"]["of_a_token"]
        self.assertEqual(sum(step["messages"] for step in steps), SMALL.messages())
        of_layers = sum(step["bytes"] for step in steps if step["step"] not in ("pass told", "output head"))
        self.assertEqual(of_layers, SMALL.gathered_bytes() / 2)

    def test_hosts_of_their_own_give_the_same_certificate(self):
        expected = subprocess.run([BITTERN, "certify", MODEL], check=True, capture_output=True, text=True).stdout
        with network.hosts(4) as hosts:
            for ranks in (2, 3, 4):
                with self.subTest(ranks=ranks):
                    words = [*hosts.mpirun(ranks), BITTERN_MPI, "certify", MODEL]
                    self.assertEqual(network.run(words, seconds=240), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
