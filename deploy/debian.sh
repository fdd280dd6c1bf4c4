#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sudo deploy/debian.sh [MODEL.gguf]   From a bare Debian 12 machine to a serving endpoint: packages, build, unit, key,
# start, a first answer. Run it in a checkout. A second run updates the program and keeps key and options.
set -euo pipefail

model=${1:-}
top=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" -ne 0 ]; then
  echo "please run as root: sudo $0 $*" >&2
  exit 1
fi
if [ -n "$model" ] && [ ! -f "$model" ]; then
  echo "$model: there is no such file" >&2
  exit 1
fi

cd "$top"
# shellcheck source=tools/packages.sh
. tools/packages.sh
mapfile -t missing < <(missing_packages "${BUILD_PACKAGES[@]}" curl)
if [ "${#missing[@]}" -gt 0 ]; then
  apt-get update
  apt-get install -y --no-install-recommends "${missing[@]}"
fi
cmake --preset release
cmake --build --preset release --target bittern
install -m 755 "$(find build/release -name bittern -type f -perm -u+x | head -1)" /usr/local/bin/bittern

install -d -m 755 /etc/bittern
if [ ! -s /etc/bittern/keys ]; then
  (umask 077 && head -c 24 /dev/urandom | base64 | tr -d '+/=' > /etc/bittern/keys)
fi
if [ -n "$model" ]; then
  install -d -m 755 /var/lib/models
  install -m 644 "$model" /var/lib/models/
  echo "BITTERN_OPTIONS=-m /var/lib/models/$(basename "$model")" > /etc/bittern/options
elif [ ! -f /etc/bittern/options ]; then
  echo "BITTERN_OPTIONS=" > /etc/bittern/options
fi
install -m 644 deploy/bittern.service /etc/systemd/system/bittern.service
systemctl daemon-reload
systemctl enable bittern
systemctl restart bittern

for _ in $(seq 300); do
  if curl -fsS http://127.0.0.1:8080/health > /dev/null 2>&1; then
    curl -sS http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $(head -1 /etc/bittern/keys)" \
      -d '{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}'
    echo
    echo "serving at http://127.0.0.1:8080; the key is in /etc/bittern/keys, options are in /etc/bittern/options"
    exit 0
  fi
  sleep 1
done
echo "the server does not get ready: journalctl -u bittern" >&2
exit 1
