# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by ./bittern and ./check: which Debian packages each needs and how they get installed.
# Nothing is downloaded but what the system's package manager offers.

# shellcheck disable=SC2034  # used by the scripts that source this
BUILD_PACKAGES=(g++ cmake ninja-build ccache libfmt-dev nlohmann-json3-dev libcli11-dev
  libexpected-dev libutf8proc-dev libxxhash-dev libboost-dev libcurl4-openssl-dev libssl-dev)
CHECK_PACKAGES=("${BUILD_PACKAGES[@]}" binutils clang-format-19 libgtest-dev libgmock-dev libpcre2-dev
  curl openssl pkg-config python3 python3-jsonschema python3-numpy tmux)
# The npm package's tests; where node came from elsewhere it stays, with the headers beside it.
if ! command -v node >/dev/null; then
  CHECK_PACKAGES+=(nodejs libnode-dev)
elif [ ! -e "$(dirname "$(command -v node)")/../include/node/node_api.h" ]; then
  CHECK_PACKAGES+=(libnode-dev)
fi
# shellcheck disable=SC2034
CHECK_ALL_PACKAGES=("${CHECK_PACKAGES[@]}" clang-19 libclang-rt-19-dev shellcheck universal-ctags
  libsentencepiece-dev python3-torch libopenblas0-pthread)
# tests/serve_clock_test.py.
CHECK_ALL_PACKAGES+=(libfaketime)
# tests/js/page; another browser is not looked for.
CHECK_ALL_PACKAGES+=(chromium)
# tests/js; where node came from elsewhere it stays.
command -v npm >/dev/null || CHECK_ALL_PACKAGES+=(nodejs npm)

# Cross compiler and emulators of the part of ./check deep that is skipped without them.
# shellcheck disable=SC2034
OTHER_CPU_PACKAGES=(g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)

# missing_packages NAME... -> those that are not installed, one per line; nothing where the
# system is not Debian (the build then says what it lacks).
missing_packages() {
  command -v dpkg-query >/dev/null || return 0
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
      printf '%s\n' "$package"
  done
}

# missing_tools NAME... -> the programs that are not on the PATH, one per line.
missing_tools() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || printf '%s\n' "$tool"
  done
}

# install_packages NAME... installs them with apt-get, through sudo where we are not root.
install_packages() {
  [ $# -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Please install as root: apt-get install $*" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
      --no-install-recommends "$@"
}

# install_shown PROGRAM LOG NAME...: install_packages with a sign of life; where it fails, says what
# to do (needs progress.sh).
install_shown() {
  local program=$1 log=$2
  shift 2
  echo "$program: installing packages that are missing: $*" >&2
  run_shown "$program: installing $# packages" "$log" install_packages "$@" && return
  grep -hE '^(E:|Please)' "$log" | sort -u | tail -n 3 >&2
  if ! grep -q '^Please' "$log"; then
    echo "$program: the packages above cannot be had (log: $log). Is there a network, and a source of packages in /etc/apt?" >&2
    echo "Elsewhere: apt-get install $*" >&2
  fi
  return 1
}
