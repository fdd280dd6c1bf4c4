#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server's first seconds: when it answers /health with 200, and what it gets done while CLIENTS ask at once for the
first time, beside what it gets done later.

usage: server_start.py PORT CLIENTS COMMAND...
Each COMMAND is one argument, which starts a server with llama-server's API on PORT; they run one after the other.
Work is tokens read and written. In the first seconds all prompts are read at once, later only those of clients that
begin anew, so the rate of tokens written alone says nothing about how well it runs.

example: server_start.py 8099 32 'bittern serve -m M.gguf --port 8099 -np 32 -c 16384 -t 2' \\
           'llama-server -m M.gguf --port 8099 -np 32 -c 16384 -t 2'
"""
import http.client
import json
import shlex
import subprocess
import sys
import threading
import time

FIRST, LATER, TOKENS = 5, 10, 64


def health(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


class Clients:
    """Each asks for TOKENS tokens again and again; `work` has (seconds since the start, tokens, of them written)."""

    def __init__(self, port, count):
        self.port, self.work, self.lock = port, [], threading.Lock()
        self.begin = time.perf_counter()
        threads = [threading.Thread(target=self.ask, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def now(self):
        return time.perf_counter() - self.begin

    def ask(self, number):
        body = {"n_predict": TOKENS, "stream": True, "ignore_eos": True, "temperature": 0, "cache_prompt": False}
        prompt, begun = f"Line {number} is", []
        while self.now() < FIRST + LATER:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            connection.request("POST", "/completion", json.dumps(body | {"prompt": prompt}),
                               {"Content-Type": "application/json"})
            times = []
            for line in connection.getresponse():
                if line.startswith(b"data:"):
                    times.append(self.now())
                if self.now() > FIRST + LATER:
                    break
            connection.close()
            begun += times[:1]
            with self.lock:
                self.work += [(at, 1, 1) for at in times]
        read = self.tokens_of(prompt)
        with self.lock:
            self.work += [(at, read, 0) for at in begun]

    def tokens_of(self, prompt):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", "/tokenize", json.dumps({"content": prompt, "add_special": True}))
        return len(json.load(connection.getresponse())["tokens"])

    def rates(self, begin, end):
        inside = [item for item in self.work if begin <= item[0] < end]
        return [sum(item[i] for item in inside) / (end - begin) for i in (1, 2)]


def measure(port, count, command):
    begin = time.perf_counter()
    with subprocess.Popen(shlex.split(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        while health(port) != 200:
            if server.poll() is not None:
                sys.exit(f"{command}: exit code {server.returncode}")
            time.sleep(0.01)
        ready = time.perf_counter() - begin
        clients = Clients(port, count)
        server.terminate()
    (work, written), (later, later_written) = clients.rates(0, FIRST), clients.rates(FIRST, FIRST + LATER)
    print(f"ready {ready:.2f} s, first token {min(item[0] for item in clients.work):.2f} s after it; "
          f"first {FIRST} s: {work:.0f} tokens read and written a second, next {LATER} s: {later:.0f}: "
          f"{100 * work / later:.0f} % ({written:.0f} and {later_written:.0f} written: "
          f"{100 * written / later_written:.0f} %): {command}", flush=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    for command in sys.argv[3:]:
        measure(int(sys.argv[1]), int(sys.argv[2]), command)


main()
