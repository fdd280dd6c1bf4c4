#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `bittern serve` in headless Chromium: run.sh [--few] BITTERN [FOLDER_FOR_PICTURES]. --few: one test of each
# thing that people do all the time. Installs the packages on first use; what cannot be installed is skipped, visibly.
set -u
# Each line begins the names of tests: ask, reload in an answer, edit and cancel, two tabs, choose a model.
FEW='ask, verify
a question is kept as it is sent
an edit is cancelled
two tabs do not overwrite
several models:'
few=
[ "${1:-}" != --few ] || { few=1; shift; }
[ $# -ge 1 ] || { echo "usage: $0 [--few] PATH_OF_BITTERN [FOLDER_FOR_PICTURES]" >&2; exit 2; }
BITTERN=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
PICTURES=${2:-}
[ -z "$PICTURES" ] || PICTURES=$(mkdir -p "$PICTURES" && cd "$PICTURES" && pwd)
export BITTERN PICTURES
cd "$(dirname "$0")" || exit 2

skip() {
  echo "the page: SKIPPED ($1)"
  exit 0
}

command -v node >/dev/null || skip "no node"
[ -x /usr/bin/chromium ] || skip "no chromium"
if [ ! -d node_modules/axe-core ]; then
  command -v npm >/dev/null || skip "no npm"
  npm install --no-package-lock --ignore-scripts --no-audit --no-fund >/dev/null 2>&1 ||
    skip "the packages cannot be installed"
fi
[ -n "$few" ] || exec node --test --test-concurrency=1 ./*_test.mjs

# A name that no test has any more must not pass: as many tests as names.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
node --test --test-concurrency=1 --test-reporter=tap --test-name-pattern="^($(printf %s "$FEW" | tr '\n' '|'))" \
  talk_test.mjs conversations_test.mjs > "$out" 2>&1 || { cat "$out"; exit 1; }
ran=$(grep -E '^ *ok .* - ' "$out" | grep -vcE '# SKIP|_test\.mjs$')
wanted=$(printf '%s\n' "$FEW" | wc -l)
grep -E '^ *ok .* - ' "$out" | grep -vE '# SKIP|_test\.mjs$'
[ "$ran" -eq "$wanted" ] || { echo "the page: $wanted tests expected, $ran ran" >&2; exit 1; }
