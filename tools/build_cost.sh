#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: build_cost.sh [--units N] [PRESET] [CMAKE_ARGUMENT...]
# What the first build costs: builds PRESET in a fresh folder without a compiler cache (without PRESET what
# ./bittern builds: the program of `release`) and prints
# cpu_seconds (user and system), wall_seconds, units (compiled files), compiler_mb (memory of the largest process).
# --units N: also the N dearest units, by the wall time of each beside the others.
set -euo pipefail

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
units=0
case "${1:-}" in -h | --help)
  sed -n '3,8s/^# //p' "$0"
  printf 'Example: tools/build_cost.sh --units 10\n'
  exit 0
  ;;
esac
if [ "${1:-}" = --units ]; then
  units=$2
  shift 2
fi
preset=${1:-release} target=bittern
[ $# -eq 0 ] || { shift && target=all; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CCACHE_DISABLE=1
unset CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER
cd "$root"
python3 - "$folder" "$target" "$preset" "$@" <<'PYTHON'
import resource, subprocess, sys, time
folder, target, preset, *arguments = sys.argv[1:]
begin = time.monotonic()
for words in (["cmake", "--preset", preset, "-B", folder, *arguments], ["cmake", "--build", folder, "--target", target]):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-4000:] + done.stderr[-2000:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"cpu_seconds {used.ru_utime + used.ru_stime:.0f}")
print(f"wall_seconds {time.monotonic() - begin:.0f}")
print(f"compiler_mb {used.ru_maxrss / 1024:.0f}")
PYTHON
awk '$4 ~ /\.o$/ { n++ } END { print "units", n }' "$folder/.ninja_log"
if [ "$units" -gt 0 ]; then
  awk '$4 ~ /\.o$/ { printf "%.1f s  %s\n", ($2 - $1) / 1000, $4 }' "$folder/.ninja_log" |
    sed -E "s@CMakeFiles/([^/]*)\.dir/@\1/@" | sort -rn | awk -v n="$units" 'NR <= n'
fi
