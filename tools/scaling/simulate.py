# SPDX-License-Identifier: Apache-2.0
"""Tokens of one model on several hosts, event by event: every rank computes its part of a step on its core, then sends
and receives the messages of a gather, and goes on when all of them are there.

A message costs its sender and its receiver some time of their cores, waits for the network card of either, takes as
long as its bytes need there, and then the way. A core works for one rank at a time and takes a while to change."""
import collections
import dataclasses
import heapq
import random


@dataclasses.dataclass(frozen=True)
class Link:
    """Seconds. overhead: of a core, for each message sent or received; latency: of the way; per_byte; switch: until a
    core works for another rank."""
    overhead: float
    latency: float
    per_byte: float
    switch: float = 0.0


@dataclasses.dataclass(frozen=True)
class Machine:
    """per_byte: seconds of one rank alone for a byte of weights; fixed: for the rest of each step, on every rank; jitter:
    the mean of what each step takes longer, as a share of it (exponential)."""
    per_byte: float
    fixed: float = 0.0
    jitter: float = 0.0


def machine(shape, alone, whole):
    """alone: seconds of a token of one rank that does everything; whole: of these, what each of several ranks does, too."""
    return Machine((alone - whole) / shape.weight_bytes(), whole / (shape.layers * len(shape.steps()) + 1))


class Simulation:
    """Ranks are generators that yield what they do next: ("work", seconds), ("send", rank, bytes, tag) or ("receive",
    rank, tag). They go on when it is done."""

    def __init__(self, core_of, link):
        self.core_of, self.link = core_of, link
        self.now, self.count, self.events = 0.0, 0, []
        self.core_free = collections.defaultdict(float)
        self.core_rank = {}
        self.card_out, self.card_in = collections.defaultdict(float), collections.defaultdict(float)
        self.arrived, self.waiting = {}, {}

    def at(self, time, call, *words):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, call, words))

    def run(self, ranks):
        """Seconds until the last rank has ended."""
        self.ranks = ranks
        for rank in range(len(ranks)):
            self.at(0.0, self.step, rank)
        while self.events:
            self.now, _, call, words = heapq.heappop(self.events)
            call(*words)
        return self.now

    def occupy(self, rank, seconds):
        """The time at which the rank's core has worked so long for it."""
        core = self.core_of[rank]
        begin = max(self.now, self.core_free[core])
        if self.core_rank.get(core, rank) != rank:
            begin += self.link.switch
        self.core_rank[core] = rank
        self.core_free[core] = begin + seconds
        return begin + seconds

    def step(self, rank):
        """The rank is free to go on."""
        try:
            what, *words = next(self.ranks[rank])
        except StopIteration:
            return
        if what == "work":
            self.at(self.occupy(rank, words[0]), self.step, rank)
        elif what == "send":
            sent = self.occupy(rank, self.link.overhead)
            self.at(sent, self.leave, rank, *words)
            self.at(sent, self.step, rank)
        else:
            key = (rank, *words)
            if key in self.arrived:
                self.take(rank, key)
            else:
                self.waiting[key] = rank

    def leave(self, rank, to, size, tag):
        """Through the card of the sender, the way, and the card of the receiver."""
        out = max(self.now, self.card_out[rank]) + size * self.link.per_byte
        self.card_out[rank] = out
        # The last byte is there when it has come, and when the receiver's card has taken all messages before and this one.
        there = max(out + self.link.latency, self.card_in[to] + size * self.link.per_byte)
        self.card_in[to] = there
        self.at(there, self.arrive, (to, rank, tag))

    def arrive(self, key):
        self.arrived[key] = self.now
        if key in self.waiting:
            self.take(self.waiting.pop(key), key)

    def take(self, rank, key):
        del self.arrived[key]
        self.at(self.occupy(rank, self.link.overhead), self.step, rank)


def gather(rank, ranks, share, tag):
    """The messages of MPI_Allgatherv, where every rank gives `share` bytes. As Open MPI chooses: Bruck's doubling for few
    bytes, else a ring."""
    few = 80_000
    if ranks == 1:
        return
    if share * ranks < few or ranks == 2:
        distance, number = 1, 0
        while distance < ranks:
            blocks = min(distance, ranks - distance)
            yield ("send", (rank - distance) % ranks, share * blocks, (tag, number))
            yield ("receive", (rank + distance) % ranks, (tag, number))
            distance, number = distance * 2, number + 1
        return
    for number in range(ranks - 1):
        yield ("send", (rank + 1) % ranks, share, (tag, number))
        yield ("receive", (rank - 1) % ranks, (tag, number))


def tree(rank, ranks, size, tag):
    """A broadcast of rank 0: each rank that has it tells one more in every round."""
    distance = 1
    while distance < ranks:
        if rank < distance and rank + distance < ranks:
            yield ("send", rank + distance, size, (tag, distance))
        elif distance <= rank < 2 * distance:
            yield ("receive", rank - distance, (tag, distance))
        distance *= 2


def to_first(rank, ranks, size, tag):
    """A gather to rank 0, as a tree."""
    distance = 1
    while distance < ranks:
        if rank % (2 * distance) == distance:
            yield ("send", rank - distance, size * distance, (tag, distance))
            return
        if rank % (2 * distance) == 0 and rank + distance < ranks:
            yield ("receive", rank + distance, (tag, distance))
        distance *= 2


def token_of_rank(shape, machine, rank, ranks, dice, delay, number):
    """What one rank does for a token. delay: seconds that every exchange is made longer by (BITTERN_MPI_DELAY_US)."""
    def work(read):
        seconds = read / ranks * machine.per_byte + machine.fixed
        return ("work", seconds * (1 + (dice.expovariate(1 / machine.jitter) if machine.jitter else 0)))

    for told in ("size", "pass"):
        yield from tree(rank, ranks, 200, (number, told))
        if ranks > 1 and delay:
            yield ("work", delay)
    for layer in range(shape.layers):
        for name, read, values in shape.steps():
            yield work(read)
            yield from gather(rank, ranks, 4 * values / ranks, (number, layer, name))
            if ranks > 1 and delay:
                yield ("work", delay)
    yield work(shape.head_bytes())
    yield from gather(rank, ranks, 8, (number, "candidates"))
    yield from to_first(rank, ranks, 200, (number, "head"))
    if ranks > 1 and delay:
        yield ("work", 2 * delay)


def token_seconds(shape, machine, link, ranks, cores=None, delay=0.0, tokens=3, seed=1):
    """The mean of some tokens. cores: of all ranks together, dealt in turn; without it one each."""
    def life(rank):
        for number in range(tokens):
            yield from token_of_rank(shape, machine, rank, ranks, dice[rank], delay, number)

    dice = [random.Random(seed * 1000 + rank) for rank in range(ranks)]
    core_of = [rank % (cores or ranks) for rank in range(ranks)]
    return Simulation(core_of, link).run([life(rank) for rank in range(ranks)]) / tokens


def exchange_seconds(link, ranks, share, cores=None, times=20):
    """An exchange among ranks that do nothing else, as the program mpi-latency measures it."""
    def life(rank):
        for number in range(times):
            yield from gather(rank, ranks, share, number)

    core_of = [rank % (cores or ranks) for rank in range(ranks)]
    return Simulation(core_of, link).run([life(rank) for rank in range(ranks)]) / times
