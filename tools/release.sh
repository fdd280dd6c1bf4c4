#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/release.sh            makes all artefacts of a release, in dist/
# tools/release.sh NAME...    makes these
# tools/release.sh --list     names them, one a line
# Two runs on one commit give the same bytes: dates are those of the commit, and no name of a folder gets in.
# Programs, wheels and addons that people download come from zig's compiler (release_deps.sh, cmake/zig.cmake), for
# Windows from Debian's mingw; Debian packages from this machine's.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
# shellcheck source=tools/packages.sh
source tools/packages.sh
version=$(sed -nE 's/^project\(bittern VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
debian_arch=$(dpkg --print-architecture 2>/dev/null || uname -m)
build=$PWD/build/release-build
dist=$PWD/dist

# A row: the artefact, and the function with its arguments that makes it. The last four say what the others hold.
ROWS=(
  "bittern-linux-x86_64.tar.gz  zig_program x86_64-linux-musl"
  "bittern-linux-aarch64.tar.gz zig_program aarch64-linux-musl"
  "bittern-macos-universal.tar.gz macos_program"
  "bittern-windows-x86_64.zip windows_program"
  "bittern-$version-1.x86_64.rpm rpm_package bittern-linux-x86_64.tar.gz"
  "bittern-$version-1.aarch64.rpm rpm_package bittern-linux-aarch64.tar.gz"
  "bittern_${version}_$debian_arch.deb debian_package"
  "libbittern0.1_${version}_$debian_arch.deb debian_package"
  "libbittern-dev_${version}_$debian_arch.deb debian_package"
  "bittern-$version.tgz npm_package"
  "bittern-$version-py3-none-manylinux2014_x86_64.whl wheel x86_64-linux-gnu.2.17"
  "bittern-$version-py3-none-manylinux2014_aarch64.whl wheel aarch64-linux-gnu.2.17"
  "bittern-$version-py3-none-musllinux_1_1_x86_64.whl wheel x86_64-linux-musl"
  "bittern-$version-py3-none-musllinux_1_1_aarch64.whl wheel aarch64-linux-musl"
  "bittern-$version-py3-none-macosx_11_0_arm64.whl wheel aarch64-macos.11.0"
  "bittern-$version-py3-none-macosx_11_0_x86_64.whl wheel x86_64-macos.11.0"
  "bittern-$version-py3-none-win_amd64.whl wheel x86_64-w64-mingw32"
  "certificate.txt certificate"
  "sbom.spdx.json materials"
  "SHA256SUMS checksums"
  "manifests package_managers"
)

# configure FOLDER OPTION...: a release build in that folder; nothing of its path gets into the bytes.
configure() {
  local folder=$1 flags="-ffile-prefix-map=$PWD=."
  shift
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBITTERN_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_ASM_FLAGS="$flags" "$@" > "$folder.log"
}

# pack NAME: dist/NAME from the folder of that name without endings, below $build.
pack() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=ustar \
    -C "$build" -c "${1%.tar.gz}" | gzip -9n > "$dist/$1"
}

# cross_build TARGET PART: the program (bittern), the library (bittern_shared) or the addon (bittern_node) with all that
# it needs inside, in $build/TARGET.
cross_build() {
  local target=$1 part=$2 folder=$build/$1 node=OFF options=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/zig.cmake" -DBITTERN_TARGET="$1")
  [[ $target == *-mingw32 ]] && options=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/mingw.cmake")
  [[ $part == bittern_node ]] && node=ON
  tools/release_deps.sh "$target"
  configure "$folder" "${options[@]}" -DBITTERN_HUB_LINKED=ON -DBITTERN_NODE=$node
  cmake --build "$folder" --target "$part" -j "$jobs" > "$folder.log"
  # zig's linker signs for Apple's processors alone.
  if [[ $target == x86_64-macos* ]]; then python3 tools/sign_macos.py "$(built "$target" "$part")"; fi
}

# built TARGET PART: the file that cross_build has made.
built() {
  case $2 in
    bittern) echo "$build/$1/apps/cli/bittern" ;;
    bittern_node) echo "$build/$1/node/bittern.node" ;;
    bittern_shared) find "$build/$1/src/capi" -name 'libbittern.so.*.*.*' -o -name 'libbittern.*.*.*.dylib' -o -name bittern.dll ;;
  esac
}

# One program that needs no library of the system, with downloads and HTTPS, its pages and completions.
zig_program() {
  local name=$1 target=$2 folder=$build/$2 root
  cross_build "$target" bittern
  root=$build/${name%.tar.gz}
  rm -rf "$root" "$folder/root"
  DESTDIR=$folder/root cmake --install "$folder" --component program --strip > "$folder.log"
  mv "$folder/root/usr" "$root"
  pack "$name"
}

# own_program NAME: the program for this machine, which NAME needs; below $build.
own_program() {
  local package
  package=bittern-linux-$(uname -m)
  if [ ! -x "$build/$package/bin/bittern" ]; then
    echo "$1: $package.tar.gz expected, which makes its program; call tools/release.sh $package.tar.gz $1" >&2
    return 1
  fi
  echo "$package"
}

# One program for both kinds of Mac, from macOS 11. This machine cannot run it: the pages beside it, which are the same
# for every system, come from its own.
macos_program() {
  local name=$1 root=$build/${1%.tar.gz} own target
  local targets=(aarch64-macos.11.0 x86_64-macos.11.0) programs=()
  own=$(own_program "$name")
  for target in "${targets[@]}"; do
    cross_build "$target" bittern
    programs+=("$(built "$target" bittern)")
  done
  rm -rf "$root"
  cp -a "$build/$own" "$root"
  python3 tools/universal.py "${programs[@]}" "$root/bin/bittern"
  python3 tools/notices.py macos > "$root/share/doc/bittern/NOTICES"
  pack "$name"
}

# One bittern.exe, which needs Windows 8 or later and nothing else. A zip keeps times of two seconds.
windows_program() {
  local name=$1 target=x86_64-w64-mingw32 root
  local folder=$build/$target
  cross_build "$target" bittern
  root=$build/${name%.zip}
  rm -rf "$root" && mkdir "$root"
  cp LICENSE README.md "$root"
  python3 tools/notices.py windows > "$root/NOTICES"
  "$target-strip" -o "$root/bittern.exe" "$folder/apps/cli/bittern.exe"
  python3 tools/zip_folder.py "$root" "$dist/$name"
}

# build_for_packages TARGET: by this machine's compiler, in $build/package.
build_for_packages() {
  local folder=$build/package
  configure "$folder" -DBITTERN_DEBIAN=ON -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
  cmake --build "$folder" -j "$jobs" --target "$1" > "$folder.log"
}

# All packages are made at once and taken one by one.
debian_package() {
  local folder=$build/package
  if [ ! "$folder/$1" -nt "$started" ]; then
    build_for_packages all
    (cd "$folder" && rm -f ./*.deb && cpack -G DEB > ../package.log)
  fi
  cp "$folder/$1" "$dist"
}

rpm_package() {
  tools/rpm.sh "$version" "$dist/$2" "$dist"
}

# One npm package with the addons for these machines, by the names of tools/npm_package.py.
ADDONS=(linux-x64=x86_64-linux-gnu.2.17 linux-arm64=aarch64-linux-gnu.2.17 linux-x64-musl=x86_64-linux-musl
  linux-arm64-musl=aarch64-linux-musl darwin-x64=x86_64-macos.11.0 darwin-arm64=aarch64-macos.11.0
  win32-x64=x86_64-w64-mingw32)

npm_package() {
  local row target addon addons=() package=$build/npm
  build_for_packages node_scripts
  for row in "${ADDONS[@]}"; do
    target=${row#*=}
    cross_build "$target" bittern_node
    addon=$(built "$target" bittern_node)
    if [[ $target == *-mingw32 ]]; then
      "$target-strip" -o "$build/bittern.node" "$addon"
      addon=$build/bittern.node
    fi
    addons+=("${row%%=*}=$addon")
  done
  python3 tools/npm_package.py "$build/package/node/package" "$package" "${addons[@]}"
  npm pack --silent --pack-destination "$dist" "$package" > "$package.log"
}

# The Python package with the library for that target.
wheel() {
  local name=$1 target=$2 library platform
  cross_build "$target" bittern_shared
  library=$(built "$target" bittern_shared)
  if [[ $target == *-mingw32 ]]; then
    "$target-strip" -o "$build/bittern.dll" "$library"
    library=$build/bittern.dll
  fi
  platform=${name##*-}
  tools/wheel.py "$library" "${platform%.whl}" "$dist"
}

# What the built-in model answers, by this machine's program.
certificate() {
  local own
  own=$(own_program "$1")
  "$build/$own/bin/bittern" certify > "$dist/$1"
}

# Files of dist/ that are programs or packages.
made() {
  (cd "$dist" && find . -maxdepth 1 \( -name '*.tar.gz' -o -name '*.zip' -o -name '*.deb' -o -name '*.rpm' -o -name '*.tgz' -o -name '*.whl' \) -printf '%f\n' | sort)
}

materials() {
  local names
  mapfile -t names < <(made)
  (cd "$dist" && ../tools/sbom.py "$version" "${names[@]}") > "$dist/$1"
}

checksums() {
  local names
  mapfile -t names < <(cd "$dist" && find . -maxdepth 1 -type f ! -name "$1" -printf '%f\n' | sort)
  (cd "$dist" && sha256sum -- "${names[@]}") > "$dist/$1"
}

# What Homebrew, Scoop and winget want to know; BITTERN_RELEASES is where the files will lie.
package_managers() {
  rm -rf "${dist:?}/$1"
  python3 tools/manifests.py "$version" "$dist" "$dist/$1" ${BITTERN_RELEASES:+"$BITTERN_RELEASES"}
}

# What this machine lacks for an artefact; nothing where it can be made.
lacks() {
  local bin
  bin=$(dirname "$(command -v node || echo /usr/bin/node)")
  case $1 in
    *.deb) command -v dpkg-deb > /dev/null || echo "dpkg" ;;
    *.rpm) command -v rpmbuild > /dev/null || echo "rpmbuild" ;;
    *.tgz)
      command -v npm > /dev/null || echo "npm"
      [ -e "$bin/../include/node/node_api.h" ] || [ -e "$bin/../include/nodejs/src/node_api.h" ] || echo "Node.js's headers"
      ;;
  esac
}

names=()
for row in "${ROWS[@]}"; do names+=("${row%% *}"); done
if [ "${1:-}" = --list ]; then
  printf '%s\n' "${names[@]}"
  exit
fi
wanted=("$@")
[ $# -gt 0 ] || wanted=("${names[@]}")
for name in "${wanted[@]}"; do
  printf '%s\n' "${names[@]}" | grep -qxF -- "$name" && continue
  echo "tools/release.sh: an artefact of --list expected, \"$name\" found" >&2
  exit 2
done

mapfile -t missing < <(missing_packages "${BUILD_PACKAGES[@]}" dpkg-dev file python3)
install_packages "${missing[@]}"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)
fi
export SOURCE_DATE_EPOCH
umask 022
jobs=${JOBS:-$(nproc)}
export JOBS=$jobs
mkdir -p "$dist" "$build"
started=$build/started
touch "$started"
# failed: which artefact was not made, and the end of what its tool said.
failed() {
  local log
  log=$(find "$build" -maxdepth 1 -name '*.log' -newer "$started" -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
  echo "tools/release.sh: $name was not made${log:+; $log ends with}" >&2
  if [ -n "$log" ]; then tail -n 20 "$log" >&2; fi
}
set -o errtrace
trap 'trap - ERR; failed' ERR
for row in "${ROWS[@]}"; do
  read -r name make arguments <<< "$row"
  printf '%s\n' "${wanted[@]}" | grep -qxF -- "$name" || continue
  lacking=$(lacks "$name" | paste -sd, | sed 's/,/, /g')
  if [ -n "$lacking" ] && [ $# -eq 0 ]; then
    echo "$name: not made, $lacking is not here"
    continue
  fi
  echo "$name"
  # shellcheck disable=SC2086  # words of the row
  "$make" "$name" $arguments
done
echo "done: $dist"
