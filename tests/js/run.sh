#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that use npm packages: run.sh BITTERN. Installs the packages on first use; where
# that is impossible (no npm, no network) the test is skipped, visibly, and counts as no failure.
set -u
[ $# -eq 1 ] || { echo "usage: $0 PATH_OF_BITTERN" >&2; exit 2; }
[ -x "$1" ] || { echo "$0: $1 is not a program; build it first" >&2; exit 2; }
bittern=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")" || exit 2

skip() {
  echo "llama3-tokenizer-js: SKIPPED ($1)"
  exit 0
}

command -v node >/dev/null || skip "no node"
if [ ! -d node_modules/llama3-tokenizer-js ]; then
  command -v npm >/dev/null || skip "no npm"
  npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 >/dev/null 2>npm-error.log || {
    reason=$(grep -m1 'npm error code' npm-error.log | sed 's/.*code //')
    rm -f npm-error.log
    rm -rf node_modules
    # A damaged package or lock file is a failure, not an absence.
    case "$reason" in
      E401|E403|E404|E5*|ENOTFOUND|EAI_AGAIN|ECONN*|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|"")
        skip "npm install failed: ${reason:-unknown reason}" ;;
      *) echo "llama3-tokenizer-js: npm install failed: $reason" >&2; exit 1 ;;
    esac
  }
  rm -f npm-error.log
fi
exec node llama3_tokenizer_test.mjs "$bittern"
