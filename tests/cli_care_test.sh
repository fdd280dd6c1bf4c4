#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: cli_care_test.sh BITTERN MODEL
# No input may overwrite a model, crash on a closed pipe, or leave files behind. An unset shell variable
# must not count as a value.
# shellcheck source=tests/cli_checks.sh
. "$(dirname "$0")/cli_checks.sh"

# kept NAME EXPECTED_STATUS ARGUMENT... as run; the copy of the model in $work/m.gguf stays as it is.
kept() {
  cp "$model" "$work/m.gguf"
  run "$@"
  err_has "is both input and output"
  check "the model is still there" cmp "$work/m.gguf" "$model"
}

test_sources() {
  local m=$work/m.gguf
  kept "logits -o" 1 logits -m "$m" --prompt-ids 1,2 -o "$m"
  kept "logits --hidden" 1 logits -m "$m" --prompt-ids 1,2 -o "$work/l" --hidden "$m"
  kept "logits --zeros" 1 logits -m "$m" --prompt-ids 1,2 -o "$work/l" --zeros "$m"
  kept "certify --out" 1 certify "$m" --out "$m"
  kept "bench --html" 1 bench -m "$m" -p 4 -n 2 -r 1 --html "$m"
  kept "convert" 1 convert "$m" "$m" --to tl2 -f
  ln -s m.gguf "$work/link"
  kept "a link" 1 logits -m "$m" --prompt-ids 1,2 -o "$work/link"
  run "two outputs, one file" 1 logits --prompt-ids 1,2 -o "$work/same" --hidden "$work/same"
  check "nothing is there" not test -e "$work/same"
  run "to a folder" 0 convert "$model" "$work/hf" --to safetensors
  cp "$work/hf/model.safetensors" "$work/weights"
  run "onto a part of the folder" 1 convert "$work/hf" "$work/hf/model.safetensors" --to i2_s -f
  err_has "is both input and output"
  check "it is still there" cmp "$work/hf/model.safetensors" "$work/weights"
  run "beside it" 0 convert "$work/hf" "$work/hf/model.gguf" --to i2_s
}

# deaf NAME EXPECTED_STATUS ARGUMENT... as run, where standard error cannot be written: closed, full.
deaf() {
  name=$1
  local expected=$2 status=0
  shift 2
  "$bittern" "$@" >"$work/out" 2>&- </dev/null || status=$?
  check "closed: exit code $expected, found $status" test "$status" -eq "$expected"
  status=0
  "$bittern" "$@" >"$work/out" 2>/dev/full </dev/null || status=$?
  check "full: exit code $expected, found $status" test "$status" -eq "$expected"
}

test_streams() {
  deaf "run" 0 run -p "And it" -n 4 --temp 0
  check "the text is there" grep -q '^And it.\+' "$work/out"
  deaf "a decision" 0 tokenize x
  deaf "a model that is not there" 2 run -m "$work/none" -p x
  deaf "a typing error" 1 rnu
  name="a closed output is not the page" status=0
  "$bittern" bench -p 4 -n 2 -r 1 --html "$work/h.html" 2>"$work/err" >&- || status=$?
  check "exit code 3, found $status" test "$status" -eq 3
  check "no page" not test -e "$work/h.html"
  name="closed errors are not in the page"
  "$bittern" bench -p 4 -n 2 -r 1 --html "$work/h.html" >"$work/out" 2>&-
  check "a page" grep -q '^<!doctype html>' <(head -1 "$work/h.html" | tr '[:upper:]' '[:lower:]')
  for arguments in --help --version "run --help"; do
    name="$arguments on a full disk" status=0
    # shellcheck disable=SC2086
    "$bittern" $arguments >/dev/full 2>"$work/err" || status=$?
    check "exit code 3, found $status" test "$status" -eq 3
  done
  local command
  for command in "run" "tokenize" "tokenize --jsonl" "detokenize" "chat"; do
    name="$command from a folder" status=0
    # shellcheck disable=SC2086
    "$bittern" $command <"$work" >"$work/out" 2>"$work/err" || status=$?
    check "exit code 2, found $status" test "$status" -eq 2
    err_has "standard input: cannot read: Is a directory"
  done
}

test_values() {
  local flag
  for flag in -m -f --prompt-ids -n --temp --top-k -t -c; do
    run "empty $flag" 1 run "$flag" ""
    err_has "$flag: a value expected, \"\" found"
  done
  run "empty --temp=" 1 run -p x --temp=
  run "empty --check" 1 certify --check ""
  run "empty --out" 1 certify --out ""
  run "empty --html" 1 bench --html ""
  run "empty FILE" 1 inspect ""
  run "empty OUT" 1 convert "$model" "" --to tl2
  run "OUT that is standard output" 1 convert "$model" - --to tl2
  run "an empty prompt is one" 0 run -p "" -n 1
  run "an empty text" 0 tokenize ""
  run "an empty text after a flag without value" 0 tokenize --ids ""
  run "a text that looks like a flag without value" 0 run -p "--temp=" -n 1
  run "and like one with" 0 run -r "-m" -p "" -n 1
  run "out of range" 1 run -p x -b 0
  err_has '-b: a whole number of 1 to 2147483647 expected, "0" found'
  run "below nothing" 1 run -p x -c -5
  err_has 'a whole number of 0 to 2147483647 expected, "-5" found'
  run "too large" 1 run -p x -n 99999999999
  err_has '2147483647 expected, "99999999999" found'
  run "a fraction" 1 run -p x -n 1.5
  err_has '"1.5" found'
  run "twice" 1 run -p a -p b
  err_has "given more than once"
  run "no value" 1 run -n
  err_has "a value is missing"
  run "a flag of others" 1 run -p x -cnv
  # shellcheck disable=SC2016  # the quotes are part of the message
  err_has '-cnv is not a flag of `bittern run`: to talk with a model use `bittern chat`'
  run "below a command" 1 meta ls -m "$model"
  err_has 'flag "-m" is not known'
  err_has 'bittern meta ls --help'
}

test_overrides() {
  local key=bitnet-b1.58.context_length
  run "an override out of range" 1 run -p x --override-kv $key=int:0
  err_has "override \"$key=int:0\": "
  run "of the wrong type" 1 run -p x --override-kv bitnet-b1.58.attention.head_count=str:x
  run "of the tokenizer" 1 tokenize x --override-kv tokenizer.ggml.pre=str:zzz
  err_has 'override "tokenizer.ggml.pre=str:zzz": '
}

# What is wrong is told by name: a variable, a key that nothing reads, a prompt without its flag.
test_model_argument() {
  run "the model without -m" 0 run "$model" -p x -n 1
  run "and with it" 1 run -m "$model" "$model" -p x
  err_has "given more than once"
  run "a prompt without its flag" 2 run "Once upon a time"
  err_has '(a prompt needs -p before it: -p "TEXT")'
  run "words without quotes" 1 run Once upon a time
  err_has 'unexpected argument "upon"'
  BITTERN_MODEL=$work/none run "a wrong variable" 2 run -p x
  err_has "error: \$BITTERN_MODEL: $work/none: "
  run "a key that nothing reads" 0 run -p x -n 1 --override-kv bitnet-b1.58.contxt_length=int:64
  err_has "notice: nothing reads the key bitnet-b1.58.contxt_length"
  run "a key that is read" 0 run -p x -n 1 --override-kv general.sampling.temp=float:0
  err_lacks "nothing reads"
  # No model is touched before the values are checked.
  run "a value before the model" 1 run -m "$work/none" -p x -ctk q8_0
  err_has "same type"
  run "a list before the model" 1 bench -m "$work/none" -p abc
  run "a prompt before the model" 2 run -m "$work/none" -f "$work/no-prompt"
  err_has "no-prompt"
}

test_left_behind() {
  run "a place that is not there" 3 certify --out "$work/none/x"
  run "more than the context holds" 3 logits -p "$(printf 'x y z %.0s' {1..900})" --all -o "$work/l"
  err_has "tokens, but the context holds"
  check "nothing is there" not test -e "$work/l"
  touch "$work/private" && chmod 600 "$work/private" && ln -s private "$work/to-private"
  run "through a link" 0 logits --prompt-ids 1,2 -o "$work/to-private"
  check "still a link" test -L "$work/to-private"
  check "still private" test "$(stat -c %a "$work/private")" = 600
  check "written" test -s "$work/private"
  local signal
  for signal in INT TERM; do
    name="killed by SIG$signal"
    set -m  # else a shell starts what runs in its background with SIGINT ignored
    "$bittern" bench -p 0 -n 400 -r 1000 --html "$work/b.html" \
      >"$work/out" 2>"$work/err" </dev/null &
    set +m
    local child=$! tries=0
    until compgen -G "$work/b.html.part-*" >/dev/null || [ $((tries += 1)) -gt 200 ]; do
      sleep 0.05
    done
    kill -s "$signal" $child
    wait $child 2>/dev/null
    check "nothing is left" not compgen -G "$work/b.html*"
  done
}

test_threads() {
  name="threads that cannot be started" status=0
  (ulimit -v 4000000 && exec "$bittern" run -p x -n 1 -t 1000) >"$work/out" 2>"$work/err" || status=$?
  check "exit code 3, found $status" test "$status" -eq 3
  err_has "error: cannot start 1000 threads: "
  err_lacks "$model"
}

test_sources
test_streams
test_values
test_overrides
test_left_behind
test_threads

test_model_argument

finish 107
