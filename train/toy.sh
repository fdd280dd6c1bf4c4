#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole of train/ in a toy setting: data, tokenizer, training, a stop and a restart, exports,
# checks, and the engine writing with the result.
#
#   train/toy.sh [BITTERN]
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
bittern=${1:-build/dev/apps/cli/bittern}
python=/usr/bin/python3 # Debian's: the one that has torch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/toy.json" <<'JSON'
{"vocab": 512, "hidden": 128, "ffn": 128, "layers": 2, "heads": 4, "kv_heads": 2, "context": 512}
JSON
train() {
  "$python" train/train.py --work "$work" --config "$work/toy.json" --rows 2 --length 128 \
    --warmup 5 "$@" | tee -a "$work/log"
}
"$python" train/fast_test.py
train --steps 20
train --steps 40
grep -q 'from step 20 of 40' "$work/log"
train --steps 40 --decay 20
awk '/^step 20 /{a = $4} /^step 60 /{b = $4} END {exit !(b < a)}' "$work/log" # it learns

"$python" train/gpu.py --work "$work" --config "$work/toy.json" --rows 2 --length 128 --workers 2 --device cpu \
  --minutes 0.4 --out "$work/gpu" --name toy | tee "$work/log.gpu"
grep -q '^done: ' "$work/log.gpu"
"$bittern" inspect "$work/gpu/toy-i2s.gguf" >"$work/inspected"
"$python" train/export.py --work "$work" --name toy
"$python" train/agree.py --work "$work" --model "$work/toy-i2s.gguf" --bittern "$bittern"
"$python" train/eval.py --work "$work" --model "$work/toy-i2s.gguf" --bittern "$bittern" \
  zeros agree
"$python" train/judge.py --model "$work/toy-i2s.gguf" --bittern "$bittern" --only dev
out=$("$bittern" run -m "$work/toy-i2s.gguf" -p "A tern is" -n 16 -s 1 --temp 0.8 --ignore-eos \
  2>"$work/err")
[ "${#out}" -gt 12 ] || { cat "$work/err"; exit 1; }
echo "toy: $out"
