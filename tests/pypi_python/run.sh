#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package beside packages of others: run.sh BUILD_FOLDER. They are installed into an
# environment in the build folder on first use; what cannot be installed is skipped, visibly.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 BUILD_FOLDER" >&2; exit 2; }
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
# shellcheck source=tests/pypi_environment.sh
. ../pypi_environment.sh
environment=$(cd ../.. && pwd)/build/pypi-python

why=$(pypi_environment "$environment") || { echo "Python package: SKIPPED ($why)"; exit 0; }
BITTERN_LIBRARY=$build/src/capi/libbittern.so
PYTHONPATH=$(cd ../../python && pwd)
export BITTERN_LIBRARY PYTHONPATH
python=$environment/bin/python

echo "-- types"
MYPYPATH=$PYTHONPATH "$python" -m mypy --strict --config-file ../../python/pyproject.toml --cache-dir "$environment/mypy" \
  ../../python/bittern ../../python/examples/*.py
echo "-- tests with NumPy"
"$python" ../../python/tests/test_bittern.py "$build/apps/cli/bittern" Pieces Sequences
"$python" ../../python/tests/test_llama_cpp.py "$build/apps/cli/bittern"
echo "-- llama-cpp-python's signatures and examples"
archive=$environment/llama_cpp_python-0.3.36.tar.gz
if [ -e "$archive" ] || "$python" -m pip download -q --no-deps --no-binary :all: --no-build-isolation \
    -d "$environment" llama-cpp-python==0.3.36 2>"$environment/pip.log"; then
  "$python" llama_cpp_python.py "$archive" ../../models/pocket-3-i2s.gguf
  echo "-- perplexity beside llama-perplexity"
  if peer=$(./llama_perplexity.sh "$archive" "$environment/llama.cpp"); then
    "$python" perplexity_test.py "$build/apps/cli/bittern" "$peer"
  else
    echo "llama-perplexity: SKIPPED (it cannot be built: $environment/llama.cpp/log)"
  fi
else
  echo "llama-cpp-python: SKIPPED (its sources cannot be had: $environment/pip.log)"
fi
echo "-- huggingface_hub: one cache with \`bittern pull\`"
"$python" -W ignore hub_cache_test.py "$build/apps/cli/bittern" ../../models/kjv-5m-i2s.gguf
echo "-- multiple choice: 500 questions by the logits of the package"
questions=$environment/questions.jsonl
"$python" ../eval/questions.py make 500 "$questions"
"$build/apps/cli/bittern" eval -m ../../models/kjv-5m-i2s.gguf "$questions" --json --force \
  -o "$environment/answers.jsonl" >"$environment/summary.json"
"$python" ../eval/questions.py compare "$questions" "$environment/answers.jsonl" \
  "$environment/summary.json" ../../models/kjv-5m-i2s.gguf 500
echo "-- lm-evaluation-harness"
"$python" -W ignore lm_eval_test.py "$build/apps/cli/bittern"
echo "-- logits beside transformers (where it and torch are installed in $environment)"
"$python" -W ignore transformers_test.py "$build/apps/cli/bittern"
echo "-- pip: editable, and the whole build from a read-only source distribution"
"$python" ../../python/tests/test_pip.py "$build/apps/cli/bittern" Pip.test_editable
env -u BITTERN_LIBRARY -u PYTHONPATH "$python" ../../python/tests/test_pip.py \
  "$build/apps/cli/bittern" Pip
