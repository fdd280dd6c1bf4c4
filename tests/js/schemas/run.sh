#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random schemas, texts that obey them by a random sampler, and ajv's judgement: run.sh GRAMMAR_WALK
# MODEL [SCHEMAS [SEED]]. Installs the packages on first use; where that is impossible it is skipped, visibly.
set -u
[ $# -ge 2 ] || { echo "usage: $0 GRAMMAR_WALK MODEL [SCHEMAS [SEED]]" >&2; exit 2; }
walk=$(realpath "$1")
model=$(realpath "$2")
cd "$(dirname "$0")" || exit 2

skip() {
  echo "ajv: SKIPPED ($1)"
  exit 0
}

command -v node >/dev/null || skip "no node"
if [ ! -d node_modules/ajv-draft-04 ]; then
  command -v npm >/dev/null || skip "no npm"
  npm ci --ignore-scripts --no-audit --no-fund >/dev/null 2>&1 || skip "the packages cannot be installed"
fi
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
python3 ../../grammar_oracle.py "$walk" "$model" "${3:-300}" "${4:-1}" "$lines"
code=$?
[ "$code" -ne 77 ] || skip "no python3-jsonschema"
[ "$code" -eq 0 ] || exit "$code"
node validate.mjs "$lines" https://json-schema.org/draft/2020-12
