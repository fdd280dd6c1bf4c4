// SPDX-License-Identifier: Apache-2.0
// The model that ships, as read-only data between two symbols. Works with gcc and clang on every
// ELF target; CMake defines BITTERN_DEFAULT_MODEL as its path.
        .section .rodata
        .balign 64
        .globl bittern_default_model
        .hidden bittern_default_model
bittern_default_model:
        .incbin BITTERN_DEFAULT_MODEL
        .globl bittern_default_model_end
        .hidden bittern_default_model_end
bittern_default_model_end:
        .section .note.GNU-stack, "", %progbits
