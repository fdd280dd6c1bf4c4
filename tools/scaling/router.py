# SPDX-License-Identifier: Apache-2.0
"""Conversations before replicas behind HAProxy: the router is real, the replicas are simulated. Each has a prefix cache of
some tokens that forgets the oldest conversation first, reads a prompt at some rate and writes at another.

Needs haproxy. deploy/haproxy.cfg is used as it is, but for its ports and its number of servers."""
import asyncio
import collections
import json
import os
import random
import re
import shutil
import socket
import statistics
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPLICAS = 16
TURN_TOKENS, ANSWER_TOKENS = 120, 80  # a question, an answer
SECONDS_READ, SECONDS_WRITTEN = 1 / 4000, 1 / 4000  # of a token: 20 times as fast as a machine, to be done soon
AT_ONCE = 8  # requests that a replica works on; others wait


class Replica:
    """Answers like a server that takes as long as its prompt is not in the cache."""

    def __init__(self, room):
        self.cache, self.room = collections.OrderedDict(), room
        self.asked = self.found = self.known = self.requests = 0
        self.turn = asyncio.Semaphore(AT_ONCE)

    async def answer(self, session, prompt, known):
        async with self.turn:
            self.known += known
            found = min(self.cache.pop(session, 0), prompt)
            self.asked, self.found, self.requests = self.asked + prompt, self.found + found, self.requests + 1
            await asyncio.sleep((prompt - found) * SECONDS_READ + ANSWER_TOKENS * SECONDS_WRITTEN)
            self.cache[session] = prompt + ANSWER_TOKENS
            while sum(self.cache.values()) > self.room:
                self.cache.popitem(last=False)

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                size = re.search(r"(?im)^content-length: *(\d+)", head)
                body = await reader.readexactly(int(size[1])) if size else b""
                if not head.startswith("GET /health"):
                    asked = json.loads(body)
                    await self.answer(asked["session"], asked["tokens"], asked["known"])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def configuration(text, port, servers, balance):
    """deploy/haproxy.cfg with other servers, and another way to choose them."""
    text = re.sub(r"(?m)^    bind :8000$", f"    bind 127.0.0.1:{port}", text)
    text = re.sub(r"(?m)^    server r\d .*\n", "", text)
    text = re.sub(r"(?m)^    log .*\n", "", text)
    if balance:
        text = re.sub(r"(?m)^    (balance hash|hash-type|hash-balance-factor).*\n", "", text)
        text = text.replace("    option httpchk\n", f"    balance {balance}\n    option httpchk\n")
    lines = [f"    server r{number} 127.0.0.1:{server}\n" for number, server in enumerate(servers, 1)]
    return text + "".join(lines)


async def ask(port, session, tokens, known):
    """Seconds of one request. The body begins with the conversation's first words, as a chat's does."""
    begin = asyncio.get_running_loop().time()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"session": session, "pad": f"conversation {session} " * 20, "tokens": tokens,
                       "known": known}).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                 % (len(body), body))
    await writer.drain()
    answer = await reader.read()
    writer.close()
    if b" 200 " not in answer[:20]:
        raise RuntimeError(answer[:200].decode("latin-1"))
    return asyncio.get_running_loop().time() - begin


async def converse(port, session, dice, taken):
    """Some turns; each prompt is all that was said before and a new question."""
    tokens, known = dice.choice((200, 600, 1500)), 0
    for _ in range(dice.randint(3, 9)):
        tokens += TURN_TOKENS
        taken.append(await ask(port, session, tokens, known))
        known = tokens = tokens + ANSWER_TOKENS
        await asyncio.sleep(dice.expovariate(1 / 0.3))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def trial(balance, conversations, at_once, room):
    """{share of prompt tokens found, seconds of requests, requests of the busiest replica by the mean}."""
    replicas = [Replica(room) for _ in range(REPLICAS)]
    servers = [await asyncio.start_server(replica.serve, "127.0.0.1", 0) for replica in replicas]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    port, dice, taken = free_port(), random.Random(5), []
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file, open(f"{TOP}/deploy/haproxy.cfg", encoding="ascii") as own:
        file.write(configuration(own.read(), port, ports, balance))
        file.flush()
        router = await asyncio.create_subprocess_exec("haproxy", "-q", "-f", file.name)
        try:
            await asyncio.sleep(2)  # until replicas have been found healthy
            gate = asyncio.Semaphore(at_once)

            async def one(session):
                async with gate:
                    await converse(port, session, random.Random(dice.random()), taken)
            await asyncio.gather(*(one(session) for session in range(conversations)))
        finally:
            router.kill()
            await router.wait()
    for server in servers:
        server.close()
    counts = [replica.requests for replica in replicas]
    taken.sort()
    asked = sum(replica.asked for replica in replicas)
    return {"found": sum(replica.found for replica in replicas) / asked,
            "known": sum(replica.known for replica in replicas) / asked,
            "median": statistics.median(taken), "p95": taken[int(len(taken) * 0.95)],
            "busiest": max(counts) / statistics.mean(counts)}


def table(conversations=600, at_once=160, room=24_000):
    """Prints a row for each way to choose a replica."""
    if shutil.which("haproxy") is None:
        raise SystemExit("router: haproxy is not installed (Debian: haproxy)")
    print(f"{REPLICAS} simulated replicas behind HAProxy, {conversations} conversations, {at_once} at a time, a cache of "
          f"{room:,} tokens each\n\n| a replica is chosen by | prompt tokens found in its cache | said before | median s | 95 % s | "
          "busiest by the mean |\n|---|---|---|---|---|---|")
    for name, balance in (("the conversation (deploy/haproxy.cfg)", None), ("turn", "roundrobin"),
                          ("the fewest connections", "leastconn")):
        found = asyncio.run(trial(balance, conversations, at_once, room))
        print(f"| {name} | {found['found']:.0%} | {found['known']:.0%} | {found['median']:.3f} | {found['p95']:.3f} | {found['busiest']:.2f} |",
              flush=True)
