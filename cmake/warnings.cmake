# SPDX-License-Identifier: Apache-2.0
# Flags of all our code. Exactness first: the compiler may neither fuse nor reorder floating point
# (docs/design/0001-numerics.md); -fno-math-errno only lets sqrt be one instruction.
add_compile_options(-ffp-contract=off -fno-math-errno
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND NOT CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  add_compile_options(-fsigned-char)  # as on x86-64 and on Macs
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # BITTERN_TRY is a statement expression, which gcc accepts under __extension__.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-Wgnu-statement-expression-from-macro-expansion HAVE_WARNING_OF_EXPRESSIONS_FROM_MACROS)
  if(HAVE_WARNING_OF_EXPRESSIONS_FROM_MACROS)
    add_compile_options(-Wno-gnu-statement-expression-from-macro-expansion)
  else()
    add_compile_options(-Wno-gnu-statement-expression)  # clang 14
  endif()
  add_compile_options(-Wno-deprecated-declarations)  # libstdc++ 12 sorts by what it calls deprecated itself
endif()
if(BITTERN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A type of a .cpp file may have members of its anonymous namespace, also where it is included.
  add_compile_options(-Wno-subobject-linkage)
endif()
if(BITTERN_WERROR)
  add_compile_options(-Werror)
endif()
if(BITTERN_SANITIZE)
  add_compile_options(-fsanitize=${BITTERN_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 sees uninitialised values in instrumented std::variant and std::optional.
    add_compile_options(-Wno-maybe-uninitialized -Wno-free-nonheap-object)
  endif()
  add_link_options(-fsanitize=${BITTERN_SANITIZE})
endif()
if(BITTERN_DEBIAN)
  # Debian's hardening: calls of libc that know their buffers check them, and what the loader has
  # bound cannot be written.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
