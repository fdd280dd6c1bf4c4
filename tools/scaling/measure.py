# SPDX-License-Identifier: Apache-2.0
"""What the ranks of this machine take: for an exchange, and for a token of a model; beside what simulate.py says."""
import json
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import network
import simulate

SHARES = (2, 5120, 13824)  # bytes of one rank: nothing much; of hidden values and of neurons of 2B-4T on two ranks


def latencies(program, words):
    """{bytes: seconds} of an exchange, by mpi-latency behind these words."""
    lines = network.run([*words, program, *map(str, SHARES)]).splitlines()
    return {line["bytes"]: line["microseconds"] * 1e-6 for line in map(json.loads, lines)}


def bench_words(model, threads, tokens, repeats):
    return ["bench", "-m", model, "-p", "0", "-n", str(tokens), "-r", str(repeats), "-t", str(threads), "--explain", "-o",
            "json"]


def token_times(output):
    """Seconds of a token in each repetition, and what was exchanged for one."""
    test = json.loads(output)[0]
    return [nanoseconds * 1e-9 / test["n_gen"] for nanoseconds in test["samples_ns"]], test["explain"].get("exchanged")


def beside(program, model, ranks, tokens, repeats):
    """Seconds of a token of one thread, while as many others as there are ranks do the same on the next cores, at most all of
    them: what a rank has of the memory."""
    words = [program, *bench_words(model, 1, tokens, repeats)]
    jobs = [subprocess.Popen(["taskset", "-c", str(core), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True) for core in network.cores()[:ranks]]
    outputs = [job.communicate()[0] for job in jobs]
    return statistics.median(time for output in outputs for time in token_times(output)[0])


def fit_link(two, four, cores):
    """A Link from exchanges of two ranks and of four, both of them {bytes: seconds}. On one machine the whole way is work
    of its cores, so the latency is 0: two overheads of two ranks, and twice four of them and two changes of four."""
    small, large = min(two), max(two)
    overhead = two[small] / 2
    per_byte = max(0.0, (two[large] - two[small]) / (large - small))
    link = simulate.Link(overhead, 0.0, per_byte)
    alone = simulate.exchange_seconds(link, 4, small, cores)
    changes = 8 * 2  # of the cores in an exchange of two rounds, at most
    return simulate.Link(overhead, 0.0, per_byte, max(0.0, (four[small] - alone) / changes))


def memory_of_ranks(program, model, ranks):
    """Bytes that each rank of a server has of its own (RssAnon), after an answer; the largest first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*network.on_cores(ranks), program, "serve", "-m", model, "-c", "512", "-t", "1", "--port", str(port)]
    said = tempfile.TemporaryFile()
    server = subprocess.Popen(words, env=network.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=said)
    try:
        body = json.dumps({"prompt": "A b c d", "max_tokens": 4}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"})
        for _ in range(300):
            try:
                urllib.request.urlopen(request, timeout=60).read()
                break
            except urllib.error.URLError:  # it loads
                if server.poll() is not None:
                    said.seek(0)
                    sys.exit(f"{program}: the server ended with {server.returncode}: {said.read().decode(errors='replace').strip()}")
                time.sleep(0.2)
        return sorted(map(_own_bytes, _children_of(server.pid)), reverse=True)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        said.close()


def _children_of(process):
    return pathlib.Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()


def _own_bytes(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024
