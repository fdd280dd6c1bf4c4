#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: arm64_root.sh FOLDER. Unpacks into FOLDER the arm64 libraries that the cross build links
# (cmake/aarch64.cmake), from Debian's archive. It keeps package lists of its own in FOLDER, so
# nothing is installed and the system's package manager does not learn of another architecture.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
packages=(libfmt-dev libfmt9 libutf8proc-dev libpcre2-dev libgtest-dev libgmock-dev)
[ -e "$folder/complete" ] && exit 0

mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
: >"$folder/apt/status"
options=(-q -o "APT::Architecture=arm64" -o "APT::Architectures=arm64"
  -o "Dir::State=$folder/apt" -o "Dir::State::status=$folder/apt/status"
  -o "Dir::Cache=$folder/apt/cache" -o "APT::Sandbox::User=root")
apt-get "${options[@]}" update
cd "$folder/apt"
apt-get "${options[@]}" download "${packages[@]}"
for file in ./*.deb; do dpkg-deb -x "$file" "$folder"; done
rm -r "$folder/apt"
touch "$folder/complete"
