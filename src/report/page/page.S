// SPDX-License-Identifier: Apache-2.0
// The page and its scripts as read-only texts that end with a zero byte.
#include "base/os/embedded.inc"
        BITTERN_DATA
        NAME bittern_report_page
        .incbin "report/page/page.html"
        .byte 0
        NAME bittern_report_bench
        .incbin "report/page/bench.js"
        .byte 0
        NAME bittern_report_doctor
        .incbin "report/page/doctor.js"
        .byte 0
        NAME bittern_report_trace
        .incbin "report/page/trace.js"
        .byte 0
        BITTERN_DATA_END
