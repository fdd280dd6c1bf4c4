#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/rpm.sh VERSION TARBALL FOLDER   Packs bittern-linux-ARCH.tar.gz, as tools/release.sh makes it, into
# FOLDER/bittern-VERSION-1.ARCH.rpm, for any machine: with the pages, completions and terms of the tarball, and the unit
# of deploy/, which is not started by itself. It depends on nothing. Two calls give the same bytes: dates are
# SOURCE_DATE_EPOCH's. Needs rpmbuild (Debian: rpm). PAYLOAD is the compression, in rpm's words; xz without it.
set -euo pipefail

if [ $# -ne 3 ]; then
  sed -n '3,6s/^# //p' "$0" >&2
  exit 2
fi
version=$1 tarball=$2 out=$3
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
arch=$(basename "$tarball" .tar.gz)
arch=${arch##*-}
if [ ! -e "$tarball" ]; then
  echo "tools/rpm.sh: $tarball expected, which tools/release.sh makes; there is none" >&2
  exit 1
fi
case $arch in
  x86_64 | aarch64) ;;
  *)
    echo "tools/rpm.sh: bittern-linux-x86_64.tar.gz or bittern-linux-aarch64.tar.gz expected, $tarball found" >&2
    exit 2
    ;;
esac
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/tree/usr/lib/systemd/system" "$out"
tar xf "$tarball" -C "$work/tree/usr" --strip-components=1
sed 's|/usr/local/bin/bittern|/usr/bin/bittern|' "$top/deploy/bittern.service" > "$work/tree/usr/lib/systemd/system/bittern.service"
find "$work/tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

{
  cat <<SPEC
Name: bittern
Version: $version
Release: 1
Summary: Engine for ternary language models on CPUs
License: Apache-2.0 AND LicenseRef-WordNet-3.0
AutoReqProv: no

%description
Bittern loads, runs, serves, converts and checks models of BitNet b1.58
and its relatives, with the same answers on every CPU.

%install
cp -a "$work/tree/." "%{buildroot}"

%files
%defattr(-,root,root)
%dir /usr/share/doc/bittern
SPEC
  (cd "$work/tree" && find . -type f | sort | sed -e 's|^\.|"|' -e 's|$|"|' -e '/\/LICENSE"$/s/^/%license /')
} > "$work/bittern.spec"

# What a build for one machine would add is left out: its name, hashes of debug information, changes to the program.
LC_ALL=C rpmbuild -bb --target "$arch-linux" --define "_topdir $work/rpm" --define "_rpmdir $work/made" \
  --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" --define "_buildhost bittern" \
  --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" \
  --define "source_date_epoch_from_changelog 0" --define "debug_package %{nil}" --define "_build_id_links none" \
  --define "__os_install_post %{nil}" --define "_binary_payload ${PAYLOAD:-w6.xzdio}" --define "vendor %{nil}" \
  "$work/bittern.spec" > "$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
mv "$work/made/bittern-$version-1.$arch.rpm" "$out"
