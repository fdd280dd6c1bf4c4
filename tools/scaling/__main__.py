# SPDX-License-Identifier: Apache-2.0
"""The figures of docs/scaling.md, each table by one command.

usage: python3 tools/scaling traffic            what a token exchanges, by shape
       python3 tools/scaling latency LATENCY    how long exchanges take here: memory, loopback, namespaces, with delays
       python3 tools/scaling tokens BITTERN BITTERN_MPI LATENCY MODEL [TOKENS [REPEATS [WAY]]]
                                                tokens on two to four ranks, beside the simulation
       python3 tools/scaling pair BITTERN BITTERN_MPI MODEL
                                                two ranks of one thread beside one process of two
       python3 tools/scaling memory BITTERN_MPI MODEL
                                                memory of its own of each of one to four ranks
       python3 tools/scaling hosts [SHAPE]      the simulation to 64 hosts
       python3 tools/scaling router             16 simulated replicas behind HAProxy

LATENCY is the program mpi-latency beside bittern-mpi. MODEL has the shape of BitNet 2B-4T. WAY: namespaces (hosts of
their own, as it is without it), loopback or memory."""
import contextlib
import inspect
import statistics
import sys

import measure
import network
import router
import simulate
from shapes import SHAPES

DELAYS = (0, 20, 50, 200)
# A host of the table: 16 cores that read 40 GB a second, and what each step takes beside, on every rank.
HOST = simulate.Machine(per_byte=1 / 40e9, fixed=4e-6, jitter=0.05)
LINKS = {"25 Gbit/s, 10 us": simulate.Link(2e-6, 10e-6, 8 / 25e9), "10 Gbit/s, 50 us": simulate.Link(6e-6, 50e-6, 8 / 10e9),
         "1 Gbit/s, 200 us": simulate.Link(6e-6, 200e-6, 8 / 1e9)}


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    print("|" + "---|" * len(cells))


def traffic():
    head("model's shape", "layers", "exchanges", "MB gathered a token", "GB of weights a token", "ranks at most")
    for shape in SHAPES.values():
        row(shape.name, shape.layers, shape.messages(), f"{shape.gathered_bytes() / 1e6:.2f}",
            f"{shape.weight_bytes() / 1e9:.2f}", shape.most_ranks)


def latency(program):
    head("ranks", "way", *(f"{size:,} bytes each, us" for size in measure.SHARES))

    def line(ranks, name, words):
        times = measure.latencies(program, words)
        row(ranks, name, *(f"{seconds * 1e6:.1f}" for seconds in times.values()))
    for ranks in (2, 4):
        for delay in DELAYS:
            line(ranks, "memory" + (f", and {delay} us" if delay else ""), network.on_cores(ranks, delay))
        line(ranks, "loopback", network.by_loopback(ranks))
    why = network.missing()
    if why:
        print(f"namespaces: SKIPPED ({why})")
        return
    with network.hosts(4) as hosts:
        for ranks in (2, 3, 4):
            line(ranks, "namespaces", hosts.mpirun(ranks))


def tokens(bittern, bittern_mpi, program, model, count="32", repeats="5", way="namespaces"):
    count, repeats, cores, shape = int(count), int(repeats), len(network.cores()), SHAPES["BitNet 2B-4T"]
    alone = {ranks: measure.beside(bittern, model, ranks, count, repeats) for ranks in range(2, min(4, cores) + 1)}
    for ranks, seconds in alone.items():
        print(f"one thread, the same on {ranks} cores: {seconds * 1e3:.1f} ms a token", flush=True)
    bench = measure.bench_words(model, 1, count, repeats)
    with WAYS[way]() as words:
        two, four = (measure.latencies(program, words(ranks)) for ranks in (2, 4))
        link = measure.fit_link(two, four, cores)
        head("ranks", "added delay, us", "measured, ms a token", "in exchanges, ms", "simulated, ms a token", "difference")
        whole = 0.0  # what every rank does in whole, of a token
        for ranks, delay in ((2, 0), (2, 50), (3, 0), (3, 50), (4, 0), (4, 50)):
            times, exchanged = measure.token_times(network.run([*words(ranks, delay), bittern_mpi, *bench]))
            measured = statistics.median(times)

            def simulated():
                machine = simulate.machine(shape, alone[min(ranks, cores)], whole)
                return simulate.token_seconds(shape, machine, link, ranks, cores, delay * 1e-6)
            fitted = (ranks, delay) == (2, 0)
            if fitted:
                whole = max(0.0, 2 * (measured - simulated()))
            waited = sum(step["seconds"] for step in exchanged["of_a_token"])
            row(ranks, delay, f"{measured * 1e3:.1f}", f"{waited * 1e3:.1f}", f"{simulated() * 1e3:.1f}",
                "fitted" if fitted else f"{simulated() / measured - 1:+.0%}")


def pair(bittern, bittern_mpi, model, count="96", repeats="5"):
    commands = {"one process, two threads": [bittern, *measure.bench_words(model, 2, int(count), 1)],
                "two ranks, a thread each": [*network.on_cores(2), bittern_mpi, *measure.bench_words(model, 1, int(count), 1)]}
    times = {name: [] for name in commands}
    for _ in range(int(repeats)):
        for name, words in commands.items():
            times[name] += measure.token_times(network.run(words))[0]
    head("", "tokens a second, median", "all")
    for name, seconds in times.items():
        row(name, f"{1 / statistics.median(seconds):.1f}", ", ".join(f"{1 / second:.1f}" for second in seconds))


def memory(bittern_mpi, model):
    head("ranks", "MB each")
    for ranks in (1, 2, 3, 4):
        row(ranks, ", ".join(f"{size / 1e6:.0f}" for size in measure.memory_of_ranks(bittern_mpi, model, ranks)))


@contextlib.contextmanager
def namespaces():
    """The words of mpirun for ranks on hosts of their own."""
    if network.missing():
        sys.exit(network.missing())
    with network.hosts(4) as hosts:
        yield hosts.mpirun


WAYS = {"namespaces": namespaces, "memory": lambda: contextlib.nullcontext(network.on_cores),
        "loopback": lambda: contextlib.nullcontext(network.by_loopback)}


def hosts_table(name="BitNet 2B-4T"):
    if name not in SHAPES:
        sys.exit(f'shape "{name}": expected one of {", ".join(SHAPES)}')
    shape = SHAPES[name]
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= shape.most_ranks]
    print(f"{name}: tokens a second of one sequence; of hosts that read 40 GB/s\n")
    head("network", *(f"{count} host" + ("s" if count > 1 else "") for count in counts))
    for link_name, link in LINKS.items():
        row(link_name, *(f"{1 / simulate.token_seconds(shape, HOST, link, count):.0f}" for count in counts))

    print(f"\n64 hosts in groups that share the model out ({list(LINKS)[0]}): tokens a second\n")
    head("hosts a group", *counts)
    link = LINKS[list(LINKS)[0]]
    speeds = [1 / simulate.token_seconds(shape, HOST, link, count) for count in counts]
    row("of one sequence", *(f"{speed:.0f}" for speed in speeds))
    row("of one sequence in every group", *(f"{speed * 64 / count:.0f}" for speed, count in zip(speeds, counts)))


def main():
    commands = {"traffic": traffic, "latency": latency, "tokens": tokens, "pair": pair, "memory": memory, "hosts": hosts_table, "router": lambda: router.table()}
    command = commands.get(sys.argv[1]) if len(sys.argv) > 1 else None
    try:
        given = inspect.signature(command).bind(*sys.argv[2:])
    except TypeError:  # no such command, or too few words, or too many
        sys.exit(__doc__)
    command(*given.args)


main()
