#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two builds in turn on one machine, and the ratio of their medians with its spread: what a change
# did to speed, on a machine that others use too. A and B are each a `bittern` or a program with
# llama-bench's flags (llama.cpp's, bitnet.cpp's).
set -euo pipefail

usage() {
  cat >&2 <<'TEXT'
usage: bench/compare.sh A B [-m MODEL] [-M MODEL_OF_B] [-p LIST] [-n LIST] [-t N] [-r ROUNDS]

  A, B      programs: build/dev/apps/cli/bittern, .../bin/llama-bench
  -m MODEL  GGUF file (default: $BITTERN_MODEL)
  -M MODEL  another file for B
  -p LIST   prompt lengths (default 128; 0: none)     -n LIST  generation lengths (default 32)
  -t N      threads (default: one per usable CPU)     -r N     rounds (default 7)

Each round runs A and B once each, the first one in turn. "ratio" is median(A) / median(B): above 1
A is faster. The spread is that of the rounds' own ratios, least to most. Exit code 0 whatever the
ratio is; 1 for wrong arguments, 2 if a program fails.
TEXT
  exit 1
}

[ $# -ge 2 ] || usage
a=$1 b=$2
shift 2
model=${BITTERN_MODEL:-} model_b='' prompts=128 gens=32 threads=$(nproc) rounds=7
while getopts m:M:p:n:t:r: flag; do
  case $flag in
    m) model=$OPTARG ;;
    M) model_b=$OPTARG ;;
    p) prompts=$OPTARG ;;
    n) gens=$OPTARG ;;
    t) threads=$OPTARG ;;
    r) rounds=$OPTARG ;;
    *) usage ;;
  esac
done
if [ $((OPTIND - 1)) -ne $# ] || [ -z "$model" ]; then usage; fi
for program in "$a" "$b"; do
  command -v "$program" >/dev/null || { echo "compare: $program is not a program" >&2 && exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# is_bittern PROGRAM: others have no subcommands.
is_bittern() { "$1" --version 2>/dev/null | grep -q '^bittern '; }

# measure NAME PROGRAM MODEL ROUND: one JSON array of results in $work/NAME.ROUND
measure() {
  local command=("$2")
  if is_bittern "$2"; then command+=(bench); fi
  command+=(-m "$3" -p "$prompts" -n "$gens" -t "$threads" -r 1 -o json)
  if ! "${command[@]}" >"$work/$1.$4" 2>"$work/err"; then
    echo "compare: failed: ${command[*]}" >&2
    tail -n 5 "$work/err" >&2
    exit 2
  fi
}

for ((round = 1; round <= rounds; ++round)); do
  if [ -t 2 ]; then printf '\rround %d of %d ' "$round" "$rounds" >&2; fi
  order=(a b)
  if ((round % 2 == 0)); then order=(b a); fi
  for name in "${order[@]}"; do
    if [ "$name" = a ]; then
      measure a "$a" "$model" "$round"
    else
      measure b "$b" "${model_b:-$model}" "$round"
    fi
  done
done
if [ -t 2 ]; then printf '\r                    \r' >&2; fi

echo "A: $a"
echo "B: $b"
python3 - "$work" "$rounds" <<'PYTHON'
import json
import pathlib
import statistics
import sys

folder, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
rates = {"a": {}, "b": {}}
for name, tests in rates.items():
    for number in range(1, rounds + 1):
        for row in json.loads((folder / f"{name}.{number}").read_text()):
            test = f"pp{row['n_prompt']}" if row["n_prompt"] else f"tg{row['n_gen']}"
            tests.setdefault(test, []).append(row["avg_ts"])
print(f"{'test':<10} {'A tokens/s':>12} {'B tokens/s':>12} {'ratio':>7}  spread of {rounds} rounds")
for test, of_a in rates["a"].items():
    of_b = rates["b"].get(test)
    if of_b is None or len(of_a) != rounds or len(of_b) != rounds:
        print(f"{test:<10} not measured by both")
        continue
    a, b = statistics.median(of_a), statistics.median(of_b)
    ratios = sorted(x / y for x, y in zip(of_a, of_b))
    print(f"{test:<10} {a:>12.2f} {b:>12.2f} {a / b:>7.3f}  {ratios[0]:.3f} .. {ratios[-1]:.3f}")
PYTHON
