#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: fuzz/run.sh SECONDS [TARGET...]   Builds the fuzz targets and runs each for SECONDS on its
# corpus. New inputs go to build/fuzz/corpus, so the committed seeds stay small; crashes to
# build/fuzz/crashes. Fails if a target crashes, or if there is no target.
set -eu
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
cmake --preset fuzz > /dev/null
if [ $# -eq 0 ]; then
  for source in fuzz/*_fuzz.cpp; do
    set -- "$@" "$(basename "$source" _fuzz.cpp)"
  done
fi
[ "$1" != '*' ] || { echo "no fuzz targets"; exit 1; }
failed=
for target in "$@"; do
  cmake --build --preset fuzz --target "${target}_fuzz"
  found=build/fuzz/corpus/$target
  crashes=build/fuzz/crashes/$target
  seeds=fuzz/corpus/$target
  mkdir -p "$found" "$crashes"
  [ -d "$seeds" ] || { echo "$target: no seeds in $seeds"; seeds=; }
  # A dictionary is optional.
  dictionary=
  [ ! -f "fuzz/$target.dict" ] || dictionary=-dict=fuzz/$target.dict
  echo "== $target: $seconds s"
  # shellcheck disable=SC2086  # empty words are meant to vanish
  build/fuzz/fuzz/"${target}_fuzz" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 \
    -print_final_stats=1 $dictionary -artifact_prefix="$crashes/" "$found" $seeds \
    > "build/fuzz/$target.log" 2>&1 || failed="$failed $target"
  grep -E '^(stat::|SUMMARY|==.*ERROR)|DONE' "build/fuzz/$target.log" || true
done
[ -z "$failed" ] || { echo "crashed:$failed (build/fuzz/crashes)"; exit 1; }
