#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of which `bittern doctor` once said "healthy. Nothing is wrong", or which it cured by readings that were not
the cause: named, cured for good, or left open, never that. And `--fix OUT --json` prints its object whatever the
verdict.

usage: audit_test.py BITTERN KJV POCKET LLAMA
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import faults_more  # noqa: E402
from gguf_file import GgufFile  # noqa: E402
from measure import Measure  # noqa: E402

BITTERN, KJV, POCKET, LLAMA = sys.argv[1:5]
CODES = {"healthy": 0, "nothing_found": 0, "curable": 10, "incurable": 11, "cannot_tell": 12}


def negated(model):
    t = model["blk.1.ffn_down.weight"]
    t.codes = t.codes.translate(bytes(sum((2, 1, 0, 3)[b >> s & 3] << s for s in (0, 2, 4, 6)) for b in range(256)))


def shifted(model):
    t = model["blk.1.ffn_up.weight"]
    t.codes = t.codes[48:] + t.codes[:48]


def key_length_zero(model):
    model.keys[model.keys[b"general.architecture"][2] + b".attention.key_length"] = (4, None, 0)


def untouched(model):
    model.keys[b"general.name"] = (8, None, b"another name")


# (model, fault, verdicts that are true, what must be named where one is)
CASES = [
    (KJV, negated, {"curable"}, "signs"),
    (KJV, faults_more.heads_doubled, {"curable"}, "heads"),
    (KJV, faults_more.norms_bf16_as_f16, {"curable"}, "norm_type"),
    (KJV, faults_more.rope_linear, {"curable"}, "rope_scaling"),
    (KJV, faults_more.merges_reversed, {"curable"}, "merges"),
    (KJV, faults_more.codes_zero, {"incurable"}, "empty_matrix"),
    (KJV, shifted, {"incurable"}, "foreign_matrix"),
    (KJV, key_length_zero, {"curable"}, None),  # once a division by zero
    (KJV, untouched, {"nothing_found"}, None),
    (LLAMA, faults_more.heads_doubled, {"curable"}, "heads"),
    (LLAMA, faults_more.merges_cut, {"curable"}, "merges"),
    (LLAMA, faults_more.rope_linear, {"curable"}, "rope_scaling"),
    (POCKET, shifted, {"incurable"}, "foreign_matrix"),
    (POCKET, faults_more.rope_linear, {"curable"}, "rope_scaling"),
]


def check(measure, folder, fault, verdicts, finding):
    ill, mended = os.path.join(folder, "ill.gguf"), os.path.join(folder, "mended.gguf")
    model = GgufFile(measure.model, seed=3)
    fault(model)
    model.write(ill)
    done = measure.run("doctor", ill, "--json", "--fix", mended)
    said = json.loads(done.stdout)  # always an object
    about = (measure.model, fault.__name__, said)
    assert said["verdict"] in verdicts and done.returncode == CODES[said["verdict"]], about
    if finding:
        assert finding in [f["id"] for f in said["findings"]], about
    written = said["verdict"] == "curable"
    assert os.path.exists(mended) == written == said["fixed"]["written"] == said["fixed"]["proved"], about
    assert written or said["fixed"]["why"], about
    if written:
        assert measure.is_mended(mended), about
        os.unlink(mended)
    if said["verdict"] == "nothing_found":
        text = measure.run("doctor", ill).stdout.decode()
        assert "nothing found" in text and "Nothing is wrong" not in text and "--like" in text, text
        assert "Looked at" in text and "Not seen would be" in text, text
        like = json.loads(measure.run("doctor", measure.model, "--json", "--like", measure.model).stdout)
        assert like["verdict"] == "healthy", like


def main():
    with tempfile.TemporaryDirectory() as folder:
        measures = {path: Measure(BITTERN, path) for path in (KJV, POCKET, LLAMA)}
        for path, *case in CASES:
            check(measures[path], folder, *case)
        # Cut off: lost, nothing is written, and the object is there.
        cut, out = os.path.join(folder, "cut.gguf"), os.path.join(folder, "out.gguf")
        open(cut, "wb").write(open(KJV, "rb").read(100000))
        done = measures[KJV].run("doctor", cut, "--fix", out, "--json")
        said = json.loads(done.stdout)
        assert done.returncode == 11 and said["verdict"] == "incurable" and not said["fixed"]["written"], said
        assert not os.path.exists(out)
        # The file itself is known, so it is healthy: exit code 0, and nothing is written.
        done = measures[KJV].run("doctor", KJV, "--fix", out, "--json")
        said = json.loads(done.stdout)
        assert done.returncode == 0 and said["verdict"] == "healthy" and not os.path.exists(out), said
        assert "byte by byte" in said["summary"], said
    print("ok")


main()
