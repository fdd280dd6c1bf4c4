// SPDX-License-Identifier: Apache-2.0
// Categories come from utf8proc. It has neither White_Space nor scripts, so these are lists here
// (Unicode 15: PropList.txt, Scripts.txt).
#include "tokenizer/regex/code_points.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace bittern::tokenizer {
namespace {

using Range = CodePointSet::Range;

constexpr Range kWhiteSpace[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

constexpr Range kHan[] = {{0x2e80, 0x2e99},   {0x2e9b, 0x2ef3},   {0x2f00, 0x2fd5},
                          {0x3005, 0x3005},   {0x3007, 0x3007},   {0x3021, 0x3029},
                          {0x3038, 0x303b},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
                          {0xf900, 0xfa6d},   {0xfa70, 0xfad9},   {0x16fe2, 0x16fe3},
                          {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df}, {0x2a700, 0x2b739},
                          {0x2b740, 0x2b81d}, {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0},
                          {0x2f800, 0x2fa1d}, {0x30000, 0x3134a}, {0x31350, 0x323af}};

/// The names of utf8proc's categories, in its order.
constexpr std::array<std::string_view, 30> kCategoryNames = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

/// The ranges of each category.
using Categories = std::array<std::vector<Range>, kCategoryNames.size()>;

/// Asks utf8proc about every code point, once for the program (AllCategories).
Categories ReadCategories() {
  Categories categories;
  for (char32_t c = 0; c <= CodePointSet::kMax; ++c) {
    const auto category =
        static_cast<std::size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
    std::vector<Range>& ranges = categories[category % categories.size()];
    if (!ranges.empty() && ranges.back().last + 1 == c) {
      ranges.back().last = c;
    } else {
      ranges.push_back({c, c});
    }
    // Planes 4 to 13 are unassigned, 15 and 16 private but for the last two of each: one step.
    const bool is_uniform = (c >= 0x40000 && c < 0xe0000) || c >= 0xf0000;
    if (is_uniform && (c & 0xffff) == 0) {
      c += 0xfffd;
      ranges.back().last = c;
    }
  }
  return categories;
}

const Categories& AllCategories() {
  static const Categories categories = ReadCategories();
  return categories;
}

/// Sorts, and joins what touches.
std::vector<Range> Normalized(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace

CodePointSet::CodePointSet(std::vector<Range> ranges) : ranges_(Normalized(std::move(ranges))) {}

std::optional<CodePointSet> CodePointSet::Property(std::string_view name) {
  if (name == "Han") return CodePointSet(std::vector<Range>(std::begin(kHan), std::end(kHan)));
  std::vector<Range> ranges;
  bool known = false;
  for (std::size_t i = 0; i < kCategoryNames.size(); ++i) {
    const bool is_group = name.size() == 1 && kCategoryNames[i][0] == name[0];
    if (kCategoryNames[i] != name && !is_group) continue;
    known = true;
    ranges.insert(ranges.end(), AllCategories()[i].begin(), AllCategories()[i].end());
  }
  if (!known) return std::nullopt;
  return CodePointSet(std::move(ranges));
}

CodePointSet CodePointSet::WhiteSpace() {
  return CodePointSet(std::vector<Range>(std::begin(kWhiteSpace), std::end(kWhiteSpace)));
}

CodePointSet CodePointSet::Word() {
  CodePointSet word;
  for (const char* name : {"L", "M", "Nd", "Nl", "Pc"}) word = word.Union(*Property(name));
  return word;
}

bool CodePointSet::Contains(char32_t c) const noexcept {
  const auto after = std::ranges::upper_bound(ranges_, c, {}, &Range::first);
  return after != ranges_.begin() && c <= std::prev(after)->last;
}

CodePointSet CodePointSet::Complement() const {
  CodePointSet result;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMax) result.ranges_.push_back({next, kMax});
  return result;
}

CodePointSet CodePointSet::Union(const CodePointSet& other) const {
  std::vector<Range> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePointSet(std::move(ranges));
}

CodePointSet CodePointSet::Intersection(const CodePointSet& other) const {
  return Complement().Union(other.Complement()).Complement();
}

CodePointSet CodePointSet::WithAsciiCases() const {
  std::vector<Range> ranges = ranges_;
  for (char32_t lower = 'a'; lower <= 'z'; ++lower) {
    const char32_t upper = lower - 0x20;
    if (Contains(lower) != Contains(upper))
      ranges.insert(ranges.end(), {{lower, lower}, {upper, upper}});
  }
  return CodePointSet(std::move(ranges));
}

}  // namespace bittern::tokenizer
