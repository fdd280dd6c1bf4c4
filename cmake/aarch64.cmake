# SPDX-License-Identifier: Apache-2.0
# Cross-compiles for 64-bit ARM Linux with Debian's g++-aarch64-linux-gnu and runs the tests under
# qemu-user. Libraries come from a folder that tools/arm64_root.sh fills, so that nothing foreign
# is installed on the machine; header-only ones are those of the host.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
get_filename_component(bittern_arm64_root ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${bittern_arm64_root})
set(CMAKE_EXE_LINKER_FLAGS_INIT -L${bittern_arm64_root}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
