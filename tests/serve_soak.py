#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_soak.py BITTERN [SECONDS] [CLIENTS] [FLAG...]   CLIENTS stream answers of the built-in model one after
the other for SECONDS, one in ten goes away early. Fails on any error, if resident memory varies by more than 2 %
in the second half, or if a descriptor is left at the end."""
import asyncio
import json
import os
import random
import sys
import time

from serve_client import Server

BITTERN = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 20
CLIENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 64
WORDS = "tern gull river law mind water house stone king ship bird tree".split()


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def resident(server):
    """KiB"""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


async def one_answer(server, rng, count):
    body = json.dumps({"messages": [{"role": "user", "content": f"What is a {rng.choice(WORDS)} {rng.choice(WORDS)}?"}],
                       "max_tokens": rng.randint(5, 60), "stream": True, "seed": rng.randrange(1 << 31)}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    leaves = rng.random() < 0.1
    text = await (reader.read(600) if leaves else reader.read())
    writer.close()
    assert text.startswith(b"HTTP/1.1 200 "), text[:200]
    assert leaves or b"data: [DONE]" in text, text[-300:]
    assert b'"error"' not in text, text[-300:]
    count["gone" if leaves else "whole"] += 1


async def client(server, number, end, count):
    rng = random.Random(number)
    while time.monotonic() < end:
        await one_answer(server, rng, count)


async def watch(server, end, samples):
    while time.monotonic() < end:
        samples.append(resident(server))
        await asyncio.sleep(0.5)


async def soak(server, count, samples):
    end = time.monotonic() + SECONDS
    await asyncio.gather(watch(server, end, samples), *(client(server, i, end, count) for i in range(CLIENTS)))


def main():
    server = Server(BITTERN, "-np", "64", "--queue", "256", "--log-format", "none", *sys.argv[4:])
    before, count, samples = descriptors(server), {"whole": 0, "gone": 0}, []
    try:
        asyncio.run(soak(server, count, samples))
        for _ in range(100):
            if descriptors(server) <= before:
                break
            time.sleep(0.1)
        after = descriptors(server)
        half = samples[len(samples) // 2:]
        spread = (max(half) - min(half)) / max(half)
        print(f"{count['whole']} whole answers, {count['gone']} left early, descriptors {before} -> {after}, resident "
              f"{samples[0]} -> {samples[-1]} KiB, {100 * spread:.2f} % in the second half")
        assert after <= before and spread < 0.02
    finally:
        code = server.stop()
    assert code == 0, server.output()


main()
