#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of the npm package: run.sh BITTERN PACKAGE_FOLDER [TEST_FILE...]. An empty folder's name:
# the addon was not built. Ends with 77 where nothing can be tested.
set -u
[ $# -ge 2 ] || { echo "usage: $0 BITTERN PACKAGE_FOLDER [TEST_FILE...]" >&2; exit 2; }
program=$(realpath "$1")
package=${2:+$(realpath "$2")}
shift 2
cd "$(dirname "$0")" || exit 2

skip() {
  echo "node_binding: SKIPPED ($1)"
  exit 77
}

command -v node >/dev/null || skip "no node"
[ -n "$package" ] || skip "the addon is not built: Node.js's headers were not found, or BITTERN_NODE is off"
node -e 'process.exit(Number(process.versions.napi) >= 8 ? 0 : 1)' || skip "node is older than N-API 8"
if [ $# -eq 0 ]; then set -- ./*.test.mjs; fi
export BITTERN_PROGRAM="$program" BITTERN_PACKAGE="$package"
exec node --test "$@"
