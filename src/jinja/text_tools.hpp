// SPDX-License-Identifier: Apache-2.0
// Steps that filters and methods of strings share. All keep the marks of the bytes they move.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jinja/budget.hpp"
#include "jinja/text/text.hpp"
#include "jinja/value.hpp"

namespace bittern::jinja {

enum class Align { kLeft, kRight, kCenter, kCenterLeft };

/// Which characters strip(chars) takes: white space where undefined or none.
[[nodiscard]] Result<std::function<bool(char32_t)>> StrippedCharacters(const Value& chars);
/// At most `count` replacements from the left; any number where negative.
[[nodiscard]] Result<Text> Replace(const Text& text, const Text& old_text, const Text& new_text,
                                   std::int64_t count, Budget* budget);
/// At Python's line ends. Nothing comes after the last end.
[[nodiscard]] std::vector<Text> SplitLines(const Text& text, bool keep_ends);
/// Filled up to `width` characters with `fill`, one character. kCenter puts an odd one to the
/// right where Python's str.center does, kCenterLeft as format's ^ does.
[[nodiscard]] Result<Text> Pad(const Text& text, std::int64_t width, std::string_view fill,
                               Align align, Budget* budget);
/// int(text, base) and float(text); nothing where Python fails.
[[nodiscard]] std::optional<std::int64_t> ParseInt(std::string_view text, int base);
[[nodiscard]] std::optional<double> ParseFloat(std::string_view text);

}  // namespace bittern::jinja
