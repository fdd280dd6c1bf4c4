// SPDX-License-Identifier: Apache-2.0
// The model that is part of the library, as read-only data between two symbols. Works with gcc and
// clang on every ELF target; CMake defines BITTERN_BUILTIN_MODEL as its path.
        .section .rodata
        .balign 64
        .globl bittern_builtin_model
        .hidden bittern_builtin_model
bittern_builtin_model:
        .incbin BITTERN_BUILTIN_MODEL
        .globl bittern_builtin_model_end
        .hidden bittern_builtin_model_end
bittern_builtin_model_end:
        .section .note.GNU-stack, "", %progbits
