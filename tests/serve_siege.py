#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_siege.py BITTERN [SECONDS]   All requests that once held the server (serve_bombs.py), over and over by
several clients at once, 4,300 connections that say nothing, bodies that never end and answers that nobody reads; and every
second a newcomer's tiny request. Fails if the newcomer waits for more than half a second in more than one case of a hundred (one is let
through in a short run), if resident memory passes LIMIT_MIB, or if a descriptor is left at the end. A wait is the lesser of wall time and
the server's CPU time: a busy machine adds to the first, threads that work at once add to the second."""
import json
import os
import resource
import socket
import sys
import threading
import time

from serve_bombs import CASES, TINY
from serve_client import Server

BITTERN = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 60
SILENT = 4300
LIMIT_MIB = 1500
TICKS = os.sysconf("SC_CLK_TCK")


class Siege:
    def __init__(self):
        self.server = Server(BITTERN, "-np", "80", "--timeout", "10", "--log-format", "none")
        self.pid = self.server.process.pid
        self.end = time.monotonic() + SECONDS
        self.sent = {"bombs": 0, "silent": 0, "endless": 0, "unread": 0}

    def over(self):
        return time.monotonic() > self.end

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_mib(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024

    def cpu(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.server.port), timeout=20)
        return client

    def bombs(self, which):
        bodies = [(path, json.dumps(body)) for _, path, body, *_ in CASES[which::3]]
        while not self.over():
            for path, body in bodies:
                try:
                    self.server.request("POST", path, body, timeout=60)
                except OSError:
                    pass
                self.sent["bombs"] += 1
                if self.over():
                    return

    def silent(self):
        """Opens all at once, then those anew that the server has closed."""
        clients = []
        while not self.over():
            while len(clients) < SILENT and not self.over():
                try:
                    clients.append(self.connect())
                    self.sent["silent"] += 1
                except OSError:
                    time.sleep(0.01)
            kept = []
            for client in clients:
                client.setblocking(False)
                try:
                    alive = client.recv(1) != b""
                except BlockingIOError:
                    alive = True
                except OSError:
                    alive = False
                kept.append(client) if alive else client.close()
            clients = kept
            time.sleep(0.2)
        for client in clients:
            client.close()

    def endless(self, piece, head):
        """A body that never ends."""
        while not self.over():
            try:
                with self.connect() as client:
                    client.sendall(head)
                    while not self.over():
                        client.sendall(piece)
            except OSError:
                pass
            self.sent["endless"] += 1

    def unread(self):
        """Large answers whose client reads nothing."""
        body = json.dumps({"content": "and the " * 500_000}).encode()
        head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        while not self.over():
            try:
                clients = [self.connect() for _ in range(20)]
                for client in clients:
                    client.sendall(head + body)
                    self.sent["unread"] += 1
                time.sleep(5)
                for client in clients:
                    client.close()
            except OSError:
                pass

    def newcomers(self):
        """(server's CPU time, wall time) of each wait, and the most of resident memory."""
        waits, most, refused = [], 0, 0
        while not self.over():
            begin, cpu = time.monotonic(), self.cpu()
            try:
                status, text, _ = self.server.request("POST", "/completion", TINY, timeout=30)
            except OSError as error:
                status, text = 0, str(error)
            waits.append((self.cpu() - cpu, time.monotonic() - begin))
            if status != 200:
                refused += 1
                print(f"newcomer: {status} {text[:100]}", file=sys.stderr)
            most = max(most, self.resident_mib())
            time.sleep(max(0, 1 - (time.monotonic() - begin)))
        return waits, most, refused


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    siege = Siege()
    before = siege.descriptors()
    head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    work = [(siege.bombs, (i,)) for i in range(3)] + [(siege.silent, ()), (siege.unread, ()),
            (siege.endless, (b"1;" + b"a" * 60_000, head)), (siege.endless, (b"1\r\na\r\n" * 10_000, head)),
            (siege.endless, (b"X-T: " + b"a" * 1000 + b"\r\n", head + b"2\r\n{}\r\n0\r\n"))]
    threads = [threading.Thread(target=task, args=args, daemon=True) for task, args in work]
    for thread in threads:
        thread.start()
    waits, most, refused = siege.newcomers()
    for thread in threads:
        thread.join(timeout=90)
    for _ in range(300):
        if siege.descriptors() <= before:
            break
        time.sleep(0.1)
    after, code = siege.descriptors(), siege.server.stop()
    used, wall, waited = sorted(w[0] for w in waits), sorted(w[1] for w in waits), sorted(map(min, waits))
    at = lambda values, share: values[len(values) - 1 - max(1, round((1 - share) * len(values)))]
    print(f"{siege.sent}; newcomers {len(waits)}, refused {refused}; server time p50 {at(used, 0.5):.3f} s, p99 {at(used, 0.99):.3f} s; "
          f"wall p50 {at(wall, 0.5):.3f} s, p99 {at(wall, 0.99):.3f} s; most resident {most:.0f} MiB; descriptors {before} -> {after}")
    assert refused == 0 and at(waited, 0.99) < 0.5 and most < LIMIT_MIB and after <= before and code == 0, code


main()
