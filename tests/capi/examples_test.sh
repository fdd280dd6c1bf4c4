#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: examples_test.sh SOURCE BUILD BITTERN
# Installs the library from BUILD into a new folder. Builds the examples against it with
# find_package, with pkg-config and with the static library, and runs them. Their text must equal the
# command line's. The header must be clean C11.
set -euo pipefail
source=$1 build=$2 bittern=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
same() {  # same WHAT FOUND EXPECTED
  [ "$2" = "$3" ] || fail "$1: found '$2', expected '$3'"
}

for component in library development; do
  cmake --install "$build" --prefix "$work/root" --component $component >/dev/null
done
printf '#include <bittern/bittern.h>\nint main(void) { return bittern_version_number() <= 0; }\n' \
  >"$work/header.c"
pc=$(dirname "$(find "$work/root" -name bittern.pc)")
read -ra flags < <(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs bittern)
strict=(-std=c11 -Wall -Wextra -pedantic -Werror)
cc "${strict[@]}" "$work/header.c" -o "$work/header" "${flags[@]}"
LD_LIBRARY_PATH=$(dirname "$pc") "$work/header" || fail "the header's program"

cmake -G Ninja -S "$source/examples" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/root" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="${strict[*]}" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail "find_package"; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "examples"; }

expected=$("$bittern" run -p "A tern is" -n 20 --temp 0 --no-display-prompt 2>/dev/null)
same hello "$("$work/build/hello")" "$expected"
same "hello in C++" "$("$work/build/hello_cpp" | tail -n 1)" "$expected"
same "likeliest token" "$("$work/build/hello_cpp" | head -n 1)" "likeliest: a"
same chat "$(printf 'What is a tern?\nWhat is a dog?\n' | "$work/build/chat")" \
  "$(printf 'What is a tern?\nWhat is a dog?\n' | "$bittern" chat --temp 0 2>/dev/null)"
for prompt in "A tern is" "On the"; do
  text=$("$bittern" run -p "$prompt" -n 12 --temp 0 --no-display-prompt 2>/dev/null)
  printf '%s\n' "A dog" "$prompt" | "$work/build/batch" | grep -qF "2:$text" ||
    fail "batch: '$prompt' is not continued with '$text'"
done
"$work/build/hello" /no/such/file 2>"$work/err" && fail "a file that is not there"
grep -q "/no/such/file" "$work/err" || fail "the file is not named"

static=$(find "$work/root" -name libbittern.a)
c++ -x c "${strict[@]}" -DBITTERN_STATIC -I"$work/root/include" "$source/examples/hello.c" -x none \
  "$static" -lutf8proc -pthread -o "$work/static"
same "static library" "$("$work/static")" "$expected"
# The code of docs/embedding.md. Its commands of installation run first, word for word, in an empty
# environment.
block() {  # block LANGUAGE: the page's code in it
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/docs/embedding.md" | sed '/^```/d'
}
block c >"$work/page.c"
block cpp >"$work/page.cpp"
block python >"$work/page.py"
mkdir -p "$work/home/build"
ln -s "$build" "$work/home/build/release"
cp "$work/page.c" "$work/home/hello.c"
sed '/^cmake -S/s/^cmake -S . -B build/cmake -G Ninja -S . -B build-cmake/; s/--build build$/--build build-cmake/' \
  <(block sh) >"$work/home/install.sh"
block cmake >"$work/home/CMakeLists.txt"
(cd "$work/home" && env -i HOME="$work/home" PATH="$PATH" bash -e install.sh >"$work/log" 2>&1) ||
  { cat "$work/log" >&2; fail "docs/embedding.md, Install"; }
for program in hello hello-static build-cmake/hello; do
  same "docs/embedding.md, $program" "$(env -i "$work/home/$program")" "$expected"
done
# A C project with the static library.
sed -i s/Bittern::bittern/Bittern::static/ "$work/home/CMakeLists.txt"
static_in_c() {
  cmake -G Ninja -S "$work/home" -B "$work/home/c" -DCMAKE_PREFIX_PATH="$work/home/bittern" &&
    cmake --build "$work/home/c"
}
static_in_c >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "Bittern::static in C"; }
same "Bittern::static in C" "$("$work/home/c/hello")" "$expected"
# A program made for another minor version is not given this one.
sed -i 's/find_package(Bittern/find_package(Bittern 0.0/' "$work/home/CMakeLists.txt"
cmake -G Ninja -S "$work/home" -B "$work/home/d" -DCMAKE_PREFIX_PATH="$work/home/bittern" >"$work/log" 2>&1 &&
  fail "find_package(Bittern 0.0) takes 0.1"
grep -q "compatible with requested version" "$work/log" || { cat "$work/log" >&2; fail "find_package 0.0"; }
library=$(dirname "$pc")
for page in page.c page.cpp; do
  language=(-x c -std=c11)
  [ $page = page.cpp ] && language=(-std=c++20)
  g++ "${language[@]}" -Wall -Wextra "$work/$page" -x none -o "$work/page" "${flags[@]}"
  same "docs/embedding.md, $page" "$(LD_LIBRARY_PATH=$library "$work/page")" "$expected"
done
same "docs/embedding.md, Python" \
  "$(BITTERN_LIBRARY=$build/src/capi/libbittern.so PYTHONPATH=$source/python python3 "$work/page.py")" \
  "$expected"
echo "examples: passed"
