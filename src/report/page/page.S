// SPDX-License-Identifier: Apache-2.0
// The page and its scripts as read-only texts that end with a zero byte.
#define TEXT(name, path) \
        .globl name; .hidden name; name: .incbin path; .byte 0
        .section .rodata
TEXT(bittern_report_page, "report/page/page.html")
TEXT(bittern_report_bench, "report/page/bench.js")
TEXT(bittern_report_doctor, "report/page/doctor.js")
TEXT(bittern_report_trace, "report/page/trace.js")
        .section .note.GNU-stack, "", %progbits
