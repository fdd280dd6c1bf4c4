// SPDX-License-Identifier: Apache-2.0
#include "request/options/option_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::request {

std::string WholeNumberWords(double least, double most) {
  return fmt::format("a whole number of {:.0f} to {:.0f}", least, most);
}

std::string NumberWords(double least, double most) {
  return most == kMostFloat ? "a number" : fmt::format("a number of {} to {}", least, most);
}

/// Cuts at a byte, and replaces control characters, so that a message stays one line.
std::string QuotedText(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown(text.substr(0, kMost));
  std::ranges::replace_if(shown, [](char c) { return c >= 0 && c < ' '; }, '?');
  return "\"" + shown + (text.size() > kMost ? "...\"" : "\"");
}

tl::unexpected<Error> WrongText(std::string_view key, std::string_view expected,
                                std::string_view found) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", key, expected, QuotedText(found)));
}

}  // namespace bittern::request
