# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The steps of ./check. Each is quiet while it goes well and shows its whole output when it fails.

mkdir -p build
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

# step NAME COMMAND... runs the command; its output goes to a log that is shown on failure.
step() {
  local name=$1 log start=$SECONDS
  shift
  log=build/check-$(tr -c 'a-z0-9\n' '-' <<<"${name,,}").log
  printf '== %s ' "$name"
  if "$@" >"$log" 2>&1; then
    printf 'ok (%d s)\n' $((SECONDS - start))
    grep -h 'SKIPPED' "$log" | sed 's/^/   /' || true  # never silently
  else
    printf 'FAILED (%s)\n' "$log"
    tail -n 100 "$log"
    exit 1
  fi
}

require_packages() {
  local missing=()
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -gt 0 ]; then
    step "installing ${missing[*]}" install_packages "${missing[@]}"
    if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  fi
}

check_format() {
  local files=()
  mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.h')
  [ ${#files[@]} -gt 0 ] && clang-format-19 --dry-run -Werror "${files[@]}"
}

check_shell_scripts() {
  local files=()
  mapfile -t files < <(git ls-files --cached --others --exclude-standard |
    xargs -d '\n' grep -lE '^(#!.*sh$|# shellcheck shell=)' --)
  [ ${#files[@]} -gt 0 ] && shellcheck -x "${files[@]}"
}

# The random-weight model of tests/golden_test.cpp, by the generator beside the reference outputs;
# without these that test is skipped.
make_test_model() {
  local generator="${BITTERN_SHARED:-../shared}/tools/synth_i2s_gguf.py" model=build/data/tiny.gguf
  if [ ! -e "$generator" ] || [ -e "$model" ]; then return; fi
  require_packages python3-numpy
  mkdir -p build/data
  step "test model" /usr/bin/python3 "$generator" "$model" --layers 4 --hidden 256 --ffn 768 \
    --heads 4 --kv-heads 2 --vocab 1024 --seed 1
}

# build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" ${1:+--target "$@"}
}

# Reads `ctest -V`; prints the summary lines of every GoogleTest program and of ctest itself.
summarise_tests() {
  awk '
    /^ *Start +[0-9]+: / { id = $2; sub(/:/, "", id); name[id] = $3 }
    /^[0-9]+: \[(==========\] .* ran\.|  PASSED  |  FAILED  |  SKIPPED )/ {
      id = $1; sub(/:/, "", id); line = $0; sub(/^[0-9]+: /, "", line)
      printf "   %-18s %s\n", name[id], line
    }
    /tests passed, .* tests failed/ { print "   " $0 }' "$1"
}

# The whole output of the tests that failed.
show_failures() {
  grep -E '(\*\*\*|Not Run)' "$1" || true
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#([0-9]+):.*\*\*\*.*/\1/p' "$1" | while read -r id; do
    grep -E "^$id: " "$1" | tail -n 100
  done
}

# run_tests PRESET [REGEX] [LABEL]
run_tests() {
  local preset=$1 regex=${2:-.} label=${3:-$1} start=$SECONDS log
  log=build/check-tests-$label.log
  printf '== tests (%s)\n' "$label"
  if ctest --test-dir "build/$preset" -V -j "$(nproc)" -R "$regex" --no-tests=error \
    >"$log" 2>&1; then
    summarise_tests "$log"
    printf '   ok (%d s)\n' $((SECONDS - start))
  else
    summarise_tests "$log"
    show_failures "$log"
    printf '   FAILED (%s)\n' "$log"
    exit 1
  fi
}

# The instruction sets of src/kernels/isa.def for this machine.
isa_names() {
  local arch=X86
  case "$(uname -m)" in aarch64 | arm64) arch=ARM ;; esac
  sed -nE "s/^ISA_(ANY|$arch)\(([a-z0-9]+),.*/\2/p" src/kernels/isa.def
}

# The tests of whole models, with one instruction set forced (kernels_test and SameBits force each
# by themselves). Perplexity takes minutes without vectors; since all instruction sets give the
# same bits, which these tests do check, it is enough to measure it with one.
run_isa() {
  local isa=$1 refusal
  if refusal=$(BITTERN_ISA=$isa build/dev/apps/cli/bittern logits --prompt-ids 1 -o /dev/null 2>&1); then
    GTEST_FILTER='-*Perplexity*:SameBits*' BITTERN_ISA=$isa \
      run_tests dev '^(model|runtime|integration)_test$' "dev-$isa"
  elif [[ $refusal == *"not supported by this CPU"* ]]; then
    printf '== tests (dev-%s) SKIPPED: %s\n' "$isa" "$refusal"
  else
    printf '== tests (dev-%s) FAILED: %s\n' "$isa" "$refusal"
    exit 1
  fi
}
