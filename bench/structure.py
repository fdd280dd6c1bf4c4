#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens a second of text under a JSON schema against those of free text: the same model, prompt and number of
tokens, in turns, medians. Under a schema forced tokens run together, and only rows that the schema allows are computed.

usage: structure.py BITTERN MODEL [TOKENS [ROUNDS]]
"""
import json
import statistics
import subprocess
import sys

BITTERN, MODEL = sys.argv[1:3]
TOKENS = int(sys.argv[3]) if len(sys.argv) > 3 else 64
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
LINES = {"type": "array", "minItems": 40, "items": {"type": "string", "maxLength": 40}}
RECORD = {
    "type": "array",
    "minItems": 40,
    "items": {
        "type": "object",
        "properties": {
            "station_identifier": {"type": "integer", "minimum": 1, "maximum": 99},
            "temperature_in_degrees_celsius": {"type": "integer", "minimum": -40, "maximum": 50},
            "instrument_is_calibrated": {"type": "boolean"},
            "measurement_quality": {"enum": ["measured", "interpolated", "estimated by hand"]},
        },
        "required": ["station_identifier", "temperature_in_degrees_celsius", "instrument_is_calibrated", "measurement_quality"],
        "additionalProperties": False,
    },
}
WAYS = {
    "free text": ["--ignore-eos"],
    "any JSON object": ["--json-schema", '{"type": "object"}', "--ignore-eos"],
    "list of strings": ["--json-schema", json.dumps(LINES), "--ignore-eos"],
    "records, many forced tokens": ["--json-schema", json.dumps(RECORD), "--ignore-eos"],
}


def run(flags, seed):
    command = [BITTERN, "run", "-m", MODEL, "-p", "The readings of today, as JSON: ", "-n", str(TOKENS), "-s", str(seed), "--temp", "0.8", "--json"]
    answer = json.loads(subprocess.run(command + flags, check=True, capture_output=True, text=True).stdout)
    return len(answer["ids"]), answer["timings"]


def main():
    rates = {name: [] for name in WAYS}
    forced = {name: [] for name in WAYS}
    for seed in range(1, ROUNDS + 1):
        for name, flags in WAYS.items():
            tokens, timings = run(flags, seed)
            if tokens < TOKENS // 2:
                print(f"{name}: it ended after {tokens} tokens")
                continue
            rates[name].append(timings["predicted_per_second"])
            forced[name].append(timings["forced_n"] / tokens)
    free = statistics.median(rates["free text"])
    for name, found in rates.items():
        if found:
            median = statistics.median(found)
            print(f"{name:28} {median:7.2f} tokens/s  {median / free:5.2f} of free text  {100 * statistics.median(forced[name]):3.0f}% forced"
                  f"  (rounds: {', '.join(f'{r:.2f}' for r in found)})")


if __name__ == "__main__":
    main()
