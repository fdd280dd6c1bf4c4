// SPDX-License-Identifier: Apache-2.0
// The web page as read-only texts that end with a zero byte: its markup, its style, and its scripts
// one after the other, which makes them one script.
#include "base/os/embedded.inc"
        BITTERN_DATA
        NAME bittern_page
        .incbin "serve/page/index.html"
        .byte 0
        NAME bittern_page_style
        .incbin "serve/page/style.css"
        .byte 0
        NAME bittern_page_script
        .incbin "serve/page/dom.js"
        .incbin "serve/page/markdown.js"
        .incbin "serve/page/tree.js"
        .incbin "serve/page/store.js"
        .incbin "serve/page/settings.js"
        .incbin "serve/page/model.js"
        .incbin "serve/page/answer.js"
        .incbin "serve/page/attach.js"
        .incbin "serve/page/tools.js"
        .incbin "serve/page/messages.js"
        .incbin "serve/page/list.js"
        .incbin "serve/page/composer.js"
        .incbin "serve/page/start.js"
        .byte 0
        BITTERN_DATA_END
