#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: no_weak_symbols.sh a.o b.o ...  Fails if an ISA object exports a weak symbol.
symbols=$(nm "$@") || exit 1
printf '%s\n' "$symbols" | grep -q ' [TRDr] ' || { echo "no symbols seen"; exit 1; }
! printf '%s\n' "$symbols" | grep -E ' [WVu] '
