#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which packages ./bittern and ./check need, by the names of several systems, and how they get installed: to be
# sourced, or run:
#   tools/packages.sh [build|check] [debian|fedora|arch|homebrew|alpine|vcpkg]
# prints the command that installs them; without a system, what this machine misses by its package manager.
# Nothing is downloaded but what the system's package manager offers. Runs under bash 3.2, which macOS has
# (tests/packaging/packages_test.py).

# A row: what it is for, and its name; "-" where the system has it anyway, or has it not.
# for Debian                  Fedora              Arch            Homebrew       Alpine            vcpkg
PACKAGES='
build g++                     gcc-c++             gcc             -              g++               -
build cmake                   cmake               cmake           cmake          cmake             -
build ninja-build             ninja-build         ninja           ninja          samurai           -
build ccache                  ccache              ccache          ccache         ccache            -
build libfmt-dev              fmt-devel           fmt             fmt            fmt-dev           fmt
build nlohmann-json3-dev      json-devel          nlohmann-json   nlohmann-json  nlohmann-json     nlohmann-json
build libcli11-dev            cli11-devel         cli11           cli11          cli11-dev         cli11
build libexpected-dev         expected-devel      tl-expected     tl-expected    tl-expected       tl-expected
build libutf8proc-dev         utf8proc-devel      libutf8proc     utf8proc       utf8proc-dev      utf8proc
build libxxhash-dev           xxhash-devel        xxhash          xxhash         xxhash-dev        xxhash
build libboost-dev            boost-devel         boost           boost          boost-dev         boost-asio
build libcurl4-openssl-dev    libcurl-devel       curl            curl           curl-dev          curl
build libssl-dev              openssl-devel       openssl         openssl@3      openssl-dev       openssl
check binutils                binutils            binutils        -              binutils          -
check clang-format-19         clang-tools-extra   clang           clang-format   clang-extra-tools -
check libgtest-dev            gtest-devel         gtest           googletest     gtest-dev         gtest
check libgmock-dev            gmock-devel         gtest           googletest     gtest-dev         gtest
check libpcre2-dev            pcre2-devel         pcre2           pcre2          pcre2-dev         pcre2
check curl                    curl                curl            -              curl              -
check openssl                 openssl             openssl         openssl@3      openssl           -
check pkg-config              pkgconf-pkg-config  pkgconf         pkgconf        pkgconf           -
check python3                 python3             python          python         python3           -
check python3-jsonschema      python3-jsonschema  python-jsonschema -            py3-jsonschema    -
check python3-numpy           python3-numpy       python-numpy    numpy          py3-numpy         -
check tmux                    tmux                tmux            tmux           tmux              -
'

# column_of SYSTEM WHICH WORD...: that system's names, each once, one a line, of the rows whose column WHICH (1: what
# for, 2: Debian's name) is one of the words.
column_of() {
  local system=$1 which=$2 column
  shift 2
  case $system in
    debian) column=2 ;;
    fedora) column=3 ;;
    arch) column=4 ;;
    homebrew) column=5 ;;
    alpine) column=6 ;;
    vcpkg) column=7 ;;
    *) return 1 ;;
  esac
  printf '%s\n' "$PACKAGES" | awk -v words=" $* " -v which="$which" -v column="$column" \
    'NF && index(words, " " $which " ") && $column != "-" && !seen[$column]++ { print $column }'
}

# Programs of a build. CXX may have words after the program.
compiler=${CXX:-c++}
# shellcheck disable=SC2034
BUILD_TOOLS="${compiler%% *} cmake ninja"

# Names have no spaces.
# shellcheck disable=SC2034,SC2207  # used by the scripts that source this
BUILD_PACKAGES=($(column_of debian 1 build))
# shellcheck disable=SC2207
CHECK_PACKAGES=($(column_of debian 1 build check))
# The npm package's tests; where node came from elsewhere it stays, with the headers beside it.
if ! command -v node >/dev/null; then
  CHECK_PACKAGES+=(nodejs libnode-dev)
elif [ ! -e "$(dirname "$(command -v node)")/../include/node/node_api.h" ]; then
  CHECK_PACKAGES+=(libnode-dev)
fi
# shellcheck disable=SC2034
CHECK_ALL_PACKAGES=("${CHECK_PACKAGES[@]}" clang-19 libclang-rt-19-dev shellcheck universal-ctags
  libsentencepiece-dev python3-torch libopenblas0-pthread)
# tests/serve_clock_test.py, tests/packaging.
CHECK_ALL_PACKAGES+=(libfaketime rpm python3-yaml)
# tests/js/page; another browser is not looked for.
CHECK_ALL_PACKAGES+=(chromium)
# tests/js; where node came from elsewhere it stays.
command -v npm >/dev/null || CHECK_ALL_PACKAGES+=(nodejs npm)

# Cross compiler and emulators of the part of ./check deep that is skipped without them.
# shellcheck disable=SC2034
OTHER_CPU_PACKAGES=(g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)

# The system of this machine by its package manager; nothing where there is none that we know.
package_system() {
  if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then echo debian
  elif command -v dnf >/dev/null; then echo fedora
  elif command -v pacman >/dev/null; then echo arch
  elif command -v apk >/dev/null; then echo alpine
  elif command -v brew >/dev/null; then echo homebrew
  fi
}

# is_installed SYSTEM NAME, by that system's name.
is_installed() {
  case $1 in
    debian) dpkg-query -W -f '${db:Status-Abbrev}' "$2" 2>/dev/null | grep -q '^ii' ;;
    fedora) rpm -q --whatprovides "$2" >/dev/null 2>&1 ;;
    arch) pacman -T "$2" >/dev/null 2>&1 ;;
    alpine) apk info -e "$2" >/dev/null 2>&1 ;;
    homebrew) brew list --versions "$2" >/dev/null 2>&1 ;;
  esac
}

# missing_packages NAME... (Debian's names) -> those that are not installed, one per line. Elsewhere only the table's
# are known; nothing where there is no package manager that we know (the build then says what it lacks).
missing_packages() {
  local system package name
  system=$(package_system)
  [ -n "$system" ] || return 0
  for package in "$@"; do
    name=$package
    [ "$system" = debian ] || name=$(column_of "$system" 2 "$package")
    [ -z "$name" ] || is_installed "$system" "$name" || printf '%s\n' "$package"
  done
}

# has_tool NAME: it is on the PATH. On macOS compilers are there always, as programs that ask for Xcode's tools.
has_tool() {
  command -v "$1" >/dev/null || return 1
  if [ "$1" = c++ ] && command -v xcode-select >/dev/null; then xcode-select -p >/dev/null 2>&1; fi
}

# missing_tools NAME... -> the programs that are not there, one per line.
missing_tools() {
  local tool
  for tool in "$@"; do has_tool "$tool" || printf '%s\n' "$tool"; done
}

# install_command SYSTEM NAME... (the system's names) -> the command that installs them there.
install_command() {
  local system=$1 root=''
  shift
  [ "$(id -u)" -eq 0 ] || root='sudo '
  case $system in
    debian) echo "${root}apt-get install $*" ;;
    fedora) echo "${root}dnf install $*" ;;
    arch) echo "${root}pacman -S --needed $*" ;;
    alpine) echo "${root}apk add $*" ;;
    homebrew)
      # Apple's compiler is no package of Homebrew's.
      if has_tool c++; then echo "brew install $*"; else echo "xcode-select --install && brew install $*"; fi
      ;;
    vcpkg) echo "vcpkg install $*" ;;
  esac
}

# way_out NAME... (Debian's names): a sentence with the command that installs them here.
way_out() {
  local system
  system=$(package_system)
  if [ -z "$system" ]; then
    echo "Here is no package manager that is known; by Debian's names the packages are: $*"
  elif [ "$system" = debian ]; then
    echo "This installs them: $(install_command debian "$@")"
  else
    # shellcheck disable=SC2046  # names have no spaces
    echo "This installs them: $(install_command "$system" $(column_of "$system" 2 "$@"))"
  fi
}

# without_unknown_format NAME...: the names but clang-format-19 where the lists of packages are here and lack it, as
# Ubuntu's of 22.04 do; the check of the format says that it is skipped.
without_unknown_format() {
  local name
  for name in "$@"; do
    if [ "$name" = clang-format-19 ] && apt-cache show ccache > /dev/null 2>&1 &&
      ! apt-cache show clang-format-19 > /dev/null 2>&1; then
      continue
    fi
    printf '%s\n' "$name"
  done
}

# install_packages NAME... installs them with apt-get, through sudo where we are not root.
install_packages() {
  # shellcheck disable=SC2046  # names have no spaces
  set -- $(without_unknown_format "$@")
  [ $# -gt 0 ] || return 0
  local as_root=env
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Please install as root: apt-get install $*" >&2
      return 1
    fi
    as_root='sudo env'
  fi
  # shellcheck disable=SC2046,SC2086  # as_root is two words, names have no spaces
  $as_root apt-get update -q &&
    $as_root DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(without_unknown_format "$@")
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

# have_packages PROGRAM LOG TOOLS NAME...: on Debian installs what is missing of these packages (needs progress.sh).
# Elsewhere nothing is installed: fails with the command that would where one of TOOLS (words of one text) is missing,
# else goes on, since libraries may have come by another way.
have_packages() {
  local program=$1 log=$2 tools=$3 missing lacking
  shift 3
  missing=$(missing_packages "$@")
  if [ -n "$missing" ] && [ "$(package_system)" = debian ]; then
    # shellcheck disable=SC2086  # names have no spaces
    install_shown "$program" "$log" $missing || return 1
  fi
  # shellcheck disable=SC2086
  lacking=$(missing_tools $tools | paste -s -d ' ' -)
  [ -n "$lacking" ] || return 0
  # shellcheck disable=SC2086
  if [ -n "$missing" ]; then set -- $missing; fi
  echo "$program: not found: $lacking. $(way_out "$@")" >&2
  return 1
}

# Homebrew keeps its OpenSSL where nothing finds it.
name_places() {
  if [ -z "${OPENSSL_ROOT_DIR:-}" ] && [ "$(package_system)" = homebrew ]; then
    OPENSSL_ROOT_DIR=$(brew --prefix openssl@3 2>/dev/null) && export OPENSSL_ROOT_DIR
  fi
  return 0
}

print_command() {
  local use=${1:-build} system=${2:-} names
  case $use in
    build) set -- build ;;
    check) set -- build check ;;
    *)
      echo "usage: tools/packages.sh [build|check] [debian|fedora|arch|homebrew|alpine|vcpkg]" >&2
      return 2
      ;;
  esac
  # shellcheck disable=SC2046,SC2086  # names have no spaces
  if [ -z "$system" ]; then
    names=$(missing_packages $(column_of debian 1 "$@"))
    if [ -z "$names" ]; then echo "No package is missing, as far as is known."; else way_out $names; fi
  else
    if ! names=$(column_of "$system" 1 "$@"); then
      echo "tools/packages.sh: debian, fedora, arch, homebrew, alpine or vcpkg expected, \"$system\" found" >&2
      return 2
    fi
    install_command "$system" $names
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then print_command "$@"; fi
