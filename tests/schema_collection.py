#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random texts for every schema of a folder, by a random sampler over a model's vocabulary, as lines for
js/schemas/validate.mjs. It counts the schemas that are refused, by keyword. Nothing of a collection is in this repository.

usage: schema_collection.py GRAMMAR_WALK MODEL FOLDER OUT.jsonl [--texts N] [--every N] [--seconds N]
"""
import argparse
import collections
import json
import pathlib
import re
import select
import subprocess
import time


class Walk:
    """A process of grammar_walk; one that takes too long for a schema is ended, and a new one started."""

    def __init__(self, command, seconds):
        self.command, self.seconds, self.tool = command, seconds, None

    def ask(self, **request):
        if self.tool is None:
            self.tool = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tool.stdin.write((json.dumps(request) + "\n").encode())
        self.tool.stdin.flush()
        if select.select([self.tool.stdout], [], [], self.seconds)[0]:
            line = self.tool.stdout.readline()
            if line:
                return json.loads(line)
        ended = self.tool.poll()
        self.tool.kill()
        self.tool.wait()
        self.tool = None
        return {"crash": ended} if ended is not None else {"late": True}


def read_schema(path):
    try:
        schema = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    # jsonschemabench and its mask benchmark keep the schema beside tests.
    if isinstance(schema, dict) and "schema" in schema and "tests" in schema:
        schema = schema["schema"]
    return schema if isinstance(schema, dict) else None


def main():
    parser = argparse.ArgumentParser()
    for name in ("walk", "model", "folder", "out"):
        parser.add_argument(name)
    parser.add_argument("--texts", type=int, default=2)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    walk = Walk([options.walk, options.model], options.seconds)
    counts, reasons, masks = collections.Counter(), collections.Counter(), []
    begin = time.time()
    with open(options.out, "w", encoding="utf-8") as out:
        for number, path in enumerate(sorted(pathlib.Path(options.folder).rglob("*.json"))[:: options.every]):
            schema = read_schema(path)
            if schema is None:
                counts["no schema"] += 1
                continue
            counts["schemas"] += 1
            answer = walk.ask(kind="json_schema", text=json.dumps(schema), seed=number, count=options.texts, budget=150)
            masks += answer.get("mask_us", [])
            whole = [t for t, ended in zip(answer.get("texts", []), answer.get("whole", [])) if ended]
            kind = next((k for k in ("crash", "late", "error") if k in answer), "supported")
            counts[kind] += 1
            if kind == "supported":
                counts["texts"] += len(whole)
                counts["cut"] += options.texts - len(whole)
            else:
                keyword = re.search(r'at "#?([^"]*)"', str(answer.get("error", "")))
                last = keyword[1].split("/")[-1] if keyword else ""
                reason = re.sub(r'^.*?at "[^"]*": ', "", answer.get("error", kind))
                reasons[f"{last if last[:1].isalpha() or last[:1] == '$' else ''}: {reason}"[:110]] += 1
            line = {"path": str(path), "schema": schema, "texts": whole}
            print(json.dumps({**line, "error": answer.get("error", kind)} if kind != "supported" else line), file=out)
    for reason, count in reasons.most_common(40):
        print(f"{count:6}  {reason}")
    masks.sort()
    if masks:
        print(f"masks: {len(masks)}, p50 {masks[len(masks) // 2]:.1f} us, p99 {masks[int(0.99 * len(masks))]:.1f} us, most {masks[-1]:.0f} us")
    share = 100 * counts["supported"] / max(1, counts["schemas"])
    print(f"{dict(counts)}; {share:.1f}% supported; {time.time() - begin:.0f} s")
    return 1 if counts["crash"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
