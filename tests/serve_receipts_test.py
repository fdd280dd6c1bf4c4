#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_receipts_test.py BITTERN MODEL [COUNT] [FLIPS] [ISA|PROGRAM...]   COUNT random answers with
receipts are verified, by this program, with each ISA of BITTERN_ISA and by other PROGRAMs ("qemu-aarch64-static
path"); then FLIPS times one bit of the weights, the prompt, the seed, the answer or the receipt's text is
turned, and must be noticed."""
import atexit
import copy
import json
import os
import random
import subprocess
import sys
import tempfile

from serve_client import Server

BITTERN, MODEL = sys.argv[1:3]
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 20
FLIPS = int(sys.argv[4]) if len(sys.argv) > 4 else 10
OTHERS = sys.argv[5:]
RNG = random.Random(7)
WORDS = "in the beginning of all king said unto them earth water and let there be light people house".split()


def request():
    body = {"prompt": " ".join(RNG.choice(WORDS) for _ in range(RNG.randint(1, 40))), "max_tokens": RNG.randint(1, 30),
            "seed": RNG.randrange(1 << 32), "temperature": RNG.choice([0, 0.5, 1.0, 1.5]), "receipt": True}
    more = {"top_k": 5, "top_p": 0.8, "min_p": 0.2, "repeat_penalty": 1.3, "mirostat": 2, "xtc_probability": 0.5, "stop": [" the"],
            "typical_p": 0.5, "dry_multiplier": 0.8, "logit_bias": {"100": 3}, "regex": "[a-z ]{5,30}", "ignore_eos": True}
    for name in RNG.sample(sorted(more), RNG.randint(0, 3)):
        body[name] = more[name]
    return body


def verify(receipts, program=(BITTERN,), env=None, model=MODEL):
    """(exit code, what was said)"""
    text = receipts if isinstance(receipts, bytes) else json.dumps({"choices": [{"receipt": one} for one in receipts]}).encode()
    run = subprocess.run([*program, "verify", "-", "-m", model, "-t", "1"], input=text, capture_output=True, env=env, check=False)
    return run.returncode, run.stdout.decode(errors="replace") + run.stderr.decode(errors="replace")


def flipped(receipt, where, folder):
    """(receipt's bytes or list, model) with one bit turned."""
    changed, bit = copy.deepcopy(receipt), 1 << RNG.randrange(8)
    if where == "weights":
        data = bytearray(open(MODEL, "rb").read())
        data[RNG.randrange(len(data) // 4, len(data))] ^= bit
        path = os.path.join(folder, "changed.gguf")
        with open(path, "wb") as out:
            out.write(data)
        return [changed], path
    if where == "seed":
        changed["options"]["seed"] ^= bit
    elif where in ("prompt", "ids"):
        changed[where][RNG.randrange(len(changed[where]))] ^= bit
    else:
        text = bytearray(json.dumps(receipt).encode())
        text[RNG.randrange(len(text))] ^= 1 << RNG.randrange(7)
        return bytes(text), MODEL
    return [changed], MODEL


def main():
    server = Server(BITTERN, "-m", MODEL, "-np", "4", "-t", "2", "--log-format", "none")
    atexit.register(server.kill)
    receipts = []
    while len(receipts) < COUNT:
        status, answer = server.post("/v1/completions", request())
        assert status == 200, answer
        receipts.append(answer["choices"][0]["receipt"])
    assert server.stop() == 0
    for other in ["", *OTHERS]:
        named = other in ("", "scalar") or not os.path.exists(other.split()[-1])
        env = {**os.environ, "BITTERN_ISA": other} if named and other else None
        code, said = verify(receipts, program=(BITTERN,) if named else other.split(), env=env)
        good = sum(line.startswith("identical") for line in said.splitlines())
        assert (code, good) == (0, COUNT), (other, code, said)
        print(f"{other or 'here'}: {good} receipts identical", flush=True)
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(FLIPS):
            where = ("weights", "prompt", "seed", "ids", "receipt")[i % 5]
            receipt = RNG.choice([one for one in receipts if one["ids"]])
            turned, model = flipped(receipt, where, folder)
            code, said = verify(turned, model=model)
            assert code in (1, 2, 4), (where, code, said)
            caught += 1
    print(f"{caught} of {FLIPS} turned bits noticed")


main()
