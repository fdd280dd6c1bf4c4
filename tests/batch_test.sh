#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: batch_test.sh BITTERN MODEL   `bittern batch`: the same file whatever runs beside it, bad
# lines beside good ones, going on after an interruption, a full disk.
# shellcheck source=tests/cli_checks.sh
. "$(dirname "$0")/cli_checks.sh"

# make_requests COUNT FILE
make_requests() {
  python3 - "$1" "$2" <<'END'
import json, random, sys
random.seed(7)
with open(sys.argv[2], "w") as out:
    for i in range(int(sys.argv[1])):
        line = {"id": f"r{i}", "n_predict": random.randint(0, 12), "seed": random.randint(0, 99)}
        if i % 3 == 0:
            line["prompt_ids"] = [random.randint(0, 300) for _ in range(random.randint(1, 40))]
        else:
            line["prompt"] = random.choice(["In the beginning", "And he said unto", "Behold"])
        if i % 4 == 0: line["temperature"] = 0
        if i % 5 == 0: line["stop"] = [","]
        if i % 7 == 0: line["top_k"] = 0
        print(json.dumps(line), file=out)
END
}

test_same_file() {
  make_requests 60 "$work/in"
  for parallel in 1 3 32; do
    run "parallel $parallel" 0 batch "$work/in" -o "$work/out$parallel" -np "$parallel" -t 2
    err_has "60 requests, 0 with errors"
  done
  run "little memory, small chunks" 0 batch "$work/in" -o "$work/small" -np 16 --cache-mib 1 -ub 5 -t 1
  run "to standard output" 0 batch "$work/in" -np 8
  check "parallel 1 and 3" cmp "$work/out1" "$work/out3"
  check "parallel 1 and 32" cmp "$work/out1" "$work/out32"
  check "little memory" cmp "$work/out1" "$work/small"
  check "standard output" cmp "$work/out1" "$work/out"
  run "unordered" 0 batch "$work/in" -o "$work/any" -np 32 --unordered
  check "the same lines, which they name" python3 - "$work/out1" "$work/any" <<'END'
import json, sys
ordered, unordered = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
unordered.sort(key=lambda result: result["line"])
assert [r.pop("line") for r in unordered] == list(range(1, len(ordered) + 1))
assert unordered == ordered
END
}

# What `run` gives for a request is what batch gives.
test_as_run() {
  printf '{"id": "x", "prompt": "In the beginning", "n_predict": 9, "seed": 5, "top_k": 10}\n' >"$work/in"
  run "batch" 0 batch "$work/in" -o "$work/line"
  run "run" 0 run -p "In the beginning" -n 9 -s 5 --top-k 10 --json
  check "ids as run's" python3 -c "
import json
assert json.load(open('$work/out'))['ids'] == json.load(open('$work/line'))['ids']"
}

test_bad_lines() {
  cat >"$work/in" <<'END'
{"id": "good", "prompt": "In the beginning", "n_predict": 3}
not json
{"id": "typo", "prompt": "In", "temprature": 1}
{"id": "range", "prompt": "In", "repeat_penalty": 0}
{"id": "ids", "prompt_ids": [1, 99999999]}

{"id": "two", "prompt": "In", "prompt_ids": [1]}
[1, 2]
{"id": "none"}
{"id": "long", "prompt_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}
{"custom_id": "openai", "method": "POST", "url": "/v1/completions", "body": {"prompt": "In the", "max_tokens": 2}}
END
  run "bad lines" 0 batch "$work/in" -c 16
  err_has "10 requests, 8 with errors"
  check "what is wrong with each" python3 - "$work/out" <<'END'
import json, sys
lines = {l["id"]: l for l in map(json.loads, open(sys.argv[1]))}
assert len(lines["good"]["ids"]) == 3 and lines["good"]["finish_reason"] == "length", lines["good"]
assert len(lines["openai"]["ids"]) == 2, lines["openai"]
for name, words in {"2": "not valid JSON", "typo": "temprature", "range": "repeat", "ids": "99999999",
                    "two": "one prompt", "7": "object", "none": "messages", "long": "18 tokens"}.items():
    assert words in lines[name]["error"], (name, lines[name])
END
  run "no such file" 1 batch "$work/nothing"
  run "a folder that is not there" 3 batch "$work/in" -o "$work/none/out"
  run "resume without a file" 1 batch "$work/in" --resume
}

test_resume() {
  make_requests 40 "$work/in"
  run "whole" 0 batch "$work/in" -o "$work/whole"
  head -c 2500 "$work/whole" >"$work/cut"
  run "resume" 0 batch "$work/in" -o "$work/cut" --resume -np 4
  err_has "results were there already"
  check "the same file" cmp "$work/whole" "$work/cut"
  run "resume what is complete" 0 batch "$work/in" -o "$work/cut" --resume
  check "still the same file" cmp "$work/whole" "$work/cut"
  name="interrupted"
  "$bittern" batch "$work/in" -o "$work/stopped" -np 2 -t 1 -n 400 2>"$work/err" &
  local pid=$! tries=0
  while [ ! -s "$work/stopped" ] && [ $((tries += 1)) -lt 500 ]; do sleep 0.02; done
  kill -INT "$pid"
  wait "$pid"
  local status=$?
  # It may have been done already.
  check "exit code" test "$status" -eq 130 -o "$status" -eq 0
  check "whole lines only" python3 -c "import json; [json.loads(l) for l in open('$work/stopped')]"
  run "after the interruption" 0 batch "$work/in" -o "$work/stopped" --resume
  check "the same file" cmp "$work/whole" "$work/stopped"
}

# Lines are told apart by their place where ids do not: equal ones, none, and numbers that are lines.
test_resume_equal_ids() {
  cat >"$work/in" <<'END'
{"id": "dup", "prompt": "In the beginning", "n_predict": 40, "seed": 1}
{"id": "dup", "prompt": "Behold", "n_predict": 1, "seed": 2}
{"prompt": "And he said", "n_predict": 9, "seed": 3}
{"id": "3", "prompt": "And she said", "n_predict": 1, "seed": 4}
{"id": 3, "prompt": "And they said", "n_predict": 5, "seed": 5}
{"id": "dup", "temprature": 1}
END
  rm -f "$work/whole" "$work/any"
  run "whole" 0 batch "$work/in" -o "$work/whole"
  run "unordered" 0 batch "$work/in" -o "$work/any" --unordered -np 6
  check "ids" python3 -c "
import json
assert [json.loads(l)['id'] for l in open('$work/whole')] == ['dup', 'dup', '3', '3', '3', 'dup']"
  local kept
  for kept in 1 2 3 4 5 6 "2;6" "2;4;5" "1;3"; do
    python3 - "$work/any" "$work/part" "$kept" <<'END'
import json, sys
lines = [l for l in open(sys.argv[1]) if str(json.loads(l)["line"]) in sys.argv[3].split(";")]
open(sys.argv[2], "w").writelines(lines)
END
    run "resume after $kept" 0 batch "$work/in" -o "$work/part" --unordered --resume
    check "the same lines after $kept" cmp <(sort "$work/any") <(sort "$work/part")
  done
  head -2 "$work/whole" >"$work/part"
  run "ordered, then not" 0 batch "$work/in" -o "$work/part" --unordered --resume -np 6
  check "each once" python3 -c "
import json
drop = lambda l: {k: v for k, v in json.loads(l).items() if k != 'line'}
key = lambda r: json.dumps(r, sort_keys=True)
assert sorted(map(key, map(drop, open('$work/part')))) == sorted(map(key, map(drop, open('$work/whole'))))"
  sed 's/"dup"/"other"/' "$work/in" >"$work/other"
  cp "$work/any" "$work/part"
  run "results of another input" 1 batch "$work/other" -o "$work/part" --unordered --resume
  err_has 'the id "other" expected, "dup" found'
  check "nothing was added" cmp "$work/any" "$work/part"
}

test_ids() {
  python3 - "$work/in" <<'END'
import json, sys
with open(sys.argv[1], "w") as out:
    for end in (1, 2):
        print(json.dumps({"id": [7] * 60 + [end], "prompt": "In", "n_predict": 1}), file=out)
    print(json.dumps({"custom_id": "openai", "prompt": "In", "n_predict": 1}), file=out)
END
  run "ids that are no texts" 0 batch "$work/in" -o "$work/ids"
  check "are whole" python3 -c "
import json
ids = [json.loads(l)['id'] for l in open('$work/ids')]
assert json.loads(ids[0]) == [7] * 60 + [1] and json.loads(ids[1]) == [7] * 60 + [2], ids
assert ids[2] == 'openai' and 'text' in json.loads(list(open('$work/ids'))[2])"
}

# Asked for, they are there though there are none, as in run.
test_logprobs_of_nothing() {
  echo '{"id": "x", "prompt": "In the beginning", "n_predict": 0, "logprobs": 2, "seed": 1}' >"$work/in"
  run "batch" 0 batch "$work/in" -o "$work/none"
  echo x | "$bittern" chat --json -n 0 --logprobs 2 --chat-template bitnet >"$work/chat" 2>"$work/err"
  run "run" 0 run -p "In the beginning" -n 0 -s 1 --logprobs 2 --json
  check "logprobs as run's" python3 -c "
import json
for name in ('none', 'chat', 'out'):
    assert json.load(open('$work/' + name))['logprobs'] == {'content': []}, name"
}

# make_parts COUNT: $work/part1, ... of $work/in.
make_parts() {
  local i
  for ((i = 1; i <= $1; i++)); do
    run "shard $i of $1" 0 batch "$work/in" --shard "$i/$1" -o "$work/part$i" --force "${@:2}"
  done
}

# An error quotes the line as it is, even where a name in it looks like a flag.
test_errors_quote_the_line() {
  echo '{"id": "x", "prompt": "In", "kernel=x": 1}' >"$work/in"
  run "a field named as an option" 0 batch "$work/in"
  out_has '"error":"kernel=x: there is no such field here"'
  echo '{"id": "x", "prompt": "In", "n_predict": 1, "id_slot": 40}' >"$work/in"
  run "a slot" 0 batch "$work/in" -np 2
  out_has '"finish_reason":"length"'
}

test_shards() {
  make_requests 40 "$work/in"
  printf '\n \r\n{"id": "last", "temprature": 1}\n{"id": "x", "prompt": "In", "n_predict": 3}' >>"$work/in"
  run "whole" 0 batch "$work/in" -o "$work/whole" --force --logprobs 2
  local count
  for count in 1 3 8 50; do
    make_parts "$count" --logprobs 2 -np "$((count % 4 + 1))"
    # shellcheck disable=SC2046  # names have no blanks
    run "merge $count" 0 batch "$work/in" --merge $(seq -f "$work/part%g" "$count" | shuf) -o "$work/merged" --force
    err_has "42 results of $count parts"
    check "the same file from $count parts" cmp "$work/whole" "$work/merged"
  done
  run "merge without the input, to standard output" 0 batch --merge "$work"/part?{,?} -o -
  check "the same bytes" cmp "$work/whole" "$work/out"
}

test_resumed_shard() {
  make_requests 30 "$work/in"
  make_parts 2
  local size
  for size in 0 5 300 1400 2500; do
    head -c "$size" "$work/part2" >"$work/cut"
    run "resume after $size bytes" 0 batch "$work/in" --shard 2/2 -o "$work/cut" --resume
    check "the same part after $size bytes" cmp "$work/part2" "$work/cut"
  done
  run "another shard" 1 batch "$work/in" --shard 1/2 -o "$work/cut" --resume
  err_has "$work/cut: line 1: it is another part: 1/2 expected, 2/2 found"
  run "another temperature" 1 batch "$work/in" --shard 2/2 -o "$work/cut" --resume --temp 0
  err_has "line 1: it is another part: temperature: 0.0 expected, 0.8 found"
  sed '3s/"seed"/"n": 1, "seed"/' "$work/in" >"$work/other"
  run "another input" 1 batch "$work/other" --shard 2/2 -o "$work/cut" --resume
  err_has "line 1: it is another part: input: "
  run "no shard" 1 batch "$work/in" -o "$work/cut" --resume
  check "nothing was changed" cmp "$work/part2" "$work/cut"
  sed 4d "$work/part2" >"$work/cut"
  run "a hole" 1 batch "$work/in" --shard 2/2 -o "$work/cut" --resume
  err_has "$work/cut: line 4: the result of line 6 of the input expected, that of line 8 found"
  cp "$work/whole" "$work/cut"
  run "a file without shards" 1 batch "$work/in" --shard 2/2 -o "$work/cut" --resume
  check "it is as it was" cmp "$work/whole" "$work/cut"
}

# refuse_merge NAME TEXT FILE...: the parts are refused with the text, and no file is made.
refuse_merge() {
  run "$1" 1 batch "$work/in" --merge "${@:3}" -o "$work/unmade"
  err_has "$2"
  check "no file" not test -e "$work/unmade"
}

test_wrong_parts() {
  make_requests 30 "$work/in"
  make_parts 3
  local one="$work/part1" two="$work/part2" three="$work/part3" bad="$work/bad"
  refuse_merge "missing" "the parts of 3 shards expected, 2 found: that of 2/3 is missing" "$one" "$three"
  cp "$two" "$work/copy"
  refuse_merge "doubled" "$work/copy: line 1: another part expected, shard 2/3 found, which $two has" \
    "$one" "$two" "$work/copy" "$three"
  head -c -20 "$two" >"$bad"
  refuse_merge "cut in a line" "an end found; --resume goes on with it" "$one" "$bad" "$three"
  head -4 "$two" >"$bad"
  refuse_merge "cut between lines" \
    "$bad: line 5: the result of line 11 of the input expected, the end of the file found; --resume" \
    "$one" "$bad" "$three"
  sed 4d "$two" >"$bad"
  refuse_merge "a line less" "$bad: line 4: the result of line 8 of the input expected, that of line 11 found" \
    "$one" "$bad" "$three"
  sed 4p "$two" >"$bad"
  refuse_merge "a line twice" "$bad: line 5: the result of line 11 of the input expected, that of line 8 found" \
    "$one" "$bad" "$three"
  sed '$p' "$two" >"$bad"
  refuse_merge "the last line twice" "$bad: line 12: the end of the file expected" "$one" "$bad" "$three"
  sed '3s/"r4"/"x4"/' "$two" >"$bad"
  refuse_merge "another id" "$bad: line 3: the id \"r4\" expected, \"x4\" found" "$one" "$bad" "$three"
  sed '3s/.*/{"id": "r4", "line": 5, "text": "", "finish_reason": "length"}/' "$two" >"$bad"
  refuse_merge "a line of others" "$bad: line 3: the result of line 5" "$one" "$bad" "$three"
  : >"$bad"
  refuse_merge "empty" "$bad: line 1: the head of a part (batch with --shard I/N) expected, an empty file" "$bad"
  refuse_merge "the results of one machine" "$work/whole: line 1: the head of a part" "$work/whole" "$two"
  refuse_merge "no file" "$work/nothing: cannot be read" "$one" "$work/nothing"
  refuse_merge "a folder" "$work:" "$one" "$work"
  run "another temperature" 0 batch "$work/in" --shard 2/3 -o "$bad" --force --temp 0
  refuse_merge "another temperature" \
    "$bad: line 1: it is no part of the same batch as $one: temperature: 0.8 expected, 0.0 found" "$one" "$bad" "$three"
  run "of four" 0 batch "$work/in" --shard 2/4 -o "$bad" --force
  refuse_merge "of four" "number of shards: 3 expected, 4 found" "$one" "$bad" "$three"
  sed -i '2s/"seed"/"n": 1, "seed"/' "$work/in"
  refuse_merge "of another input" "$one: line 1: it is no part of $work/in: input: " "$one" "$two" "$three"
  run "an output that is a part" 1 batch --merge "$one" "$two" "$three" -o "$two" --force
  err_has "$two is both input and output (--merge, -o)"
}

test_wrong_shards() {
  local text
  for text in 0/3 4/3 3 /3 3/ 1/1001 -1/3 1/-3 1/3x x1/3 "1 /3" 1/3/3 0x1/3 +1/3 1/99999999999999999999 1.0/3; do
    run "shard $text" 1 batch "$work/in" "--shard=$text" -o "$work/unmade"
    err_has "--shard: I/N expected, with I from 1 to N and N from 1 to 1000, \"$text\" found"
  done
  run "of standard input" 1 batch - --shard 1/3 -o "$work/unmade"
  err_has "--shard: a file of lines expected, standard input found"
  run "unordered" 1 batch "$work/in" --shard 1/3 --unordered -o "$work/unmade"
  run "both" 1 batch "$work/in" --shard 1/3 --merge "$work/part1" -o "$work/unmade"
  run "no input" 1 batch -o "$work/unmade"
  err_has "IN is required"
  check "no file" not test -e "$work/unmade"
}

test_full_disk() {
  [ -w /dev/full ] || return
  run "a full disk" 3 batch "$work/in" -o /dev/full
  err_has "/dev/full: cannot write"
}

test_same_file
test_as_run
test_bad_lines
test_resume
test_resume_equal_ids
test_ids
test_logprobs_of_nothing
test_errors_quote_the_line
test_shards
test_resumed_shard
test_wrong_parts
test_wrong_shards
test_full_disk
finish 250
