#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`bittern report` says what a developer needs and nothing of whose machine it was: the names and folders of a made-up
user, and the real ones of this machine, must not stand in it.

usage: report_test.py BITTERN MODEL
"""
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

BITTERN, MODEL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
USER, HOST = "zebediah", "castlerock"

with tempfile.TemporaryDirectory() as folder:
    home = os.path.join(folder, "people", USER)
    os.makedirs(home)
    shutil.copy(MODEL, os.path.join(home, "m.gguf"))
    environment = dict(os.environ, HOME=home, USER=USER, LOGNAME=USER, HOSTNAME=HOST)

    def run(*arguments, expect=0):
        done = subprocess.run([BITTERN, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=environment, cwd=home)
        assert done.returncode == expect, (arguments, done.returncode, done.stderr)
        return done

    # A key of the file that tells where it was made, as quantisers write them.
    marked = os.path.join(home, "marked.gguf")
    run("meta", "set", os.path.join(home, "m.gguf"), "general.source.url",
        "str:/home/alice/imatrix for " + USER + " on " + HOST,
        "-o", marked)
    # Prose of people, who name themselves and worse.
    run("meta", "set", marked, "general.description", "str:ask quirin@example.org, token hf_quokka", "-i")
    run("meta", "set", marked, "general.base_model.0.author", "str:quirin", "-i")
    private = ["quirin", "hf_quokka", home, folder, USER, HOST, "alice", "/home/", socket.gethostname()]
    if getpass.getuser() not in ("root", "user"):
        private.append(getpass.getuser())

    def check(text, name):
        for word in private:
            found = re.search(r"(?<![\w])" + re.escape(word) + r"(?![\w])", text)
            assert not found, (name, word, text[max(0, found.start() - 80):found.end() + 80])

    out = os.path.join(home, "report.json")
    run("report", "-m", marked, "-o", out)
    text = open(out).read()
    check(text, "json")
    report = json.loads(text)
    assert report["file"]["keys"]["general.source.url"] == "~/imatrix for (user) on (host)", report["file"]["keys"]
    assert report["file"]["keys"]["general.base_model.0.author"] == "(a text of 6 bytes)", report["file"]["keys"]
    assert report["model"] == "marked.gguf", report["model"]
    assert report["doctor"]["verdict"] == "nothing_found" and report["selftest"]["ok"], text
    assert report["bench"]["generated_tokens_per_second"] > 0 and report["machine"]["cpu"], text
    assert len(report["file"]["tensors"]) > 10 and "tokenizer.ggml.tokens" in report["file"]["keys"]
    assert len(text) < 200_000, len(text)

    # A file that is no model: the report is there all the same, and says so.
    broken = os.path.join(home, "broken.gguf")
    open(broken, "wb").write(b"<!doctype html>")
    said = run("report", "-m", broken).stdout
    check(said, "text")
    assert "broken.gguf" in said and "verdict: incurable" in said, said
    # It never replaces the model.
    run("report", "-m", marked, "-o", marked, expect=1)
print("ok")
