#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/release.sh [FOLDER]   Makes what a release consists of (default: build/release-files):
#   bittern_*.deb, libbittern0.1_*.deb, libbittern-dev_*.deb
#   bittern-VERSION-linux-x86_64.tar.gz   one static program, manual pages, completions
#   bittern-VERSION.tgz   the npm package, where Node.js's headers and npm are there
#   certificate.txt   what the built-in model answers, by the program of the tarball
#   sbom.spdx.json    what is linked in, with versions
#   SHA256SUMS
# Two runs on one commit give the same bytes: dates are those of the commit.
set -euo pipefail

out=$(realpath -m "${1:-build/release-files}")
cd "$(dirname "$0")/.."
# shellcheck source=tools/packages.sh
source tools/packages.sh
mapfile -t missing < <(missing_packages "${BUILD_PACKAGES[@]}" dpkg-dev file python3)
install_packages "${missing[@]}"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)
fi
export SOURCE_DATE_EPOCH
umask 022
arch=$(uname -m)
# Names of folders are no part of the bytes.
flags="-ffile-prefix-map=$PWD=."
rm -rf "$out" build/package build/static
mkdir -p "$out"

configure() {  # FOLDER OPTION...
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBITTERN_TESTS=OFF \
    -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" \
    -DCMAKE_ASM_FLAGS="$flags" "$@" > "$folder.log"
}

mkdir -p build
echo "Debian packages"
configure build/package -DBITTERN_DEBIAN=ON -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
cmake --build build/package > build/package.log
(cd build/package && cpack -G DEB > ../package.log)
cp build/package/*.deb "$out"

echo "static program"
configure build/static -DBITTERN_STATIC=ON
cmake --build build/static --target bittern > build/static.log
version=$(build/static/apps/cli/bittern --version | cut -d' ' -f2)
name=bittern-$version-linux-$arch
DESTDIR=$PWD/build/static/root cmake --install build/static --component program --strip > build/static.log
mv build/static/root/usr "build/static/$name"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
  -C build/static -cf - "$name" | gzip -9n > "$out/$name.tar.gz"

if [ -d build/package/node/package ] && command -v npm > /dev/null; then
  echo "npm package"
  npm pack --silent --pack-destination "$out" ./build/package/node/package > build/npm.log
fi

program=build/static/$name/bin/bittern
"$program" certify > "$out/certificate.txt"
tools/sbom.py "$version" "$program" > "$out/sbom.spdx.json"
(cd "$out" && sha256sum -- * > SHA256SUMS)
echo "done: $out"
