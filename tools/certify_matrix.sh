#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: certify_matrix.sh BITTERN [native|native-short] [convert] [x86] [arm64]
# Default: native convert.
#
# Certifies the models of the repository on every path and prints the table of runs; fails unless
# each gives the golden line of models/certificates.txt.
#   native   each instruction set of this CPU: threads, chunks, caches, a session beside, kernels
#   native-short  the same; the two slowest instruction sets take every third row
#   convert  before and after `convert` to each format that holds exact scales, and its embeddings
#   x86      the same program under qemu-x86_64 on CPUs without AVX, without SSE4.1, with AVX2
#   arm64    build/arm64's program under qemu-aarch64 on cores without and with dotprod and i8mm
# Emulators get the built-in model only; Core 2 and Haswell, and all with a float32 cache, read one
# short prompt, which must give what this machine gives. Columns: see `bittern certify --help`.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
export BITTERN=$1 WORK GOLDEN=$root/models/certificates.txt
shift
[ $# -gt 0 ] || set -- native convert
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
pocket=$root/models/pocket-3-i2s.gguf kjv=$root/models/kjv-5m-i2s.gguf
printf 'What is a tern?\n' >"$WORK/short.prompts"

# row CPU MODEL ISA EXPECTED PROGRAM... -- ARGUMENT...: one run, one line of the table.
row() {
  local cpu=$1 model=$2 isa=$3 expected=$4 program=() start tenths result status=0 log
  shift 4
  while [ "$1" != -- ]; do program+=("$1"); shift; done
  shift
  log=$(mktemp -p "$WORK")
  start=$EPOCHREALTIME
  BITTERN_ISA=$isa "${program[@]}" certify "$model" "$@" --check "$expected" >"$log.out" 2>"$log" || status=$?
  tenths=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 100000))
  tenths=$((tenths / 10)).$((tenths % 10))
  result=same
  [ $status -eq 0 ] || { result=DIFFERS; touch "$WORK/failed"; }
  printf '%-13s %-26s %-11s %-44s %9s  %s\n' "$cpu" "$(basename "$model")" "${isa:-best}" "${*//"$WORK/"/}" \
    "$tenths" "$result"
  [ $status -eq 0 ] || sed 's/^/    /' "$log" "$log.out"
  cat "$log.out" >>"$WORK/lines"
}
export -f row

# Jobs are lines of words (paths here have no spaces: they are made by this script or the checkout).
# run_jobs N: reads them and runs N at a time.
run_jobs() { xargs -P "$1" -L 1 bash -c 'row "$@"' row; }

isas() {
  "$BITTERN" inspect --cpu --json | python3 -c '
import json, sys
print(*[i["name"] for i in json.load(sys.stdin)["instruction_sets"] if i["supported"]], sep="\n")'
}

# native_jobs SLOW_STEP: of scalar and sse41 every SLOW_STEP-th row
native_jobs() {
  local isa arguments step row
  for isa in $(isas); do
    step=1 row=0
    case $isa in scalar | sse41) step=$1 ;; esac
    while read -r arguments; do
      if ((row++ % step != 0)); then continue; fi
      echo this-machine "$pocket" "$isa" "$GOLDEN" "$BITTERN" -- "$arguments"
    done <<'END'
-t 2 -ub 1
-t 1 -ub 3
-t 2 -ub 64
-t 2 -ub 512
-t 7 -ub 64
-t 2 -ub 64 --cache recompute
-t 2 -ub 3 --cache rewind
-t 1 -ub 64 --beside 2
-t 2 -ub 3 --zero-skip off
-t 2 -ub 3 --zero-skip on
-t 2 -ub 64 --kernel tile48
-t 2 -ub 3 --kernel tile48
-t 2 -ub 64 --kernel tl1
-t 2 -ub 64 --kernel tl2
-t 2 -ub 64 -ctk f32 -ctv f32
END
    echo this-machine "$kjv" "$isa" "$GOLDEN" "$BITTERN" -- -t 2 -ub 64
  done
}

# Formats whose scales are float32, as the source's.
exact_formats=(i2_s:arm-64 i2_s:row4 i2_s:sequential tl1 tl2 iq2_bn iq2_bn_r4 f32 safetensors)
convert_jobs() {
  local model format out
  for model in "$pocket" "$kjv"; do
    for format in "${exact_formats[@]}"; do
      out=$WORK/$(basename "$model" -i2s.gguf)-${format/:/-}
      "$BITTERN" convert "$model" "$out" --to "$format" --scale-type f32 >"$WORK/log" 2>&1 ||
        { cat "$WORK/log" >&2; exit 1; }
      echo this-machine "$out" '""' "$GOLDEN" "$BITTERN" -- -t 2 -ub 64
    done
    out=$WORK/$(basename "$model" -i2s.gguf)-embeddings-f32
    "$BITTERN" convert "$model" "$out" --to i2_s --embeddings f32 >"$WORK/log" 2>&1 ||
      { cat "$WORK/log" >&2; exit 1; }
    echo this-machine "$out" '""' "$GOLDEN" "$BITTERN" -- -t 2 -ub 64
  done
}

# emulated_jobs WHOLE CPU... -- PROGRAM...: the CPUs of the word WHOLE run all prompts, all of them
# a short one. CPU in the program stands for their names.
emulated_jobs() {
  local whole=$1 cpu cpus=() short=(-t 1 --prompt-set "$WORK/short.prompts")
  shift
  while [ "$1" != -- ]; do cpus+=("$1"); shift; done
  shift
  for cpu in "${cpus[@]}"; do
    case " $whole " in
      *" $cpu "*) echo "$cpu" "$pocket" '""' "$GOLDEN" "${@/CPU/$cpu}" -- -t 1 ;;
      *) echo "$cpu" "$pocket" '""' "$WORK/short.lines" "${@/CPU/$cpu}" -- "${short[@]}" ;;
    esac
    echo "$cpu" "$pocket" '""' "$WORK/short.lines" "${@/CPU/$cpu}" -- "${short[@]}" -ctk f32 -ctv f32
  done
}
short_lines() {
  local kv
  for kv in f16 f32; do
    "$BITTERN" certify "$pocket" --prompt-set "$WORK/short.prompts" -ctk $kv -ctv $kv 2>"$WORK/log"
  done >"$WORK/short.lines"
}

printf '%-13s %-26s %-11s %-44s %9s  %s\n' CPU model ISA arguments time line
for what in "$@"; do
  case $what in
    native) native_jobs 1 | run_jobs 1 ;;
    native-short) native_jobs 3 | run_jobs 1 ;;
    convert)
      convert_jobs >"$WORK/jobs"
      run_jobs 1 <"$WORK/jobs"
      ;;
    x86)
      short_lines
      emulated_jobs Nehalem Nehalem core2duo Haswell -- qemu-x86_64 -cpu CPU "$BITTERN" | run_jobs "$(nproc)"
      ;;
    arm64)
      short_lines
      emulated_jobs "cortex-a53 neoverse-n1 max" cortex-a53 neoverse-n1 max -- qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu CPU \
        "$root/build/arm64/apps/cli/bittern" | run_jobs "$(nproc)"
      ;;
    *)
      echo "certify_matrix.sh: native, native-short, convert, x86 or arm64 expected, $what found" >&2
      exit 1
      ;;
  esac
done
echo
echo "$(wc -l <"$WORK/lines") runs; the lines they gave:"
sort "$WORK/lines" | uniq -c
[ ! -e "$WORK/failed" ] || { echo "certify_matrix.sh: some runs differ from their golden line" >&2; exit 1; }
