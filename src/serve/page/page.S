// SPDX-License-Identifier: Apache-2.0
// The web page as read-only data between two symbols; CMake defines BITTERN_PAGE as its path.
        .section .rodata
        .globl bittern_page
        .hidden bittern_page
bittern_page:
        .incbin BITTERN_PAGE
        .globl bittern_page_end
        .hidden bittern_page_end
bittern_page_end:
        .section .note.GNU-stack, "", %progbits
