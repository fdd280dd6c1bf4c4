#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: eval_test.sh BITTERN MODEL   `bittern eval` against a float64 NumPy forward pass (goldens.json),
# against the logits of `bittern logits` one question at a time, and going on after an interruption.
# shellcheck source=tests/cli_checks.sh
. "$(dirname "$0")/../cli_checks.sh"
here=$(dirname "$0")

# near FIELD GOLDEN: within half a percent of goldens.json.
near() {
  check "$1 is golden $2" python3 - "$work/out" "$here/goldens.json" "$1" "$2" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))[sys.argv[3]]
golden = json.load(open(sys.argv[2]))[sys.argv[4]][sys.argv[3]]
assert abs(found - golden) <= 0.005 * golden, (found, golden)
END
}

test_goldens() {
  run "chunks" 0 eval "$here/kjv.txt" -c 128 -ctk f32 -ctv f32 --json
  for field in perplexity bits_per_byte tokens bytes; do near $field chunks; done
  run "strided" 0 eval "$here/kjv.txt" -c 128 --ppl-stride 32 -ctk f32 -ctv f32 --json
  for field in perplexity bits_per_byte tokens bytes; do near $field strided; done
  run "every token" 0 eval "$here/kjv.txt" -c 256 --every-token -ctk f32 -ctv f32 --json
  for field in perplexity bits_per_byte tokens bytes; do near $field every_token; done
  run "f16 cache" 0 eval "$here/kjv.txt" -c 256 --every-token --json
  near perplexity every_token
  run "ids" 0 tokenize "$(cat "$here/kjv.txt")" --ids
  cp "$work/out" "$work/ids"
  run "ids, every token" 0 eval "$work/ids" --as ids -c 256 --every-token -ctk f32 -ctv f32 --json
  for field in perplexity tokens; do near $field every_token; done
}

test_text() {
  run "text for people" 0 eval "$here/kjv.txt" -c 64 --chunks 3
  out_has "perplexity"
  out_has "in 3 windows"
  run "no text" 1 eval - --json
  err_has "at least 2 tokens"
  run "no file" 2 eval "$work/missing.txt"
  err_has "missing.txt"
  printf 'A tern is a bird.' >"$work/short.txt"
  run "short text" 0 eval "$work/short.txt" --json
  json 'j["method"] == "every-token" and j["tokens"] == j["tokens_run"]'
  printf 'x' >"$work/one.ids"
  run "not ids" 1 eval "$work/one.ids" --as ids
  err_has "token ids expected"
  printf '[1, 5000]' >"$work/one.ids"
  run "id too large" 1 eval "$work/one.ids" --as ids
  err_has "5000"
}

test_same_and_resume() {
  run "whole" 0 eval "$here/kjv.txt" -c 64 -o "$work/whole" --json
  cp "$work/out" "$work/whole.json"
  run "little at a time" 0 eval "$here/kjv.txt" -c 64 -o "$work/small" --cache-mib 1 -ub 9 -t 1 --json
  check "same lines" cmp "$work/whole" "$work/small"
  head -4 "$work/whole" >"$work/part"
  printf '{"window": 3, "tok' >>"$work/part"
  run "resume" 0 eval "$here/kjv.txt" -c 64 -o "$work/part" --resume --json
  check "same lines after an interruption" cmp "$work/whole" "$work/part"
  check "same sums" python3 -c "
import json
a, b = json.load(open('$work/whole.json')), json.load(open('$work/out'))
assert all(a[k] == b[k] for k in ('perplexity', 'bits_per_byte', 'tokens', 'perplexity_error'))
assert b['tokens_run'] < a['tokens_run']"
  run "resume with other flags" 1 eval "$here/kjv.txt" -c 65 -o "$work/part" --resume
  err_has "another input or with other flags"
  echo '{}' >"$work/none"
  run "resume a file of nothing" 1 eval "$here/kjv.txt" -c 64 -o "$work/none" --resume
  err_has "not results"
  run "resume without a file" 1 eval "$here/kjv.txt" --resume
  err_has "-o FILE"
}

test_questions() {
  python3 "$here/questions.py" make 40 "$work/q.jsonl"
  run "questions" 0 eval "$work/q.jsonl" -o "$work/answers" --json
  json 'j["questions"] == 40 and 0 <= j["acc"] <= 1 and len(j["kinds"]) == 7'
  check "answers equal the oracle's" python3 "$here/questions.py" compare "$work/q.jsonl" \
    "$work/answers" "$work/out" "$bittern" 12
  cp "$work/answers" "$work/again"
  run "one at a time" 0 eval "$work/q.jsonl" -o "$work/again" -ub 1 -t 1 --json --force
  check "same answers" cmp "$work/answers" "$work/again"
  head -7 "$work/answers" >"$work/again"
  run "resume" 0 eval "$work/q.jsonl" -o "$work/again" --resume
  check "same answers after an interruption" cmp "$work/answers" "$work/again"
  printf '{"query": "a"}\n' >"$work/bad.jsonl"
  run "bad question" 1 eval "$work/bad.jsonl"
  err_has "bad.jsonl line 1: "
  run "no questions" 1 eval /dev/null --as choices
  err_has "there are no questions"
}

test_divergence() {
  local text=("$here/kjv.txt" -c 128 --chunks 6)
  run "save logits" 0 eval "${text[@]}" --kl-divergence-base "$work/kld" --json
  cp "$work/out" "$work/base.json"
  run "the same model" 0 eval "${text[@]}" --kl-divergence-base "$work/kld" --kl-divergence --json -t 1 -ub 7
  json 'abs(j["kl"]["mean"]) < 1e-6 and j["kl"]["same_top"] == 1 and 1 - 1e-5 < j["kl"]["perplexity_ratio"] < 1.05'
  run "another cache" 0 eval "${text[@]}" --kl-divergence-base "$work/kld" --kl-divergence --json -ctk i8 -ctv i8
  json '1e-7 < j["kl"]["mean"] < 0.05 and 0.8 < j["kl"]["same_top"] <= 1 and j["kl"]["max"] >= j["kl"]["p99"] >= j["kl"]["median"]'
  check "as logits say" /usr/bin/env python3 "$here/divergence.py" "$work/kld" "$work/out" "$bittern" i8
  run "for people" 0 eval "${text[@]}" --save-all-logits "$work/kld" --kl-divergence
  out_has "KL divergence"
  run "another window" 1 eval "$here/kjv.txt" -c 64 --kl-divergence-base "$work/kld" --kl-divergence
  err_has "windows have 128, not 64"
  printf 'In the beginning %.0s' {1..400} >"$work/other.txt"
  run "another text" 1 eval "$work/other.txt" -c 128 --chunks 2 --kl-divergence-base "$work/kld" --kl-divergence
  err_has "another text"
  run "no windows" 1 eval "${text[@]}" --every-token --kl-divergence-base "$work/no"
  err_has "end to end"
  run "no base" 1 eval "${text[@]}" --kl-divergence
  err_has "kl-divergence-base FILE"
  head -c 1000 "$work/kld" >"$work/cut"
  run "cut off" 2 eval "${text[@]}" --kl-divergence-base "$work/cut" --kl-divergence
  err_has "cut off"
}

test_goldens
test_text
test_divergence
test_same_and_resume
test_questions
finish 50
