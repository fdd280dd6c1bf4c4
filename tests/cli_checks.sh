# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of the program share. To be sourced with the arguments BITTERN MODEL: makes the folder
# $work, and sets $bittern and $model, which is the one that commands take without -m.
set -uo pipefail

bittern=$1 model=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BITTERN_MODEL=$model
failures=0 checks=0

# run NAME EXPECTED_STATUS ARGUMENT... leaves $work/out and $work/err. Standard input is empty.
run() {
  name=$1
  local expected=$2 status=0
  shift 2
  "$bittern" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  check "exit code $expected, found $status" test "$status" -eq "$expected"
}

# check WHAT COMMAND... counts a failure of the command.
check() {
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" && return
  failures=$((failures + 1))
  echo "FAILED: ${name:-?}: $what"
  head -c 600 "$work/err" | sed 's/^/  stderr: /'
}

out_has() { check "stdout has: $1" grep -qF -- "$1" "$work/out"; }
err_has() { check "stderr has: $1" grep -qF -- "$1" "$work/err"; }
err_lacks() { check "stderr lacks: $1" not grep -qF -- "$1" "$work/err"; }
out_empty() { check "stdout is empty" not test -s "$work/out"; }
not() { ! "$@"; }
# json EXPRESSION: true for the JSON in $work/out, as `j`.
json() { check "json: $1" python3 -c "import json; j = json.load(open('$work/out')); assert $1"; }

# finish LEAST: the outcome of all checks, of which there must have been at least so many.
finish() {
  echo "$checks checks, $failures failures"
  [ "$checks" -ge "$1" ] && [ "$failures" -eq 0 ]
}
