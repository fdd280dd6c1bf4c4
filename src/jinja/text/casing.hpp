// SPDX-License-Identifier: Apache-2.0
// Upper, lower and title case as Python's strings have them, letters that become several (ß, ﬁ, İ)
// and the sigma at the end of a word included.
#pragma once

#include <string>
#include <string_view>

#include "jinja/text/text.hpp"

namespace bittern::jinja {

/// str.upper(). At most three times as long.
[[nodiscard]] std::string Upper(std::string_view text);
/// str.casefold().
[[nodiscard]] std::string Casefolded(std::string_view text);

/// str.isupper() or str.islower(): letters with case, and all of that one.
[[nodiscard]] bool IsAllOneCase(std::string_view text, bool upper);

/// str.lower(), with the marks of its bytes. A sigma depends on the letters around it.
[[nodiscard]] Text Lowered(const Text& text);
/// str.capitalize(): the first character in title case, the others lower.
[[nodiscard]] Text Capitalized(const Text& text);
/// str.title(): that for each word, a run of letters that have case.
[[nodiscard]] Text Titled(const Text& text);
/// str.swapcase().
[[nodiscard]] Text SwappedCase(const Text& text);

}  // namespace bittern::jinja
