// SPDX-License-Identifier: Apache-2.0
#include "base/text/typed_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace bittern {

Result<std::vector<std::int32_t>> ParseIntegers(std::string_view text, std::string_view name) {
  std::vector<std::int32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    std::int32_t number = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || rest != part.data() + part.size()) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: whole numbers separated by commas expected, \"{}\" found", name, part));
    }
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

std::string Unescape(std::string_view text) {
  constexpr std::string_view kLetters = "ntr\\\"'", kMeanings = "\n\t\r\\\"'";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool backslash = text[i] == '\\' && i + 1 < text.size();
    const std::size_t letter = backslash ? kLetters.find(text[i + 1]) : std::string_view::npos;
    result += letter == std::string_view::npos ? text[i] : kMeanings[letter];
    i += letter == std::string_view::npos ? 0 : 1;
  }
  return result;
}

}  // namespace bittern
