# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The steps of ./check. Each is quiet while it goes well and shows its whole output when it fails.

# shellcheck source=tools/progress.sh
source tools/progress.sh

mkdir -p build
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

# log_name NAME: the log of a step. A name of a file has 255 bytes at most, one of ours far fewer.
log_name() {
  local name
  name=$(tr -c 'a-z0-9\n' '-' <<<"${1,,}")
  printf 'build/check-%s.log' "${name:0:80}"
}

# step NAME COMMAND... runs the command; its output goes to a log that is shown on failure.
step() {
  local name=$1 log start=$SECONDS
  shift
  log=$(log_name "$name")
  if run_shown "== $name" "$log" "$@"; then
    printf '== %s ok (%d s)\n' "$name" $((SECONDS - start))
    grep -h 'SKIPPED' "$log" | sed 's/^/   /' || true  # never silently
  else
    printf '== %s FAILED (%s)\n' "$name" "$log"
    tail -n 100 "$log"
    exit 1
  fi
}

require_packages() {
  local missing start=$SECONDS
  missing=$(missing_packages "$@" | wc -l)
  have_packages check build/check-installing.log "$BUILD_TOOLS python3" "$@" || exit 1
  if [ "$missing" -eq 0 ]; then return; fi
  if [ "$(package_system)" = debian ]; then
    printf '== installing %s packages ok (%s s)\n' "$missing" $((SECONDS - start))
    if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  else
    # shellcheck disable=SC2046  # names have no spaces
    printf '== packages: some are not here, as far as is known. %s\n' "$(way_out $(missing_packages "$@"))"
  fi
}

# source_files [PATTERN...]: the files of this checkout that match, or of a folder without git.
source_files() {
  if [ -e .git ] && command -v git >/dev/null; then
    git ls-files --cached --others --exclude-standard "$@"
    return
  fi
  local names=() pattern
  for pattern in "$@"; do names+=(${names[0]:+-o} -name "$pattern"); done
  find . \( -name build -o -name node_modules -o -name __pycache__ \) -prune -o \
    -type f ${names[0]:+\( "${names[@]}" \)} -print
}

# Other versions format otherwise; not every system has this one.
check_format() {
  local files=() tool=clang-format-19
  command -v $tool >/dev/null || tool=clang-format
  if ! $tool --version | grep -q 'version 19\.'; then
    echo "SKIPPED: clang-format 19 expected, $($tool --version) found"
    return
  fi
  mapfile -t files < <(source_files '*.cpp' '*.hpp' '*.h')
  [ ${#files[@]} -gt 0 ] && $tool --dry-run -Werror "${files[@]}"
}

check_shell_scripts() {
  local files=()
  mapfile -t files < <(source_files |
    xargs -d '\n' awk 'FNR <= 2 && /^(#!.*sh$|# shellcheck shell=)/ { print FILENAME }' |
    sort -u)
  [ ${#files[@]} -gt 0 ] && shellcheck -x "${files[@]}"
}

# The random-weight model of tests/golden_test.cpp, by the generator beside the reference outputs;
# without these that test is skipped.
make_test_model() {
  local generator="${BITTERN_SHARED-../shared}/tools/synth_i2s_gguf.py" model=build/data/tiny.gguf
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
  if run_shown "== tests ($label)" "$log" ctest --test-dir "build/$preset" -V -j "$(nproc)" \
    -R "$regex" --no-tests=error; then
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

# Two of them: what most CPUs have, and plain C++. The tests of single kernels and of same bits run
# every instruction set by themselves.
common_isa_names() {
  isa_names | grep -xE 'avx2|neon|scalar'
}

# The tests of whole models, with one instruction set forced (kernels_test and SameBits force each
# by themselves). Perplexity takes minutes without vectors; since all instruction sets give the
# same bits, which these tests do check, it is enough to measure it with one.
run_isa() {
  local isa=$1 refusal
  if refusal=$(BITTERN_ISA=$isa build/dev/apps/cli/bittern logits --prompt-ids 1 -o /dev/null 2>&1); then
    # Certificates force every instruction set by themselves, in the tests of the dev build.
    GTEST_FILTER='-*Perplexity*:SameBits*:*Certif*:Speculation*:*EngineScripts*' BITTERN_ISA=$isa \
      run_tests dev '^(model|runtime|integration)_test$' "dev-$isa"
  elif [[ $refusal == *"not supported by this CPU"* ]]; then
    printf '== tests (dev-%s) SKIPPED: %s\n' "$isa" "$refusal"
  else
    printf '== tests (dev-%s) FAILED: %s\n' "$isa" "$refusal"
    exit 1
  fi
}

# --- Systems and CPUs that this machine is not ---

# base is the only place with system calls (check_layers.py); it must compile where Linux's own are
# missing, and the kernels for ARM with clang, whose view of ARM is that of Apple's compiler.
check_other_systems() {
  local file flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -Isrc
    -Wno-gnu-statement-expression-from-macro-expansion)
  for file in src/base/*.cpp src/base/*/*.cpp; do
    case "$file" in *_test.cpp | */fmt_library.cpp) continue ;; esac
    clang++-19 "${flags[@]}" -U__linux__ "$file" || return 1
  done
  if [ ! -e /usr/aarch64-linux-gnu ]; then return; fi
  for file in src/kernels/*/neon*.cpp; do
    clang++-19 "${flags[@]}" --target=aarch64-linux-gnu -march=armv8.2-a+dotprod+i8mm "$file" ||
      return 1
  done
}

# install_or_say PACKAGE...: false, with a visible line, where they cannot be had.
install_or_say() {
  local missing=()
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -gt 0 ] && ! install_shown check build/check-other-cpus.log "${missing[@]}"; then
    printf '== other CPUs SKIPPED: cannot install %s\n' "${missing[*]}"
    return 1
  fi
}

# side_by_side FUNCTION ARGUMENT...: one background job for each argument; fails if any does.
side_by_side() {
  local function=$1 argument pid pids=() status=0
  shift
  for argument in "$@"; do
    "$function" "$argument" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return $status
}

# run_arm64 CPU PROGRAM ARGUMENT...
run_arm64() {
  local cpu=$1 program=$2
  shift 2
  qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu "$cpu" "build/arm64/$program" "$@"
}

arm64_tests() { run_arm64 cortex-a53 "$1_test" --gtest_filter='-*neondot*:*neoni8mm*:Selftest*'; }

# The kernels that only this core has.
arm64_kernels() {
  local -A added=([neoverse-n1]='Registry*:*neondot*' [max]='Registry*:*neoni8mm*')
  run_arm64 "$1" kernels_test --gtest_filter="${added[$1]}"
}

# ARM cores without dot products, with them, and with int8 matrix multiply. The first runs all
# tests, the others those of their kernels; each must give the golden certificate.
check_arm64() {
  if ! tools/arm64_root.sh build/arm64-root >build/check-arm64-root.log 2>&1; then
    printf '== arm64 SKIPPED: no arm64 libraries (build/check-arm64-root.log)\n'
    return
  fi
  step "build (arm64)" build_preset arm64 base_test quant_test formats_test tokenizer_test \
    kernels_test model_test runtime_test proof_test bittern
  step "object code (arm64)" python3 tools/check_object_code.py build/arm64 \
    --prefix aarch64-linux-gnu-
  step "tests (arm64)" side_by_side arm64_tests base quant formats tokenizer kernels model runtime proof
  step "kernels (arm64, later cores)" side_by_side arm64_kernels neoverse-n1 max
  step "certificates (arm64, three cores)" \
    tools/certify_matrix.sh build/dev/apps/cli/bittern arm64
  step "receipts (made here, verified by arm64)" python3 tests/serve_receipts_test.py \
    build/dev/apps/cli/bittern models/kjv-5m-i2s.gguf 10 0 \
    "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu cortex-a53 build/arm64/apps/cli/bittern"
}

# The README's two commands on machines with nothing installed, and the library and the npm package of
# build/dev there. Takes an hour and more.
check_bare_roots() {
  if [ "$(id -u)" -ne 0 ]; then
    printf '== bare roots SKIPPED: they need root\n'
    return
  fi
  install_or_say debootstrap || return 0
  step "bare roots" python3 tests/bare_root.py --build build/dev
}

# The programs that people download, in old and small roots; where tools/release.sh has made them.
check_old_systems() {
  if [ ! -e dist/bittern-linux-x86_64.tar.gz ]; then
    printf '== old systems SKIPPED: tools/release.sh bittern-linux-x86_64.tar.gz bittern-linux-aarch64.tar.gz first\n'
    return
  fi
  install_or_say debootstrap busybox-static qemu-user || return 0
  step "old systems" python3 tests/old_systems.py build/dev/apps/cli/bittern
}

# What is made for both kinds of Mac, as far as it can be read here; where tools/release.sh has made it.
check_macos() {
  local archives=(dist/bittern-macos-universal.tar.gz)
  if [ ! -e "${archives[0]}" ]; then
    printf '== macOS SKIPPED: tools/release.sh bittern-linux-x86_64.tar.gz bittern-macos-universal.tar.gz first\n'
    return
  fi
  mapfile -t -O 1 archives < <(find dist -name '*-macosx_*.whl' -o -name 'bittern-*.tgz')
  step "macOS (what its loader will see)" python3 tests/macos_test.py "${archives[@]}"
}

# A cluster of this machine, with daemons of its own; as root.
check_slurm() {
  install_or_say slurm-wlm munge || return 0
  step "batch on Slurm" python3 tests/slurm_test.py build/dev/apps/cli/bittern models/kjv-5m-i2s.gguf
}

# One model on several ranks of this machine, by Open MPI.
check_mpi() {
  install_or_say openmpi-bin libopenmpi-dev || return 0
  step "build (bittern-mpi)" build_preset mpi bittern-mpi
  step "one model on several ranks" python3 tests/mpi_test.py build/dev/apps/cli/bittern \
    build/mpi/apps/cli/bittern-mpi models/kjv-5m-i2s.gguf
  install_or_say iproute2 || return 0
  step "ranks on hosts of their own" python3 tests/scaling_test.py build/dev/apps/cli/bittern \
    build/mpi/apps/cli/bittern-mpi models/kjv-5m-i2s.gguf
}

# The wheels before auditwheel; where tools/release.sh has made them.
check_wheels() {
  if ! compgen -G 'dist/bittern-*linux*.whl' > /dev/null; then
    printf '== wheels for Linux SKIPPED: tools/release.sh, with their names of --list, first\n'
    return
  fi
  step "wheels for Linux (auditwheel)" tests/pypi_wheels/run.sh dist
}

# The npm package in the Node.js of all systems that run here; where tools/release.sh has made it.
check_npm_systems() {
  if ! compgen -G 'dist/bittern-*.tgz' > /dev/null; then
    printf '== npm package, all systems SKIPPED: tools/release.sh bittern-VERSION.tgz first\n'
    return
  fi
  install_or_say wine wine64 qemu-user || return 0
  step "npm package, all systems" python3 tests/npm_systems.py build/dev/apps/cli/bittern
}

# check_windows_units TARGET...: unit tests, built for Windows, under wine.
check_windows_units() {
  install_or_say wine wine64 || return 0
  install_or_say googletest googletest || return 0
  if ! tools/release_deps.sh --without-tls x86_64-w64-mingw32 > build/check-windows-libraries.log 2>&1; then
    printf '== Windows SKIPPED: the compiler or the sources of utf8proc cannot be had (build/check-windows-libraries.log)\n'
    return
  fi
  step "build (Windows: $*)" build_preset windows "$@"
  WINEDEBUG=-all run_tests windows "^($(IFS='|' && echo "$*"))\$"
}

# The program for Windows under wine, beside this one; where tools/release.sh has made it.
check_windows() {
  local archive=dist/bittern-windows-x86_64.zip
  if [ ! -e "$archive" ]; then
    printf '== Windows SKIPPED: tools/release.sh bittern-windows-x86_64.zip first\n'
    return
  fi
  install_or_say wine wine64 || return 0
  rm -rf build/windows-program
  python3 -m zipfile -e "$archive" build/windows-program
  step "Windows (wine)" python3 tests/windows_test.py build/dev/apps/cli/bittern \
    build/windows-program/bittern-windows-x86_64/bittern.exe
  step "npm clients of the Windows program" tests/js/clients/run.sh tests/windows_program.sh
}

# The program as built for every x86-64, on CPUs with SSE4.1, without it, and with AVX2.
check_old_x86() {
  step "certificates (old x86, three CPUs)" tools/certify_matrix.sh build/dev/apps/cli/bittern x86
}

check_other_cpus() {
  if [ "$(uname -m)" != x86_64 ]; then
    printf '== other CPUs SKIPPED: written for x86-64\n'
    return
  fi
  install_or_say "${OTHER_CPU_PACKAGES[@]}" || return 0
  check_old_x86
  step "other systems (clang)" check_other_systems
  check_arm64
}
