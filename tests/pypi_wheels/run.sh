#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wheels for Linux of tools/release.sh before auditwheel: run.sh FOLDER. auditwheel is installed
# into an environment in the build folder on first use; what cannot be installed is skipped, visibly.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FOLDER_OF_WHEELS" >&2; exit 2; }
dist=$(cd "$1" && pwd)
cd "$(dirname "$0")"
# shellcheck source=tests/pypi_environment.sh
. ../pypi_environment.sh
environment=$(cd ../.. && pwd)/build/pypi-wheels

why=$(pypi_environment "$environment") || { echo "wheels: SKIPPED ($why)"; exit 0; }
exec "$environment/bin/python" wheels.py "$dist"
