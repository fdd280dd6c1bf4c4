#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified Python clients against `bittern serve`: run.sh BITTERN. They are installed into an
# environment in the build folder on first use; what cannot be installed is skipped, visibly.
set -u
[ $# -eq 1 ] || { echo "usage: $0 PATH_OF_BITTERN" >&2; exit 2; }
bittern=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")" || exit 2
environment=../../build/pypi-clients

skip() {
  echo "Python clients: SKIPPED ($1)"
  exit 0
}

python3 -c 'import venv, ensurepip' 2>/dev/null || skip "no venv module"
if [ ! -e "$environment/installed" ] || ! cmp -s requirements.txt "$environment/installed"; then
  python3 -m venv --clear "$environment" || skip "no environment can be made"
  "$environment/bin/pip" install -q --retries 1 -r requirements.txt 2>"$environment/pip.log" ||
    skip "the packages cannot be installed: $environment/pip.log"
  cp requirements.txt "$environment/installed"
fi
exec "$environment/bin/python" -W ignore clients.py "$bittern"
