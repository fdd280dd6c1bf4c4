// SPDX-License-Identifier: Apache-2.0
#include "bench/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace bittern::bench {
namespace {

constexpr std::size_t kMostNumbers = 1000;

/// A number of 0 or more at the front of *text, which it leaves.
std::optional<std::int32_t> TakeNumber(std::string_view* text) {
  std::int32_t number = 0;
  const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return number;
}

/// Numbers from `first` to `last`: each is the one before plus `step`, or times `step`.
struct Range {
  std::int32_t first = 0, last = 0, step = 1;
  bool multiplies = false;
};

/// "8", "1-4", "8-32+8" or "8-64*2", as llama-bench takes them. A step that does not move is
/// refused.
std::optional<Range> ParseRange(std::string_view text) {
  Range range;
  const auto first = TakeNumber(&text);
  if (!first) return std::nullopt;
  range.first = range.last = *first;
  if (text.empty()) return range;
  if (text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto last = TakeNumber(&text);
  if (!last || *last < *first) return std::nullopt;
  range.last = *last;
  if (text.empty()) return range;
  range.multiplies = text.front() == '*';
  if (text.front() != '+' && !range.multiplies) return std::nullopt;
  text.remove_prefix(1);
  const auto step = TakeNumber(&text);
  const bool moves = step && *step > (range.multiplies ? 1 : 0) && text.empty();
  if (!moves || (range.multiplies && *first == 0)) return std::nullopt;
  range.step = *step;
  return range;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<std::vector<std::int32_t>> ParseNumberList(std::string_view text, std::string_view name) {
  std::vector<std::int32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = Trimmed(text.substr(begin, end - begin));
    const auto range = ParseRange(part);
    if (!range) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: numbers (128,512) or ranges (1-4, 8-32+8, 8-64*2) expected, "
                              "\"{}\" found",
                              name, part));
    }
    for (std::int64_t n = range->first; n <= range->last;
         n = range->multiplies ? n * range->step : n + range->step) {
      numbers.push_back(static_cast<std::int32_t>(n));
      if (numbers.size() <= kMostNumbers) continue;
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: at most {} numbers expected, more found", name, kMostNumbers));
    }
    begin = end + 1;
  }
  return numbers;
}

Result<std::pair<int, int>> ParsePromptAndGen(std::string_view text, std::string_view name) {
  std::string_view rest = Trimmed(text);
  const auto prompt = TakeNumber(&rest);
  const bool comma = rest.starts_with(',');
  if (comma) rest.remove_prefix(1);
  const auto gen = TakeNumber(&rest);
  if (prompt && comma && gen && rest.empty() && *prompt > 0 && *gen > 0) {
    return std::pair<int, int>{*prompt, *gen};
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: PROMPT,GEN expected, e.g. 512,128, \"{}\" found", name, text));
}

}  // namespace bittern::bench
