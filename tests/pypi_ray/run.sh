#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bittern.ray on clusters of Ray on this machine: run.sh BUILD_FOLDER. Ray is installed into an
# environment in the build folder on first use; what cannot be installed is skipped, visibly.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 BUILD_FOLDER" >&2; exit 2; }
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
# shellcheck source=tests/pypi_environment.sh
. ../pypi_environment.sh
environment=$(cd ../.. && pwd)/build/pypi-ray

why=$(pypi_environment "$environment") || { echo "Ray: SKIPPED ($why)"; exit 0; }
BITTERN_LIBRARY=$build/src/capi/libbittern.so
PYTHONPATH=$(cd ../../python && pwd)
export BITTERN_LIBRARY PYTHONPATH
exec "$environment/bin/python" -W ignore ../../python/tests/ray_test.py "$build/apps/cli/bittern" \
  ../../models/kjv-5m-i2s.gguf
