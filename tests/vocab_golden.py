#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares token ids with those of llama.cpp's vocabulary files.

Usage: tests/vocab_golden.py BITTERN [FOLDER] [--self-test]

FOLDER (or BITTERN_GGML_VOCABS) is a copy of llama.cpp's folder `models`: each ggml-vocab-NAME.gguf
with NAME.gguf.inp (texts, separated by a line __ggml_vocab_test__) and NAME.gguf.out (a line of ids
for each). They are not part of this repository. Without them this says so and exits with 77, which
ctest counts as skipped. Prints a line for each vocabulary; exits with 1 if one that is supported
gives other ids, or if none is there.
"""
import json
import os
import pathlib
import subprocess
import sys

SEPARATOR = "\n__ggml_vocab_test__\n"
SKIPPED = 77
# What is refused on purpose (docs/tokenizer.md): the words of the message.
REFUSED = {"bert-bge": "tokenizer.ggml.model"}


def texts_of(path):
    """The texts of a .inp file; the last one ends in a separator as well."""
    texts = path.read_bytes().decode().split(SEPARATOR)
    return texts[:-1] if texts[-1] == "" else texts


def ids_of(path):
    """The ids of a .out file, a list for each line."""
    return [[int(word) for word in line.split()] for line in path.read_text().splitlines()]


def encode(bittern, vocab, texts):
    """Ids for each text, or the message of a refusal."""
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    run = subprocess.run([bittern, "tokenize", "-m", str(vocab), "--jsonl", "--no-bos"],
                         input=lines, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None, run.stderr.strip()
    return [json.loads(line)["ids"] for line in run.stdout.splitlines()], run.stderr.strip()


def check(bittern, vocab):
    """One vocabulary. Returns a line, and whether it is as it should be."""
    name = vocab.name.removeprefix("ggml-vocab-").removesuffix(".gguf")
    texts = texts_of(vocab.with_name(vocab.name + ".inp"))
    expected = ids_of(vocab.with_name(vocab.name + ".out"))
    found, message = encode(bittern, vocab, texts)
    if name in REFUSED:
        good = found is None and REFUSED[name] in message
        return f"{name}: {'refused, as documented' if good else 'should be refused'}", good
    if found is None:
        return f"{name}: refused: {message}", False
    if len(texts) != len(expected) or len(found) != len(expected):
        return f"{name}: {len(texts)} texts, {len(expected)} lines of ids", False
    wrong = [i for i, ids in enumerate(found) if ids != expected[i]]
    line = f"{name}: {len(texts) - len(wrong)} of {len(texts)} texts"
    for i in wrong[:3]:
        line += f"\n  {texts[i]!r}\n    expected {expected[i]}\n    found    {found[i]}"
    return line, not wrong


def self_test():
    """The readers of .inp and .out on what they must tell apart."""
    folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
    inp = folder / f"vocab_golden.{os.getpid()}.inp"
    out = folder / f"vocab_golden.{os.getpid()}.out"
    try:
        inp.write_bytes(("a" + SEPARATOR + SEPARATOR + "\n\n" + SEPARATOR).encode())
        out.write_text(" 1 2\n\n 3\n")
        assert texts_of(inp) == ["a", "", "\n\n"], texts_of(inp)
        assert ids_of(out) == [[1, 2], [], [3]], ids_of(out)
    finally:
        inp.unlink(missing_ok=True)
        out.unlink(missing_ok=True)
    print("self-test: the files are read as they should be")


def main(arguments):
    if "--self-test" in arguments:
        self_test()
        return 0
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    folder = arguments[1] if len(arguments) > 1 else os.environ.get("BITTERN_GGML_VOCABS")
    if not folder:
        print("skipped: no folder with llama.cpp's ggml-vocab files (give one, or set "
              "BITTERN_GGML_VOCABS)")
        return SKIPPED
    vocabs = [path for path in sorted(pathlib.Path(folder).glob("ggml-vocab-*.gguf"))
              if path.with_name(path.name + ".out").exists()]
    good = bool(vocabs)
    if not vocabs:
        print(f"{folder}: no ggml-vocab-*.gguf with a .out file")
    for vocab in vocabs:
        line, as_expected = check(arguments[0], vocab)
        print(line, flush=True)
        good = good and as_expected
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
