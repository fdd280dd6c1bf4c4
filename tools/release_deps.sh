#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/release_deps.sh [--without-tls] TARGET...   Makes what the downloadable programs are compiled with and link (release.sh):
#   build/zig/VERSION        zig's compiler, from PyPI, in a virtual environment of its own
#   build/zig/bin            TARGET-cc, TARGET-c++, TARGET-ar, TARGET-ranlib, which call it
#   build/release-deps/src   Debian's sources of OpenSSL, curl and utf8proc, with Debian's corrections
#   build/release-deps/TARGET   these as static libraries, and the headers of libraries that are headers alone
# TARGET is one of zig's (x86_64-linux-musl, aarch64-linux-musl, aarch64-macos.11.0, x86_64-macos.11.0), or
# x86_64-w64-mingw32: Windows, by Debian's g++-mingw-w64-x86-64-posix (cmake/mingw.cmake). A second call makes
# only what is missing. --without-tls makes neither OpenSSL nor curl, which tests do not need.
# Nothing here is part of the plain build: cmake/zig.cmake uses it.
set -euo pipefail

ZIG_VERSION=0.17.1

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
# shellcheck source=tools/packages.sh
source tools/packages.sh
root=$PWD/build/release-deps
zig=$PWD/build/zig
jobs=${JOBS:-$(nproc)}

make_zig() {
  [ -x "$zig/$ZIG_VERSION/bin/python" ] && [ -e "$zig/$ZIG_VERSION/complete" ] && return
  echo "zig $ZIG_VERSION"
  python3 -m venv "$zig/$ZIG_VERSION"
  "$zig/$ZIG_VERSION/bin/pip" install -q --disable-pip-version-check "ziglang==$ZIG_VERSION"
  touch "$zig/$ZIG_VERSION/complete"
}

# The programs of a tool chain, under the names that configure scripts look for. Code for every CPU of
# the kind (baseline); neither debug information nor traps of UBSan, which zig adds by itself. -march of
# isa.def is said as zig has it: armv8.2-a+dotprod is generic+v8_2a+dotprod.
make_wrappers() {
  local target=$1 tool file
  mkdir -p "$zig/bin"
  if [[ $target == *-mingw32 ]]; then
    ln -sf "$(command -v "$target-gcc-posix")" "$zig/bin/$target-cc"
    ln -sf "$(command -v "$target-g++-posix")" "$zig/bin/$target-c++"
    return
  fi
  for tool in cc c++ ar ranlib; do
    file=$zig/bin/$target-$tool
    {
      printf '#!/bin/bash\nexport ZIG_GLOBAL_CACHE_DIR=%q ZIG_LOCAL_CACHE_DIR=%q\n' "$zig/cache" "$zig/cache"
      printf 'zig=(%q/lib/python3*/site-packages/ziglang/zig)\n' "$zig/$ZIG_VERSION"
      case $tool in
        cc | c++) cat <<'WRAPPER' ;;
words=()
cpu=-mcpu=baseline
while [ $# -gt 0 ]; do
  case $1 in
    -march=armv8-a) ;;
    -march=armv8.2-a*) cpu=-mcpu=generic+v8_2a${1#-march=armv8.2-a} ;;
    -arch) shift ;;  # the target says it
    *) words+=("$1") ;;
  esac
  shift
done
WRAPPER
      esac
      case $tool in
        cc | c++)
          # shellcheck disable=SC2016  # text of the wrapper
          printf 'exec "${zig[0]}" %s -target %s "$cpu" -g0 -fno-sanitize=undefined "${words[@]}"\n' "$tool" "$target"
          ;;
        *)
          # shellcheck disable=SC2016
          printf 'exec "${zig[0]}" %s "$@"\n' "$tool"
          ;;
      esac
    } > "$file.new"
    chmod +x "$file.new"
    # A compiler cache knows a compiler by its time.
    if cmp -s "$file.new" "$file"; then rm "$file.new"; else mv "$file.new" "$file"; fi
  done
}

# Debian's sources, by lists of their own: the system's package manager does not learn of them.
make_sources() {
  [ -e "$root/src/complete" ] && return
  echo "sources of OpenSSL, curl, utf8proc"
  local release lists=$root/lists
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$root/src" "$lists"
  mkdir -p "$root/src" "$lists/partial"
  # shellcheck disable=SC2016  # apt's own words
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$release" '$3 == "main" && index($2, release) == 1 {
      print "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, "main" }' |
    sort -u > "$root/sources.list"
  local options=(-q -o "Dir::Etc::sourcelist=$root/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$lists" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  cd "$root/src"
  local name dsc
  for name in openssl curl utf8proc; do
    apt-get "${options[@]}" source --download-only "$name" && continue
    echo "$name: the newest sources, of $release's updates, cannot be had here; the release's own are taken" >&2
    rm -f "$name"_*
    apt-get "${options[@]}" source --download-only "$name/$release"
  done
  cd "$OLDPWD"
  for dsc in "$root"/src/*.dsc; do
    dpkg-source --no-check -x "$dsc" "$(sed -E 's/_[^_]*$//' <<< "$dsc")"
  done > "$root/src/log"
  touch "$root/src/complete"
}

# make_library NAME TARGET: builds in a copy of its sources, outside of which nothing of the path gets into the bytes.
# Its date is that of its sources, since a library outlives the commit that it was first made for.
make_library() {
  local name=$1 target=$2 SOURCE_DATE_EPOCH
  SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$root/src/$name/debian/changelog" -S Timestamp)
  export SOURCE_DATE_EPOCH
  local prefix=$root/$target recipe stamp
  recipe=$(declare -f make_wrappers make_library "make_$name" | sha256sum | cut -c1-16)
  stamp=$prefix/.$name-$ZIG_VERSION-$recipe
  [ -e "$stamp" ] && return
  echo "$name for $target"
  local work=$root/work/$target/$name
  rm -rf "$work" && mkdir -p "$root/work/$target"
  cp -a "$root/src/$name" "$work"
  local log=$root/work/$target/$name.log
  (cd "$work" && "make_$name" "$target" "$prefix") > "$log" 2>&1 &  # there `set -e` holds
  wait $! || { tail -n 30 "$log" >&2; echo "$name could not be made; the log: $log" >&2; return 1; }
  rm -rf "$work"
  rm -f "$prefix/.$name-"*
  touch "$stamp"
}

# TLS 1.2 and 1.3 and the hashes of downloads. No configuration file of the machine is read. The library tells
# its compiler's flags, so no folder may be among them; names of its files are relative.
make_openssl() {
  local target=$1 prefix=$2 kind
  case $target in
    x86_64-linux-*) kind=linux-x86_64 ;;
    aarch64-linux-*) kind=linux-aarch64 ;;
    x86_64-macos*) kind=darwin64-x86_64-cc ;;
    aarch64-macos*) kind=darwin64-arm64-cc ;;
    x86_64-w64-mingw32) kind=mingw64 ;;
  esac
  CC=cc ./Configure "$kind" --cross-compile-prefix="$target-" --prefix=/usr --libdir=lib --openssldir=/etc/ssl \
    no-shared no-tests no-legacy no-engine no-dso no-module no-async no-autoload-config no-comp no-cmp no-cms no-ts \
    no-ct no-srp no-psk no-dtls no-srtp no-nextprotoneg no-ssl3 no-tls1 no-tls1_1 no-gost no-idea no-seed no-camellia \
    no-aria no-bf no-cast no-rc2 no-rc4 no-md4 no-mdc2 no-whirlpool no-rmd160 no-sm2 no-sm3 no-sm4 no-siphash \
    no-blake2 no-scrypt no-rfc3779 no-afalgeng no-ui-console no-dsa no-ec2m no-ocb -O2
  make -j"$jobs" build_libs
  make DESTDIR="$PWD/root" RANLIB="$target-ranlib" install_dev  # without the options of Apple's
  mkdir -p "$prefix/include" "$prefix/lib"
  cp -a root/usr/include/openssl "$prefix/include/"
  cp -a root/usr/lib/lib*.a "$prefix/lib/"
}

# HTTP and HTTPS, through proxies too; nothing else. The caller names the file of certificates.
make_curl() {
  local target=$1 prefix=$2 tls="--with-openssl=$2 --without-ca-bundle --without-ca-path --disable-sspi" host=$1 flags=-O2
  case $target in
    *-linux-*) flags="-O2 -fPIC" ;;  # for libraries and addons; only some compilers do so by themselves
    *-mingw32) tls=--with-schannel ;;
    *-macos*)
      host=${target%%-*}-apple-darwin
      # A framework would be asked for proxies, only to wake the translation of addresses in networks of IPv6 alone.
      sed -i '/define CURL_OSX_CALL_COPYPROXIES/d' lib/curl_setup.h
      sed -i 's/-framework [A-Za-z]*//g' configure
      ;;
  esac
  # shellcheck disable=SC2086  # words
  CC=$target-cc AR=$target-ar RANLIB=$target-ranlib CFLAGS="$flags -ffile-prefix-map=$PWD=curl" \
    ./configure --host="$host" --prefix=/usr --disable-shared \
    --enable-static $tls --without-zlib --without-brotli \
    --without-zstd --without-libpsl --without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 \
    --without-libgsasl --without-ngtcp2 --enable-threaded-resolver --enable-ipv6 --enable-proxy \
    --disable-openssl-auto-load-config --disable-{dict,file,ftp,gopher,imap,ldap,ldaps,mqtt,pop3,rtsp,smb,smtp} \
    --disable-{telnet,tftp,manual,libcurl-option,unix-sockets,alt-svc,hsts,cookies,netrc,ntlm,tls-srp,mime} \
    --disable-{dateparse,doh,progress-meter,get-easy-options,dependency-tracking,ares,websockets}
  make -C lib -j"$jobs"
  mkdir -p "$prefix/include/curl" "$prefix/lib"
  cp -a include/curl/*.h "$prefix/include/curl/"
  cp -a lib/.libs/libcurl.a "$prefix/lib/"
}

make_utf8proc() {
  local target=$1 prefix=$2
  "$target-cc" -O2 -fPIC -DUTF8PROC_STATIC -c utf8proc.c -o utf8proc.o
  "$target-ar" rcs libutf8proc.a utf8proc.o
  mkdir -p "$prefix/include" "$prefix/lib"
  cp -a utf8proc.h "$prefix/include/"
  cp -a libutf8proc.a "$prefix/lib/"
}

# Libraries that are headers alone come from Debian's packages: links, since /usr/include itself has the C
# library of this machine. CMake gets a file for each that has no module of its own.
make_headers() {
  local prefix=$root/$1 name
  mkdir -p "$prefix/include"
  for name in boost CLI fmt nlohmann tl xxhash.h xxh3.h; do
    ln -sfn "/usr/include/$name" "$prefix/include/$name"
  done
  for name in fmt nlohmann_json CLI11; do
    mkdir -p "$prefix/lib/cmake/$name"
    : > "$prefix/lib/cmake/$name/${name}Config.cmake"
  done
  echo 'add_library(CLI11::CLI11 INTERFACE IMPORTED)' > "$prefix/lib/cmake/CLI11/CLI11Config.cmake"
}

libraries=(openssl curl utf8proc)
if [ "${1:-}" = --without-tls ]; then
  libraries=(utf8proc)
  shift
fi
if [ $# -eq 0 ]; then
  echo "usage: tools/release_deps.sh [--without-tls] TARGET..." >&2
  exit 2
fi
wanted=("${BUILD_PACKAGES[@]}" dpkg-dev make perl python3-venv)
[[ " $* " == *-mingw32* ]] && wanted+=(g++-mingw-w64-x86-64-posix)
mapfile -t missing < <(missing_packages "${wanted[@]}")
install_packages "${missing[@]}"
[[ " $* " == *-linux-* || " $* " == *-macos* ]] && make_zig
make_sources
{
  echo "zig $ZIG_VERSION"
  for name in openssl curl utf8proc; do
    echo "$name $(sed -n 's/^Version: //p' "$root/src/$name"_*.dsc | head -n 1)"
  done
} > "$root/versions"
export PATH=$zig/bin:$PATH
for target in "$@"; do
  make_wrappers "$target"
  for name in "${libraries[@]}"; do make_library "$name" "$target"; done
  make_headers "$target"
done
