// SPDX-License-Identifier: Apache-2.0
// Names and texts from a file are untrusted: before they reach a message or a terminal, bytes that
// could move a cursor or are not UTF-8 are made visible, and long ones are cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bittern {

/// `text` on one line: control characters (also C1 and the bidirectional overrides) as escapes
/// like \n or \u{9b}, invalid UTF-8 as U+FFFD; cut after `max_bytes` bytes of input with "...".
[[nodiscard]] std::string Printable(std::string_view text, std::size_t max_bytes = 80);

/// Printable between double quotes, with quotes and backslashes inside escaped.
[[nodiscard]] std::string Quoted(std::string_view text, std::size_t max_bytes = 80);

}  // namespace bittern
