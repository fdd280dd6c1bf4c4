// SPDX-License-Identifier: Apache-2.0
// The changes that lm-evaluation-harness makes to texts before it asks.
#pragma once

#include <string>
#include <string_view>

namespace bittern::eval {

/// Without ASCII white space at both ends.
[[nodiscard]] std::string_view Stripped(std::string_view text) noexcept;

/// The first letter in capitals, the others not (Python's str.capitalize).
[[nodiscard]] std::string Capitalised(const std::string& text);

/// HellaSwag: " [title]" is the end of a sentence, other marks in brackets go, and two spaces are
/// one.
[[nodiscard]] std::string WithoutWikiHowMarks(std::string_view text);

}  // namespace bittern::eval
