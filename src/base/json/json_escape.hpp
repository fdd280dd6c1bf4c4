// SPDX-License-Identifier: Apache-2.0
// Characters inside JSON strings (RFC 8259, section 7). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace bittern {

/// Appends `text` to `out` as it stands inside a JSON string, without the quotes: the short escapes
/// \" \\ \b \f \n \r \t, other control characters as \u00xx, bad UTF-8 as U+FFFD. `ascii`: letters
/// beyond ASCII as \uxxxx, in pairs beyond U+FFFF.
void AppendJsonEscaped(std::string_view text, bool ascii, std::string* out);

/// `text` as a JSON string with its quotes.
[[nodiscard]] std::string QuotedJson(std::string_view text, bool ascii = false);

}  // namespace bittern
