#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified npm clients against `bittern serve`: run.sh BITTERN. Installs the packages on first use and when their list
# changes; what cannot be installed is skipped, visibly.
set -u
[ $# -eq 1 ] || { echo "usage: $0 PATH_OF_BITTERN" >&2; exit 2; }
bittern=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")" || exit 2

skip() {
  echo "$1: SKIPPED ($2)"
  exit 0
}

command -v node >/dev/null || skip "npm clients" "no node"
if ! cmp -s package.json node_modules/.installed; then  # other versions are pinned now
  command -v npm >/dev/null || skip "npm clients" "no npm"
  npm install --no-package-lock --ignore-scripts --legacy-peer-deps --no-audit --no-fund >/dev/null 2>&1 ||
    skip "npm clients" "the packages cannot be installed"
  cp package.json node_modules/.installed
fi
exec node clients.mjs "$bittern"
