# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests that need packages for Python: pypi_environment FOLDER installs what
# requirements.txt of the current folder says into a virtual environment, once. Returns 1 and says
# why where that cannot be done.

pypi_environment() {
  python3 -c 'import venv, ensurepip' 2>/dev/null || { echo "no venv module"; return 1; }
  [ -e "$1/installed" ] && cmp -s requirements.txt "$1/installed" && return 0
  python3 -m venv --clear "$1" || { echo "no environment can be made"; return 1; }
  "$1/bin/pip" install -q --retries 1 -r requirements.txt 2>"$1/pip.log" ||
    { echo "the packages cannot be installed: $1/pip.log"; return 1; }
  cp requirements.txt "$1/installed"
}
