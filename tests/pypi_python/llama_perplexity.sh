#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# llama_perplexity.sh ARCHIVE FOLDER: builds llama.cpp's llama-perplexity from the source distribution of
# llama-cpp-python, once, and prints its path.
set -eu
[ $# -eq 2 ] || { echo "usage: $0 ARCHIVE FOLDER" >&2; exit 2; }
program=$2/build/bin/llama-perplexity
if [ ! -x "$program" ]; then
  mkdir -p "$2/source"
  tar -xzf "$1" -C "$2/source" --strip-components=3 --wildcards '*/vendor/llama.cpp/*'
  cmake -S "$2/source" -B "$2/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DGGML_OPENMP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
    -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TOOLS=ON >"$2/log" 2>&1
  cmake --build "$2/build" --target llama-perplexity >>"$2/log" 2>&1
fi
echo "$program"
