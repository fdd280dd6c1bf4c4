// SPDX-License-Identifier: Apache-2.0
// The web page at /: one file, part of the program. Any thread.
#pragma once

#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// The page, with a Content-Security-Policy that lets nothing run but its own script and lets it
/// reach nothing but this server.
[[nodiscard]] HttpReply PageReply();

}  // namespace bittern::serve
