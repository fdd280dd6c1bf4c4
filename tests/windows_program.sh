#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program for Windows as if it were one of this machine: windows_program.sh ARGUMENT... ; tests that want a path of
# a program take this one. $BITTERN_EXE names another bittern.exe.
WINEDEBUG=-all exec wine "${BITTERN_EXE:-$(dirname "$0")/../build/windows-program/bittern-windows-x86_64/bittern.exe}" "$@"
