#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: first_touch_test.sh BITTERN MODEL BUILD. What a machine with nothing installed asks of the scripts, in
# short (tests/bare_root.py makes such machines): long lists of packages, programs that are missing, a sign of life.
# shellcheck source=tests/cli_checks.sh
source "$(dirname "$0")/cli_checks.sh"
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=$3

# A system where no package is there: apt-get notes what it is asked for.
mkdir "$work/bin" "$work/tree"
cp -r "$source_dir/tools" "$source_dir/check" "$source_dir/bittern" "$work/tree"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$@" >>"%s"\necho "Get:1 of many"; exit %s\n' "$work/asked" '${APT_STATUS:-0}' >"$work/bin/apt-get"
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work"/bin/*
fake=$work/bin:$PATH

# in_tree NAME STATUS COMMAND...: in a copy of the scripts, with the fake system first on the PATH.
in_tree() {
  name=$1
  local expected=$2 status=0
  shift 2
  rm -f "$work/asked"
  (cd "$work/tree" && PATH=$fake "$@") >"$work/out" 2>"$work/err" </dev/null || status=$?
  check "exit code $expected, found $status" test "$status" -eq "$expected"
}

test_long_lists() {
  # shellcheck disable=SC2016
  in_tree "all packages" 0 bash -euc 'source tools/packages.sh; source tools/check_lib.sh
    require_packages "${CHECK_ALL_PACKAGES[@]}" $(seq -f a-package-with-a-long-name-%g 300)'
  check "all are asked for" grep -q "clang-19.* a-package-with-a-long-name-300" "$work/asked"
  # shellcheck disable=SC2016
  in_tree "a step with a long name" 0 bash -euc 'source tools/packages.sh; source tools/check_lib.sh
    step "$(seq -s, 1000)" true'
  in_tree "./check first" 1 ./check  # there are no sources in this copy
  check "it went on to the next step" grep -q "== format" "$work/out"
  APT_STATUS=100 in_tree "./check without a network" 1 ./check
  err_has "network"
  err_has "apt-get install g++ cmake"
  APT_STATUS=100 in_tree "./bittern without a network" 1 ./bittern run
  err_has "network"
  check "short" test "$(wc -l <"$work/err")" -lt 12
}

# farm NAME LACKING...: a folder of links to all programs but those.
farm() {
  mkdir "$work/$1"
  local folder=$work/$1 place lacking
  shift
  for place in /usr/sbin /usr/bin /sbin /bin; do
    find "$place/" -maxdepth 1 \( -type f -o -type l \) -exec ln -sf -t "$folder" {} +
  done
  for lacking in "$@"; do rm -f "$folder/$lacking"; done
}

test_missing_programs() {
  farm no-make make gmake
  name="examples without make"
  local status=0
  PATH=$work/no-make env -u BITTERN_MODEL bash "$source_dir/tests/capi/examples_test.sh" "$source_dir" "$build" "$bittern" \
    >"$work/out" 2>"$work/err" || status=$?
  check "exit code 0, found $status" test "$status" -eq 0
  # Another distribution, without apt-get.
  farm no-ninja make ninja cmake pkg-config dpkg-query apt-get
  name="not Debian" status=0
  (cd "$work/tree" && PATH=$work/no-ninja ./bittern run) >"$work/out" 2>"$work/err" </dev/null || status=$?
  check "exit code 1, found $status" test "$status" -eq 1
  err_has "not found: cmake ninja"
  err_has "no package manager that is known"
  err_has "libfmt-dev"
}

# At a terminal something moves while a long command is silent; elsewhere lines tell.
test_sign_of_life() {
  local text
  name="a terminal"
  text=$(script -qec 'bash -c "source tools/progress.sh; run_shown busy log sleep 4"' /dev/null </dev/null)
  printf '%s' "$text" >"$work/err"
  check "seconds are counted" test "$(grep -o 'busy, [0-9]* s' <<<"$text" | sort -u | wc -l)" -ge 2
  # shellcheck disable=SC2016
  in_tree "a pipe is free at once" 0 bash -c 'source tools/progress.sh
    start=$SECONDS; text=$(run_shown busy log true 2>&1); test $((SECONDS - start)) -le 3'
}

cd "$work/tree" || exit 1
test_long_lists
test_missing_programs
test_sign_of_life
finish 18
