#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Masks and coverage beside other programs that keep answers to a JSON schema: the same schemas, the same vocabulary, the same
tokens. Needs llguidance and xgrammar in the Python that runs it; a program that is missing is left out. Times are CPU time of
one thread. Coverage counts schemas that are compiled without an error; "kept" of these, those whose grammar takes the texts
that Bittern wrote for the schema (a program that reads a keyword over takes them all, so this is no proof of obedience).

usage: grammar_peers.py GRAMMAR_WALK MODEL FOLDER [--every N]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

from schema_collection import Walk, read_schema


def percentiles(values):
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))] if values else 0
    return f"p50 {at(0.5):8.1f}  p99 {at(0.99):8.1f}  most {values[-1] if values else 0:9.0f}  mean {statistics.fmean(values or [0]):7.1f}"


class Llguidance:
    name = "llguidance"

    def __init__(self, tokens, end):
        import llguidance
        import numpy

        class Vocabulary:
            eos_token_id, bos_token_id, special_token_ids = end, None, [end]
            ids = {bytes(token): number for number, token in enumerate(tokens)}

            def __call__(self, text):
                """The longest token at each place."""
                text, found = text if isinstance(text, bytes) else text.encode(), []
                while text:
                    size = next(n for n in range(min(len(text), 64), 0, -1) if text[:n] in self.ids)
                    found.append(self.ids[text[:size]])
                    text = text[size:]
                return found

        vocabulary = Vocabulary()
        vocabulary.tokens = [bytes(t) for t in tokens]
        self.library, self.tokenizer = llguidance, llguidance.LLTokenizer(llguidance.TokenizerWrapper(vocabulary))
        self.mask = numpy.zeros((1, (len(tokens) + 31) // 32), dtype=numpy.int32)
        import llguidance.numpy
        self.fill = llguidance.numpy.fill_next_token_bitmask

    def compile(self, schema):
        grammar = self.library.LLMatcher.grammar_from_json_schema(schema)
        matcher = self.library.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def step(self, matcher, token):
        begin = time.thread_time()
        self.fill(matcher, self.mask)
        used = time.thread_time() - begin
        return used, matcher.consume_token(token)


class Xgrammar:
    name = "xgrammar"

    def __init__(self, tokens, end):
        import xgrammar
        info = xgrammar.TokenizerInfo([bytes(t) for t in tokens], vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[end])
        self.library, self.compiler = xgrammar, xgrammar.GrammarCompiler(info, max_threads=1)
        self.mask = xgrammar.allocate_token_bitmask(1, len(tokens))

    def compile(self, schema):
        return self.library.GrammarMatcher(self.compiler.compile_json_schema(schema))

    def step(self, matcher, token):
        begin = time.thread_time()
        matcher.fill_next_token_bitmask(self.mask)
        used = time.thread_time() - begin
        return used, matcher.accept_token(token)


class Tally:
    def __init__(self):
        self.compiled, self.kept, self.compile_us, self.mask_us = 0, 0, [], []


def try_peer(peer, schema, ids, tally):
    begin = time.thread_time()
    try:
        matcher = peer.compile(json.dumps(schema))
    except Exception:  # each library has errors of its own
        return
    tally.compile_us.append(1e6 * (time.thread_time() - begin))
    tally.compiled += 1
    kept = True
    for token in ids:
        used, kept = peer.step(matcher, token)
        tally.mask_us.append(1e6 * used)
        if not kept:
            break
    tally.kept += kept


def main():
    parser = argparse.ArgumentParser()
    for name in ("walk", "model", "folder"):
        parser.add_argument(name)
    parser.add_argument("--every", type=int, default=20)
    options = parser.parse_args()
    said = json.loads(subprocess.run([options.walk, options.model, "--vocabulary"], capture_output=True, check=True).stdout)
    tokens = [bytes.fromhex(token) or b"\xff" + f"<{number}>".encode() for number, token in enumerate(said["tokens"])]
    peers = []
    for kind in (Llguidance, Xgrammar):
        try:
            peers.append(kind(tokens, said["ends"][0]))
        except ImportError as error:
            print(f"{kind.name}: left out ({error})")
    walk, ours, tallies, schemas = Walk([options.walk, options.model], 60), Tally(), {peer.name: Tally() for peer in peers}, 0
    for number, path in enumerate(sorted(pathlib.Path(options.folder).rglob("*.json"))[:: options.every]):
        schema = read_schema(path)
        if schema is None:
            continue
        schemas += 1
        answer = walk.ask(kind="json_schema", text=json.dumps(schema), seed=number, count=1, budget=100)
        ids = answer.get("ids", [[]])[0]
        if "ids" in answer:
            ours.compiled += 1
            ours.kept += 1
            ours.compile_us.append(answer["compile_us"])
            ours.mask_us += answer["mask_us"]
        for peer in peers:
            try_peer(peer, schema, ids, tallies[peer.name])
    print(f"{schemas} schemas, {len(tokens)} tokens; microseconds of CPU time")
    for name, tally in {"bittern": ours, **tallies}.items():
        print(f"{name:11} compiled {tally.compiled:5} kept {tally.kept:5}  compile {percentiles(tally.compile_us)}")
        print(f"{'':11} masks {len(tally.mask_us):8}               mask    {percentiles(tally.mask_us)}")


if __name__ == "__main__":
    main()
