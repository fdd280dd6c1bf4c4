#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified Python clients against `bittern serve`: run.sh BITTERN. They are installed into an
# environment in the build folder on first use; what cannot be installed is skipped, visibly.
set -u
[ $# -eq 1 ] || { echo "usage: $0 PATH_OF_BITTERN" >&2; exit 2; }
bittern=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")" || exit 2
# shellcheck source=tests/pypi_environment.sh
. ../pypi_environment.sh
environment=../../build/pypi-clients

why=$(pypi_environment "$environment") || { echo "Python clients: SKIPPED ($why)"; exit 0; }
exec "$environment/bin/python" -W ignore clients.py "$bittern"
