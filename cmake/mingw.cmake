# SPDX-License-Identifier: Apache-2.0
# Cross-compiles for 64-bit Windows with Debian's g++-mingw-w64-x86-64-posix; wine runs the tests. Libraries come from
# the folder that tools/release_deps.sh fills.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../build/release-deps/x86_64-w64-mingw32 ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${prefix} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# Windows 8 is the oldest. The stack is aligned to 16 bytes here, and gcc does not align what it spills to 32 (its bug
# 54412): the assembler makes each move one that any address is good for, which costs nothing on a CPU with AVX.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wa,-muse-unaligned-vector-move>)
add_compile_definitions(_WIN32_WINNT=0x0602 UTF8PROC_STATIC)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES ${prefix}/include)
endforeach()
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
set(BITTERN_GOOGLETEST /usr/src/googletest CACHE PATH "Sources of GoogleTest, which tests link (Debian: googletest)")
