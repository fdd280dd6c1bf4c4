#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `bittern serve` in headless Chromium: run.sh BITTERN [FOLDER_FOR_PICTURES]. Installs the packages on first
# use; what cannot be installed is skipped, visibly.
set -u
[ $# -ge 1 ] || { echo "usage: $0 PATH_OF_BITTERN [FOLDER_FOR_PICTURES]" >&2; exit 2; }
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
exec node --test --test-concurrency=1 ./*_test.mjs
