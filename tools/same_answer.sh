#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: same_answer.sh NATIVE MODEL EMULATOR... BITTERN. Fails unless the program under the
# emulator writes the same logits, byte for byte, and the same greedy ids as the native one. One
# thread there, all here.
set -euo pipefail

native=$1 model=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prompt=1,5,9,344,11,323,433,842,311,522

ids() { python3 -c 'import json, sys; print(json.load(sys.stdin)["ids"])'; }

"$native" logits -m "$model" --prompt-ids "$prompt" --all -o "$work/native" 2>"$work/err"
"$@" logits -t 1 -m "$model" --prompt-ids "$prompt" --all -o "$work/emulated" 2>"$work/err" ||
  { cat "$work/err"; exit 1; }
test -s "$work/native"
cmp "$work/native" "$work/emulated"
echo "logits: $(sha256sum <"$work/emulated" | cut -c1-16), $(wc -c <"$work/emulated") bytes"

for kv in f16 f32; do
  generate=(run -m "$model" --prompt-ids "$prompt" -n 32 --temp 0 --ignore-eos -ctk "$kv" -ctv "$kv" --json)
  "$native" "${generate[@]}" 2>"$work/err" | ids >"$work/native"
  "$@" "${generate[@]}" -t 1 2>"$work/err" | ids >"$work/emulated" || { cat "$work/err"; exit 1; }
  cmp "$work/native" "$work/emulated"
  echo "ids ($kv cache): $(cut -c1-70 "$work/emulated")..."
done
