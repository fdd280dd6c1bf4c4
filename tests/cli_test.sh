#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: cli_test.sh BITTERN MODEL   Runs the program as people do, and looks at exit codes, at
# what is on standard output and standard error, and at the files it leaves.
# shellcheck source=tests/cli_checks.sh
. "$(dirname "$0")/cli_checks.sh"

# A right certificate, a wrong one, and one that names what is wrong.
test_certify() {
  local golden line bad
  golden=$(dirname "$model")/certificates.txt
  run "certify" 0 certify "$model" --check "$golden" --out "$work/full.json"
  line=$(cat "$work/out")
  err_has "check: the same"
  check "one line" test "$(wc -l <"$work/out")" -eq 1
  run "certify: the line" 0 certify -m "$model" -t 1 -ub 3 --check "$line"
  run "certify: the full certificate" 0 certify "$model" --cache rewind --check "$work/full.json"
  bad=${line/logits=?/logits=}
  run "certify: another line" 4 certify "$model" --check "${bad/ tokens/0 tokens}"
  err_has "check: logits: "
  err_has "--out good.json"
  python3 - "$work/full.json" "$work/bad.json" <<'END'
import json, sys
j = json.load(open(sys.argv[1]))
j["prompts"][2]["decode"]["layers"][3]["gate"] = "0" * 32
json.dump(j, open(sys.argv[2], "w"))
END
  run "certify: an operation" 4 certify "$model" --check "$work/bad.json"
  err_has "first operation that differs: layer 3, gate (prompt 3, decoding; no logits differ)"
  run "certify: not a certificate" 2 certify "$model" --check "$model"
  run "certify: no such file" 2 certify "$model" --check "$work/nothing"
  run "certify: half a line" 1 certify "$model" --check "${line:0:60}"
  err_has "32 hexadecimal digits"
  printf 'In the end\n\nAnd then?\\n\n' >"$work/prompts"
  run "certify: prompts" 0 certify "$model" --prompt-set "$work/prompts" --out "$work/two.json"
  check "two prompts" python3 -c "import json; j = json.load(open('$work/two.json')); assert [p['text'] for p in j['prompts']] == ['In the end', 'And then?\n'], j"
  printf '\n\n' >"$work/prompts"
  run "certify: no prompts" 1 certify "$model" --prompt-set "$work/prompts"
  run "certify: too many beside" 1 certify "$model" --beside 65
}

# The residual stream: per position, the embedding and each layer.
test_hidden() {
  run "logits --hidden" 0 logits -m "$model" --prompt-ids 1,2,3 -ub 2 -o "$work/l" --hidden "$work/h"
  run "logits --hidden at once" 0 logits -m "$model" --prompt-ids 1,2,3 -o "$work/l2" --hidden "$work/h2"
  check "the same" cmp "$work/h" "$work/h2"
  check "3 positions of 7 rows, none left out" python3 -c "
import array
h = array.array('f', open('$work/h', 'rb').read())
n = len(h) // 21
assert len(h) == 21 * n and n > 100 and all(any(h[i * n:(i + 1) * n]) for i in range(21))"
}

test_usage() {
  run "version" 0 --version
  out_has "bittern "
  run "help" 0 --help
  out_has "Exit codes"
  out_has "bench"
  run "no command" 1
  run "unknown command" 1 rnu
  err_has 'did you mean run?'
  run "unknown flag" 1 run -p x --tempp 3
  err_has 'flag "--tempp" is not known; did you mean --temp?'
  err_has 'bittern run --help'
  run "value that is no number" 1 run -p x -n many
  err_has '-n: a whole number of -2 to 2147483647 expected, "many" found'
  run "flag without value" 1 run -p x --top-k
  run "sampler out of range" 1 run -p x --repeat-penalty 0
  err_has "repeat_penalty"
  run "not a number" 1 run -p x --temp nan
  err_has '--temp: a number expected, "nan" found'
  run "mixed cache types" 1 run -p x -ctk f16 -ctv f32
  err_has "same type"
  run "two prompts" 1 run -p x --prompt-ids 1
  run "bad override" 1 run -p x --override-kv nonsense
}

test_files() {
  run "missing file" 2 run -m "$work/none.gguf" -p x
  err_has "error: $work/none.gguf: "
  out_empty
  head -c 5000 "$model" >"$work/cut.gguf"
  run "truncated header" 2 run -m "$work/cut.gguf" -p x
  err_has "$work/cut.gguf: "
  head -c 1000000 "$model" >"$work/cut.gguf"
  run "truncated tensors" 2 run -m "$work/cut.gguf" -p x
  err_has "$work/cut.gguf: "
  run "a folder" 2 run -m "$work" -p x
  run "missing prompt file" 2 run -f "$work/none.txt"
  err_has "none.txt"
}

test_run() {
  run "greedy" 0 run -p "And it came to pass" -n 8 --temp 0
  check "prompt, then text" grep -q '^And it came to pass.\+' "$work/out"
  err_has "decision: pre-tokenizer"
  err_has "prompt eval time ="
  err_has "tokens per second)"
  run "without the prompt" 0 run -p "And it came to pass" -n 8 --temp 0 --no-display-prompt
  check "no prompt" not grep -q 'And it came' "$work/out"
  run "llama.cpp's flags" 0 run -p x -n 2 -t 1 -c 64 -b 32 -ub 16 -ngl 99 -ctk f32 -ctv f32 -s 7
  run "context above the limit" 0 run -p x -n 1 -c 100000
  err_has "notice: -c 100000"
  run "no new tokens" 0 run -p "In the beginning" -n 0
  check "only the prompt" test "$(cat "$work/out")" = "In the beginning"
  run "empty prompt" 0 run -p "" -n 4
  run "full context" 0 run -p "And it came" -n -1 -c 12 --ignore-eos
  err_has "the context is full"
  run "the first new token" 0 run -p "And it came" -n 1 --temp 0 --json
  local first
  first=$(python3 -c "import json; print(json.load(open('$work/out'))['ids'][0])")
  run "a text that ends at once" 0 run -p "And it came" --temp 0 \
    --override-kv "tokenizer.ggml.eos_token_id=int:$first"
  check "only the prompt" test "$(cat "$work/out")" = "And it came"
  err_has "the model ended the text right here"
  run "a text that goes on" 0 run -p "And it came" -n 4 --temp 0 --ignore-eos \
    --override-kv "tokenizer.ggml.eos_token_id=int:$first"
  err_lacks "ended the text"
  run "prompt too long" 3 run -p "And it came to pass in those days" -c 4
  err_has "but the context holds 4"
  run "id out of range" 1 run --prompt-ids 1,99999
  err_has "99999"
  run "ids that are not numbers" 1 run --prompt-ids 1,two
  err_has '"two"'
  run "verbose" 0 run -p x -n 1 -v
  err_has "isa = "
  err_has "decision: activation"
}

test_prompt_sources() {
  printf 'And it came to pass\n' >"$work/prompt.txt"
  run "flag" 0 run -p "And it came to pass" -n 8 --temp 0
  cp "$work/out" "$work/expected"
  run "file" 0 run -f "$work/prompt.txt" -n 8 --temp 0
  check "file as flag" cmp "$work/out" "$work/expected"
  name="pipe"
  "$bittern" run -n 8 --temp 0 <"$work/prompt.txt" >"$work/out" 2>"$work/err"
  check "pipe as flag" cmp "$work/out" "$work/expected"
  run "escapes" 0 run -p 'a\nb' -n 0
  check "two lines" test "$(wc -l <"$work/out")" -eq 2
  run "no escapes" 0 run -p 'a\nb' -n 0 --no-escape
  out_has 'a\nb'
}

test_json() {
  run "json" 0 run -p "And it came to pass" -n 8 --temp 0 -s 5 --json
  json 'len(j["ids"]) == 8 and j["finish_reason"] == "length" and j["seed"] == 5'
  json 'j["prompt_ids"][0] == 4080 and j["text"] and j["model"]'
  json 'j["timings"]["prompt_n"] == len(j["prompt_ids"]) and j["timings"]["predicted_n"] == 8'
  json 'any(d["subject"] == "pre-tokenizer" and d["notable"] for d in j["decisions"])'
  check "one line" test "$(wc -l <"$work/out")" -eq 1
  err_lacks "eval time"
  run "json of nothing" 0 run -p x -n 0 --json
  json 'j["ids"] == [] and j["text"] == "" and j["timings"]["predicted_per_second"] == 0'
  run "stop string" 0 run -p "And it came to pass" -n 60 --temp 0 -r "zzz" -r "," --json
  json '"," not in j["text"] and j["finish_reason"] == "stop_string"'
  run "json and an error" 2 run -m "$work/none.gguf" -p x --json
  out_empty
}

test_forced() {
  run "forced tokens" 0 run -p "x" -n 60 --temp 0 --regex 'In the beginning God created [a-z]{3}\.' --json
  json 'j["text"].startswith("In the beginning God created ") and j["finish_reason"] == "end_of_text"'
  json '4 <= j["timings"]["forced_n"] < len(j["ids"])'
}

test_speculation() {
  local mode
  for mode in off ngram always; do
    run "--spec $mode" 0 run -p "And God said, Let there be light. And God said, Let" -n 40 -s 3 \
      --spec $mode --json
    json 'j["timings"]["draft_n"] >= j["timings"]["draft_n_accepted"] >= 0'
    json 'j["timings"]["forced_n"] == 0'
    python3 -c "import json; j = json.load(open('$work/out')); print(j['ids'], j['text'])" \
      >"$work/spec-$mode"
    json "(j['timings']['draft_n'] > 0) == ('$mode' == 'always') or '$mode' == 'ngram'"
  done
  check "ngram says the same" cmp "$work/spec-off" "$work/spec-ngram"
  check "always says the same" cmp "$work/spec-off" "$work/spec-always"
  run "verbose" 0 run -p "a b a b a b a b" -n 8 --temp 0 -v --spec always
  err_has "tokens drafted,"
  run "what was not read" 0 run -p "a b" -n 8 --temp 0 --head screened --zero-skip on --spec off --json
  json '0 < j["savings"]["zeros"]["down_columns_read"] <= j["savings"]["zeros"]["up_rows_read"] < 1'
  json '0 < j["savings"]["screen"]["after_7_bits"] <= j["savings"]["screen"]["after_5_bits"] <= 1'
  json 'j["savings"]["screen"]["rows"] == 4096'
  json '1 <= j["threads"]["used"] <= j["threads"]["given"]'
  run "nothing was left out" 0 run -p "a b" -n 8 --temp 0 --head exact --zero-skip off --json
  json 'j["savings"] == {"zeros": None, "experts": None, "screen": None}'
  run "what was not read, as text" 0 run -p "a b" -n 8 --temp 0 -v --head screened --zero-skip on
  err_has "of down_proj's columns read"
  err_has "of 4096 rows per token"
  run "unknown mode" 1 run -p x --spec magic
  err_has "--spec"
  run "unknown head" 1 run -p x --head magic
  err_has '--head: one of auto, exact, screened expected, "magic" found'
  run "unknown skipping" 1 run -p x --zero-skip magic
  err_has '--zero-skip: one of auto, on, off expected, "magic" found'
}

test_interrupt() {
  name="Ctrl-C"
  local status=0
  # Job control gives the child its own SIGINT default, which scripts take away.
  set -m
  "$bittern" run -p x -n -1 -c 512 --ignore-eos --temp 2 -t 1 >"$work/out" 2>"$work/err" </dev/null &
  local child=$!
  set +m
  for _ in $(seq 200); do
    [ -s "$work/out" ] && break
    sleep 0.01
  done
  kill -INT $child 2>/dev/null
  wait $child || status=$?
  # A fast machine may fill the context first.
  check "exit code 130 or 0, found $status" test $status -eq 130 -o $status -eq 0
  err_has "eval time"
  name="closed pipe"
  "$bittern" run -p "And it came to pass" -n 200 --ignore-eos 2>"$work/err" </dev/null |
    head -c 10 >"$work/out"
  check "ten bytes" test "$(cat "$work/out")" = "And it cam"
  err_lacks "error"
  name="full disk"
  status=0
  "$bittern" run -p x -n 4 >/dev/full 2>"$work/err" </dev/null || status=$?
  check "exit code 3, found $status" test $status -eq 3
  err_has "No space left"
}

# chat NAME EXPECTED_STATUS INPUT ARGUMENT... as run, with INPUT (printf's) on standard input.
chat() {
  name=$1
  local expected=$2 input=$3 status=0
  shift 3
  # shellcheck disable=SC2059
  printf "$input" | "$bittern" chat "$@" >"$work/out" 2>"$work/err" || status=$?
  check "exit code $expected, found $status" test "$status" -eq "$expected"
}

test_chat() {
  chat "two turns" 0 'Who was Moses?\n\nAnd Aaron?\n' --temp 0 -n 8
  check "a line for each" test "$(wc -l <"$work/out")" -eq 2
  cp "$work/out" "$work/expected"
  chat "forgetting" 0 'Who was Moses?\n/clear\nWho was Moses?\n/exit\nMore?\n' --temp 0 -n 8
  check "the same twice" test "$(sort -u "$work/out" | wc -l)" -eq 1
  check "as at first" cmp <(head -1 "$work/out") <(head -1 "$work/expected")
  check "nothing after /exit" test "$(wc -l <"$work/out")" -eq 2
  chat "system prompt" 0 'Who was Moses?\n' -sys "-c be brief" --temp 0 -n 8
  check "it matters" not cmp <(head -1 "$work/out") <(head -1 "$work/expected")
  chat "commands" 0 '/help\n'
  err_has "/clear"
  out_empty
  chat "a line of a program" 0 '/etc/passwd is what?\n' --temp 0 -n 4
  check "is a turn" test "$(wc -l <"$work/out")" -eq 1
  chat "a stop with escapes" 0 'hi\n' --temp 2 -s 1 -n 60 --ignore-eos --json -r "\\'"
  cp "$work/out" "$work/expected"
  chat "without" 0 'hi\n' --temp 2 -s 1 -n 60 --ignore-eos --json -r "'"
  check "the same" cmp "$work/out" "$work/expected"
  chat "json" 0 'Who was Moses?\nAnd Aaron?\n' --temp 0 -n 4 --json
  check "two objects" python3 -c "import json; j = [json.loads(l) for l in open('$work/out')]; \
assert len(j) == 2 and j[1]['user'] == 'And Aaron?' and len(j[0]['ids']) == 4, j; \
assert j[0]['finish_reason'] == 'length' and j[1]['n_past'] > j[0]['n_past'], j"
  chat "full context" 3 'Who was Moses?\nAnd Aaron, his brother, of whom it is said?\n' -c 32 -n 8 \
    --context-policy stop
  err_has "Type /clear to start a new one"
  chat "old turns go" 0 'Who was Moses?\nAnd Aaron, his brother, of whom it is said?\n' -c 32 -n 8
  err_has "the oldest turns are being forgotten"
  chat "too long a turn" 3 "$(printf 'x y z %.0s' {1..99})\n" -c 32
  err_has "this message is too long"
  chat "unknown template" 1 'x\n' --chat-template vicuna
  err_has "bitnet, llama3, chatml"
  chat "template without its tokens" 2 'x\n' --chat-template chatml
  err_has "<|im_start|>"
  chat "saving" 0 'Who was Moses?\nAnd Aaron?\n' --temp 0 -n 8 --save "$work/chat.json"
  cp "$work/out" "$work/expected"
  chat "the whole conversation" 0 'Who was Moses?\nAnd Aaron?\nAnd Miriam?\n' --temp 1.5 -s 3 -n 16
  cp "$work/out" "$work/whole"
  chat "its beginning" 0 'Who was Moses?\nAnd Aaron?\n' --temp 1.5 -s 3 -n 16 --save "$work/chat.json" --force
  local isa
  for isa in scalar ""; do
    BITTERN_ISA=$isa chat "resumed on ISA '$isa'" 0 'And Miriam?\n' --resume "$work/chat.json"
    check "goes on with the same bytes" cmp "$work/out" <(tail -n 1 "$work/whole")
  done
  chat "files are left alone in a pipe" 0 "/save $work/none\n" -n 4 --temp 0
  check "a turn" test "$(wc -l <"$work/out")" -eq 1
  check "no file" test ! -e "$work/none"
  printf '{"bittern_chat": 1, "messages": [{"role": "assistant"}]}' >"$work/bad.json"
  chat "a bad conversation" 1 'x\n' --resume "$work/bad.json"
  err_has 'messages[0].role: "system" or "user" expected'
  chat "no such conversation" 2 'x\n' --resume "$work/missing.json"
  chat "prefix and suffix" 0 'Who was Moses?\nAnd Aaron?\n' --temp 0 -n 8 \
    --in-prefix 'User: ' --in-suffix '<|eot_id|>Assistant: '
  check "as the template writes the first turn" cmp <(head -n 1 "$work/out") \
    <(head -n 1 "$work/expected")
  chat "prefix and template" 1 'x\n' --in-prefix a --chat-template bitnet
  chat "no input" 0 ''
  out_empty
}

test_builtin() {
  cp "$bittern" "$work/alone"
  name="a copied program"
  local status=0
  (cd "$work" && env -u BITTERN_MODEL ./alone run -p "A tern is" -n 4 --json) \
    >"$work/out" 2>"$work/err" </dev/null || status=$?
  check "exit code 0, found $status" test $status -eq 0
  json 'len(j["prompt_ids"]) > 3 and j["model"].startswith("built-in ")'
  # The first command of the README: a draw must never spoil the first text that somebody sees.
  name="the first command, 20 times"
  for _ in {1..20}; do
    env -u BITTERN_MODEL "$bittern" run -p "A tern is" 2>"$work/err" </dev/null
  done | sort -u >"$work/out"
  out_has "A tern is a small slender gull with narrow wings and a forked tail."
  check "always the same" test "$(wc -l <"$work/out")" -eq 1
}

test_logits() {
  run "last row" 0 logits --prompt-ids 4080,100,200 -o "$work/last.f32"
  err_has "1 x 4096"
  err_has "argmax"
  check "size" test "$(stat -c %s "$work/last.f32")" -eq $((4 * 4096))
  run "all rows" 0 logits --prompt-ids 4080,100,200 --all -o "$work/all.f32"
  check "size" test "$(stat -c %s "$work/all.f32")" -eq $((3 * 4 * 4096))
  check "its last row" cmp "$work/last.f32" <(tail -c $((4 * 4096)) "$work/all.f32")
  run "standard output" 0 logits --prompt-ids 4080,100,200 -o -
  check "the same bytes" cmp "$work/out" "$work/last.f32"
  run "full disk" 3 logits --prompt-ids 1 -o /dev/full
  err_has "/dev/full"
  run "no such folder" 3 logits --prompt-ids 1 -o "$work/none/x.f32"
  echo old >"$work/kept.f32"
  run "failure keeps the old file" 1 logits --prompt-ids 1,99999 -o "$work/kept.f32"
  check "old content" test "$(cat "$work/kept.f32")" = old
  check "no half file" test -z "$(find "$work" -name '*.part-*')"
  run "threads and chunks" 0 logits --prompt-ids 4080,100,200 -t 2 -ub 1 -o "$work/other.f32"
  check "same bits" cmp "$work/other.f32" "$work/last.f32"
}

test_bench() {
  run "table" 0 bench -p 8,16 -n 4 -t 1 -r 2
  out_has "| model "
  out_has "pp16"
  out_has "tg4"
  out_has "±"
  run "json" 0 bench -p 8 -n 4 -t 1,2 -r 2 -o json
  json 'len(j) == 4 and [t["n_threads"] for t in j] == [1, 1, 2, 2]'
  json 'all(len(t["samples_ns"]) == 2 and t["avg_ts"] > 0 for t in j)'
  json 'j[0]["n_prompt"] == 8 and j[1]["n_gen"] == 4 and j[0]["model_n_params"] > 5e6'
  run "jsonl" 0 bench -p 8 -n 4 -t 1 -r 1 -o jsonl --no-warmup
  check "two lines" test "$(wc -l <"$work/out")" -eq 2
  run "csv" 0 bench -p 8 -n 0 -t 1 -r 1 -o csv
  check "columns" python3 -c "import csv; r = list(csv.DictReader(open('$work/out'))); \
assert len(r) == 1 and float(r[0]['avg_ts']) > 0 and r[0]['n_prompt'] == '8'"
  run "longer than the context" 1 bench -p 100000
  run "behind other tokens" 0 bench -p 8 -n 4 -d 0,32 -t 1 -r 1
  out_has "pp8 @ d32"
  out_has "tg4 @ d32"
  run "no room behind other tokens" 1 bench -p 0 -n 4 -d 1000000
  run "a test that does not fit behind them" 1 bench -p 64 -n 0 -d 500 -t 1
  err_has "512"
  run "unknown format" 1 bench -o xml
}

test_bench_extras() {
  local extras=(-p 8 -n 4 -t "1,2" -r 2 --explain --matrix --cost 0.36)
  run "extras as text" 0 bench "${extras[@]}" --html "$work/bench.html"
  out_has "| threads |"
  out_has "at 0.36 per hour"
  out_has "bytes read for one token"
  out_has "output head"
  out_has "plain read"
  out_has "kernels: tile16_"
  check "energy once at most without a meter" \
    test "$(grep -c 'energy: not measured' "$work/out")" -le 1
  check "a page with the results as JSON" python3 -c "import json; \
t = open('$work/bench.html').read(); j = json.loads(t.split('id=\"data\">')[1].split('</script>')[0]); \
assert [(x['test'], x['n_threads']) for x in j['tests']] == [('pp8', 1), ('tg4', 1), ('pp8', 2), ('tg4', 2)]; \
assert all(x['roofline'] and x['explain'] and x['scaling'] and x['price_per_million_tokens'] for x in j['tests'])"
  run "extras as json" 0 bench "${extras[@]}" -o json
  json 'len(j) == 4 and all(t["explain"]["read_bandwidth"] > 1e6 for t in j)'
  json 'j[1]["explain"]["bytes_per_token"] == sum(p["bytes"] for p in j[1]["explain"]["parts"])'
  json 'all(0 < t["explain"]["roof_fraction"] < 100 for t in j)'
  json 'j[0]["scaling"] == {"threads": 1, "speedup": 1.0, "efficiency": 1.0}'
  json 'abs(j[2]["scaling"]["speedup"] - 2 * j[2]["scaling"]["efficiency"]) < 1e-9'
  json 'all(t["price_per_million_tokens"] > 0 and t["price_per_hour"] == 0.36 for t in j)'
  run "extras that were not asked for" 0 bench -p 8 -n 0 -t 1 -r 1 -o json
  json 'not {"explain", "scaling", "price_per_hour"} & set(j[0])'
  run "a price below nothing" 1 bench --cost -1
  run "a page that cannot be written" 3 bench -p 8 -n 0 -t 1 -r 1 --html "$work/none/x.html"
  err_has "none/x.html"
}

test_compare() {
  local compare
  compare=$(dirname "$0")/../bench/compare.sh
  name="compare"
  "$compare" "$bittern" "$bittern" -m "$model" -p 8 -n 4 -t 1 -r 2 >"$work/out" 2>"$work/err"
  check "both tests" test "$(grep -cE '^(pp8|tg4) .* \.\. ' "$work/out")" -eq 2
  "$compare" "$bittern" >"$work/out" 2>"$work/err"
  check "exit code 1 without B" test $? -eq 1
  "$compare" "$bittern" "$bittern" -m "$work/none.gguf" -r 1 >"$work/out" 2>"$work/err"
  check "exit code 2 without a model" test $? -eq 2
  err_has "none.gguf"
}

test_isa() {
  local status=0
  name="unknown instruction set"
  BITTERN_ISA=nonsense "$bittern" run -p x >"$work/out" 2>"$work/err" </dev/null || status=$?
  check "exit code 1, found $status" test $status -eq 1
  err_has "BITTERN_ISA=nonsense"
  name="scalar"
  BITTERN_ISA=scalar "$bittern" logits --prompt-ids 4080,100,200 -o "$work/scalar.f32" 2>"$work/err"
  check "same bits" cmp "$work/scalar.f32" "$work/last.f32"
  name="forced kernels are shown"
  BITTERN_ISA=scalar "$bittern" inspect --cpu --json >"$work/out" 2>"$work/err"
  json 'j["forced"] == "scalar" and {o["chosen"] for o in j["operations"]} == {"scalar"}'
  json 'all(any("BITTERN_ISA" in k["state"] for k in o["kernels"]) for o in j["operations"])'
  run "kernels in use" 0 inspect --cpu
  out_has "chosen: the best that this CPU has"
}

test_convert() {
  local dir=$work/convert
  mkdir "$dir"
  run "convert and prove" 0 convert "$model" "$dir/tl2.gguf" --to tl2 --prove
  out_has "all equal; scales: all 42 exact"
  out_has "codes hash ea6c7c9451afd3d40ff596802f962730"
  run "the output runs" 0 run -m "$dir/tl2.gguf" -p "And it came to pass" -n 4 --temp 0
  err_lacks "decision:"
  run "json" 0 convert "$dir/tl2.gguf" "$dir/tq2.gguf" --to tq2_0 --prove --json
  json 'j["proof"]["ok"] and j["proof"]["codes_hash_in"] == "ea6c7c9451afd3d40ff596802f962730"'
  json 'j["scales"]["rounded"] == 42 and 0 < j["scales"]["max_relative_error"] < 5e-4'
  run "to a folder and back" 0 convert "$dir/tl2.gguf" "$dir/hf" --to safetensors --scale-type f32
  run "from a folder" 0 convert "$dir/hf" "$dir/back.gguf" --to i2_s --prove
  out_has "all 42 exact"
  run "no target" 1 convert "$model" "$dir/x"
  run "unknown target" 1 convert "$model" "$dir/x" --to tl3
  run "bad tiling" 1 convert "$model" "$dir/x" --to tl2 --tiling 1,2,3
  run "tiling that does not fit" 2 convert "$model" "$dir/x" --to tl2 --tiling 256,256,100,96,32
  err_has "blk.0.attn_q.weight"
  run "missing source" 2 convert "$dir/none" "$dir/x" --to tl2
  run "output is there" 1 convert "$model" "$dir/tl2.gguf" --to tl1
  run "folder is there" 1 convert "$model" "$dir/hf" --to safetensors
  run "output is the source" 1 convert "$dir/tl2.gguf" "$dir/tl2.gguf" --to tl1 -f
  run "no such folder" 3 convert "$model" "$dir/none/x" --to tl1
  run "forced" 0 convert "$model" "$dir/tl2.gguf" --to tl1 -f
  name="full disk" status=0
  (trap '' XFSZ && ulimit -f 1000 && "$bittern" convert "$model" "$dir/full" --to i2_s) \
    >"$work/out" 2>"$work/err" </dev/null || status=$?
  check "exit code 3, found $status" test "$status" -eq 3
  err_has "cannot write"
  name="nothing half"
  check "no rest of anything" test "$(ls "$dir")" = $'back.gguf\nhf\ntl2.gguf\ntq2.gguf'
}

test_meta() {
  local file=$work/meta.gguf
  cp "$model" "$file"
  run "ls" 0 meta ls "$file"
  out_has "general.architecture  str  "
  out_has "tokenizer.ggml.tokens  str[4096]  ["
  run "ls json" 0 meta ls "$file" --json
  json 'j["bitnet-b1.58.block_count"] == {"type": "u32", "value": 6}'
  run "get" 0 meta get "$file" general.architecture
  check "just the text" test "$(cat "$work/out")" = bitnet-b1.58
  run "get nothing" 2 meta get "$file" general.architect
  run "neither -i nor -o" 1 meta set "$file" general.name str:x
  check "unchanged" cmp "$file" "$model"
  run "set" 0 meta set "$file" tokenizer.ggml.pre str:llama-bpe -o "$work/set.gguf"
  out_has "hash after"
  check "equal hashes" test "$(grep -c "$(sed -n 's/^hash before //p' "$work/out")" "$work/out")" = 2
  run "runs without a decision" 0 run -m "$work/set.gguf" -p x -n 1
  err_lacks "decision: pre-tokenizer"
  run "rm in place" 0 meta rm "$work/set.gguf" tokenizer.ggml.pre -i --json
  json 'j["hash_before"] == j["hash_after"]'
  check "as it was" cmp "$work/set.gguf" "$model"
  run "rm nothing" 2 meta rm "$file" none -i
  err_has "$file: there is no key"
  run "onto the source" 1 meta set "$file" general.name str:x -o "$file" -f
  err_has "is both input and output"
  run "onto another file" 1 meta set "$file" general.name str:x -o "$work/set.gguf"
  err_has "exists already"
  run "onto another file, forced" 0 meta set "$file" general.name str:x -o "$work/set.gguf" -f
  run "bad value" 1 meta set "$file" general.name u8:300 -i
  err_has "u8"
  run "bad type" 1 meta set "$file" general.name text -i
  check "still unchanged" cmp "$file" "$model"
  run "no action" 1 meta
}

test_usage
test_files
test_run
test_prompt_sources
test_json
test_forced
test_speculation
test_interrupt
test_chat
test_builtin
test_logits
test_hidden
test_certify
test_bench
test_bench_extras
test_compare
test_isa
test_convert
test_meta

finish 153
