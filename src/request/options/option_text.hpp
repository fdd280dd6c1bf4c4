// SPDX-License-Identifier: Apache-2.0
// Options that are set as texts: numbers read from them, and the words for what is expected.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern::request {

/// Least and most of a number that has no range of its own.
inline constexpr double kMostFloat = std::numeric_limits<float>::max();

/// The whole text as a number; nothing if it is none, or not one of type T.
template <class T>
[[nodiscard]] std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && rest == text.data() + text.size();
  return whole ? std::optional<T>(value) : std::nullopt;
}

/// "a whole number of 0 to 9"
[[nodiscard]] std::string WholeNumberWords(double least, double most);
/// "a number of 0 to 1"; "a number" where `most` is kMostFloat
[[nodiscard]] std::string NumberWords(double least, double most);

/// A text as a message may show it: in quotes, 60 bytes at most, without control characters.
[[nodiscard]] std::string QuotedText(std::string_view text);

/// Error kInvalidArgument "key: expected ..., found ...".
[[nodiscard]] tl::unexpected<Error> WrongText(std::string_view key, std::string_view expected,
                                              std::string_view found);

}  // namespace bittern::request
