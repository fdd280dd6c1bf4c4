#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile hubs: generated answers that lie, break off, are no HTTP, name files outside the cache, never end. After
each the program has ended with one clear error (or, where the answer was harmless after all, with the right file),
no file with wrong bytes has a final name, and nothing was written outside the cache.

usage: hub_hostile_test.py BITTERN MODEL.gguf [FIRST [COUNT]]   (COUNT random answers from seed FIRST)
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from hub_server import COMMIT, Hub, git_sha1, sha256

BITTERN, MODEL = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 0
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 200
REPO, FILE = "user/tern", "tern-i2_s.gguf"
DATA = random.Random(3).randbytes(300_000)
SECONDS = 60  # that one pull may take

EVIL_PATHS = ["../evil.gguf", "../../../../evil.gguf", "/tmp/evil.gguf", "a/../../evil.gguf", "..", ".", "", "a//b.gguf",
              "evil\n.gguf", "evil\x1b[2J.gguf", "evil\u202e.gguf", "a\\..\\evil.gguf", "\u0000.gguf", "x" * 600 + ".gguf",
              "a/" * 300 + "b.gguf", "evil.gguf/", "./evil.gguf", "\ud800.gguf", "refs/../../evil.gguf", "~/evil.gguf",
              "evil.gguf\r\nX-Header: 1", " .gguf", "%2e%2e/evil.gguf"]
EVIL_LOCATIONS = ["file:///etc/passwd", "ftp://127.0.0.1/x", "javascript:1", "", "http://", "//", "http://user:pw@127.0.0.1:9/x",
                  "http://127.0.0.1:1/x", "gopher://127.0.0.1/x", "http://[::1", "\x01\x02", "http:///x", "?", "scp://a/b",
                  "http://127.0.0.1:99999/", "dict://127.0.0.1:1/x", "x" * 100_000, "http://127.0.0.1:0/"]
EVIL_VALUES = [None, True, -1, 1.5, 1e300, 2**63, 2**64, 10**30, "", "x", "0" * 64, [], {}, [[]], {"a": 1}, "\u0000", "../..",
               "f" * 40, "F" * 40, "z" * 64, "0" * 39]
EVIL_BODIES = [b"", b"null", b"[]", b"{}", b"<html>Sorry</html>", b"{", b"{\"sha\":", b"\xff\xfe\x00", b"[" * 100_000,
               b"{\"a\":" * 100_000, b"\"" + b"x" * 100_000, b"1e999999", b"{\"sha\":1,\"sha\":2}", b"\x00" * 5000,
               b"{\"siblings\":[" + b"{}," * 200_000 + b"{}]}"]
EVIL_HEADS = [b"", b"\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n",
              b"HTTP/1.1 999 What\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
              b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
              b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nabc",
              b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
              b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
              b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
              b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
              b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
              b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
              b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 50_000 + b"\r\n",
              b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n\r\n",
              b"HTTP/1.1 101 Switching Protocols\r\n\r\nabc", b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
              b"\x16\x03\x01\x02\x00\x01\x00", b"HTTP/1.1 200 OK\r\n: x\r\n\x00: y\r\n\r\n", b"HTTP/0.9 200\r\n\r\n"]
STATUSES = [201, 203, 206, 300, 301, 302, 303, 304, 305, 307, 308, 400, 402, 403, 404, 405, 409, 410, 416, 418, 429, 451, 500,
            501, 502, 503, 504, 505, 507, 511, 599]


def name_of(path, data=DATA):
    return {"rfilename": path, "size": len(data), "blobId": git_sha1(data),
            "lfs": {"sha256": sha256(data), "size": len(data)}}


def body_answer(body):
    return lambda request: request.send(200, body)


def listing_answer(hub, change):
    listing = hub.listing(REPO)
    change(listing)
    return lambda request: request.send(200, json.dumps(listing).encode())


def raw_answer(data):
    return lambda request: request.raw(data)


def status_answer(status, rng):
    fields = rng.choice([{}, {"Location": "/"}, {"Retry_After": rng.choice(["0", "-1", "x", "9" * 40, "Mon"])},
                         {"X_Error_Code": "GatedRepo"}, {"X_Error_Message": "a\x1b[31mb" * 50}])
    return lambda request: request.send(status, b"no", **fields)


def redirect_answer(location):
    return lambda request: request.raw(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " +
                                       location.encode("utf-8", "replace") + b"\r\n\r\n")


def loop_answer(request):
    request.send(302, Location=request.path + "/x")


def head_answer(fields, status=200):
    return lambda request: request.send(status, DATA, **fields)


def range_answer(text, body, status=206):
    return lambda request: request.send(status, body, Content_Range=text)


def short_answer(count, says):
    return lambda request: (request.send(206, DATA[:count], Content_Length=str(says),
                                         Content_Range=f"bytes 0-{len(DATA) - 1}/{len(DATA)}"),
                            setattr(request, "close_connection", True))


def set_field(key, value):
    def change(listing):
        listing[key] = value
    return change


def set_file_field(key, value):
    def change(listing):
        entry = listing["siblings"][0]
        (entry["lfs"] if key in ("sha256",) else entry)[key] = value
    return change


def set_files(paths):
    def change(listing):
        listing["siblings"] = [name_of(p) for p in paths]
    return change


def fixed_cases(hub):
    """Every value of the lists above once, where it belongs: (name, kind of request, answer)."""
    for i, path in enumerate(EVIL_PATHS):
        yield f"path {i}", "list", listing_answer(hub, set_files([path]))
    yield "paths", "list", listing_answer(hub, set_files(EVIL_PATHS))
    for i, body in enumerate(EVIL_BODIES):
        yield f"body {i}", "list", body_answer(body)
    yield "huge JSON", "list", body_answer(b"[\"" + b"x" * (20 << 20) + b"\"]")
    for i, value in enumerate(EVIL_VALUES):
        for key in ("sha", "siblings"):
            yield f"{key} {i}", "list", listing_answer(hub, set_field(key, value))
        for key in ("rfilename", "size", "lfs", "sha256"):
            yield f"{key} {i}", "list", listing_answer(hub, set_file_field(key, value))
    for i, head in enumerate(EVIL_HEADS):
        for kind in ("list", "file", "blob"):
            yield f"head {i} of {kind}", kind, raw_answer(head)
    for i, location in enumerate(EVIL_LOCATIONS):
        for kind in ("list", "file", "blob"):
            yield f"redirect {i} of {kind}", kind, redirect_answer(location)
    for kind in ("list", "file", "blob"):
        yield f"redirect loop of {kind}", kind, loop_answer
        for status in STATUSES:
            yield f"status {status} of {kind}", kind, status_answer(status, random.Random(status))
    for i, tag in enumerate(["", "x", "W/\"x\"", "\"" + "0" * 64 + "\"", "0" * 40, "../../x", "\"\"", "\"", "W/"]):
        yield f"etag {i}", "file", head_answer({"X_Linked_Etag": tag, "X_Linked_Size": str(len(DATA))})
    for i, size in enumerate(["", "0", "-1", "1", "9" * 30, "x", str(len(DATA) + 1)]):
        yield f"linked size {i}", "file", head_answer({"X_Linked_Etag": sha256(DATA), "X_Linked_Size": size})
    yield "another commit", "file", head_answer({"X_Repo_Commit": "f" * 40})
    last, count = len(DATA) - 1, len(DATA)
    for i, text in enumerate([f"bytes 1-{last}/{count}", f"bytes 0-{count}/{count}", f"bytes 0-{last}/{count + 1}",
                              f"bytes 0-{last}/*", "bytes */5", "", "x", f"bytes {last}-0/{count}", "bytes 0-0/1",
                              "bytes 18446744073709551615-18446744073709551616/1", f"bytes 0-{last}"]):
        yield f"range {i}", "blob", range_answer(text, DATA)
        yield f"range {i} of wrong bytes", "blob", range_answer(text, DATA[1:] + b"x")
    yield "bytes too many", "blob", lambda request: request.raw(b"HTTP/1.1 200 OK\r\n\r\n" + DATA + b"more")
    yield "bytes too few", "blob", lambda request: request.raw(b"HTTP/1.1 200 OK\r\n\r\n" + DATA[:-1])
    yield "one byte wrong", "blob", lambda request: request.send(200, DATA[:-1] + bytes([DATA[-1] ^ 1]))
    yield "another length", "blob", lambda request: request.send(200, DATA + b"x")
    yield "zeros", "blob", lambda request: request.send(200, bytes(count))
    for i in range(5):
        yield f"cut {i}", "blob", short_answer(i * 1000, count)


def random_case(hub, seed):
    """Bytes of an honest answer, changed, cut or repeated at random places."""
    rng = random.Random(seed)
    kind = rng.choice(["list", "file", "blob"])
    body = json.dumps(hub.listing(REPO)).encode() if kind == "list" else DATA
    fields = {"list": {}, "blob": {},
              "file": {"X-Linked-Etag": sha256(DATA), "X-Linked-Size": str(count_text(rng)), "X-Repo-Commit": COMMIT}}[kind]
    head = f"HTTP/1.1 {rng.choice([200, 200, 200, 206, 302])} OK\r\nContent-Length: {len(body)}\r\n"
    head += "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n"
    answer = bytearray(head.encode() + (b"" if kind == "file" else body))
    reach = rng.choice([len(head), len(answer), min(len(answer), 2000)])
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(max(1, min(reach, len(answer))))
        change = rng.randrange(5)
        if change == 0:
            answer[at:at + 1] = bytes([rng.randrange(256)])
        elif change == 1:
            del answer[at:at + rng.randint(1, 40)]
        elif change == 2:
            answer[at:at] = answer[at:at + rng.randint(1, 200)]
        elif change == 3:
            answer[at:at] = rng.randbytes(rng.randint(1, 20))
        else:
            del answer[rng.randrange(at, len(answer) + 1):]
        if not answer:
            break
    return f"random {seed}", kind, raw_answer(bytes(answer))


def count_text(rng):
    return len(DATA) if rng.random() < 0.7 else rng.randrange(1 << 40)


class Sandbox:
    """An empty home with a cache in it; knows whether something is where it should not be."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-hostile-"))
        self.home = self.folder / "a" / "b" / "home"
        self.home.mkdir(parents=True)
        self.cache = self.home / "hub"

    def pull(self, hub):
        env = {"HOME": str(self.home), "HF_HUB_CACHE": str(self.cache), "HF_ENDPOINT": hub.url, "no_proxy": "*",
               "HF_HUB_DOWNLOAD_TIMEOUT": "2", "HF_TOKEN": "hf_secret_token", "PATH": os.environ["PATH"]}
        env |= {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        return subprocess.run([BITTERN, "pull", REPO, "--retries", "0"], capture_output=True, env=env,
                              stdin=subprocess.DEVNULL, timeout=SECONDS, cwd=self.home)

    def problems(self, done, hub):
        error = done.stderr.decode("utf-8", "replace")
        said = [line for line in error.splitlines() if line.startswith("error: ")]
        if done.returncode == 0:
            if pathlib.Path(done.stdout.decode().strip()).read_bytes() != DATA:
                yield "success with wrong bytes"
        elif done.returncode not in (1, 2, 3) or len(said) != 1:
            yield f"code {done.returncode}, {len(said)} errors"
        if "hf_secret_token" in error or "signature=" in error:
            yield "a secret in the message"
        if any(ord(c) < 0x20 and c != "\n" for c in error):
            yield "control characters in the message"
        if len(error) > 20_000:
            yield f"a message of {len(error)} characters"
        if [e for e in hub.asked(host="cdn") if e["authorization"]]:
            yield "the token went to the other host"
        for path in self.folder.rglob("*"):
            if self.cache in path.parents or path == self.cache or path in self.cache.parents:
                continue
            yield f"a file outside the cache: {path}"
        hashes = {sha256(DATA): DATA}
        for path in self.cache.rglob("*"):
            if path.is_symlink() and not path.resolve().is_relative_to(self.cache):
                yield f"a link out of the cache: {path}"
            is_final = path.is_file() and path.suffix not in (".incomplete", ".lock") and "refs" not in path.parts
            if is_final and path.read_bytes() != hashes.get(path.resolve().name, None):
                yield f"wrong bytes under a final name: {path}"

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    hub = Hub()
    hub.add(REPO, {FILE: DATA})
    cases = list(fixed_cases(hub)) + [random_case(hub, seed) for seed in range(FIRST, FIRST + COUNT)]
    failed = refused = 0
    longest = (0, "")
    for name, kind, answer in cases:
        hub.calm()
        hub.hook = lambda request, kind=kind, answer=answer: request.kind == kind and (answer(request), True)[1]
        sandbox, start = Sandbox(), time.monotonic()
        try:
            done = sandbox.pull(hub)
            found = list(sandbox.problems(done, hub))
            refused += done.returncode != 0
        except subprocess.TimeoutExpired:
            found = [f"no end after {SECONDS} s"]
        longest = max(longest, (time.monotonic() - start, name))
        if found:
            failed += 1
            print(f"FAILED {name} ({kind}): {'; '.join(found)}\n{done.stderr.decode('utf-8', 'replace')[:500]}")
        elif os.environ.get("VERBOSE"):
            print(f"{name} ({kind}): {done.returncode} {done.stderr.decode('utf-8', 'replace').strip()[:300]}")
        sandbox.close()
    hub.close()
    print(f"{len(cases)} answers, {refused} refused, {failed} failed; the longest took {longest[0]:.1f} s ({longest[1]})")
    if len(cases) - refused > len(cases) // 2:
        print("FAILED: most answers were taken; is this the right program?")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
