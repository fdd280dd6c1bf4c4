// SPDX-License-Identifier: Apache-2.0
// Merges are parsed straight to pairs of ids: 280,147 of them are read at every start.
#include "tokenizer/merge_table.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "base/byte_alphabet.hpp"

namespace bittern::tokenizer {
namespace {

/// A merge with its tokens looked up.
struct ParsedMerge {
  TokenId left, right, merged;
};

/// Turns merge strings into ids; `buffer_` saves an allocation per merge.
class MergeParser {
 public:
  explicit MergeParser(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Reads "left right"; both halves and their joined bytes must be tokens.
  Result<ParsedMerge> Parse(std::string_view text, std::size_t index) {
    // A token's spelling holds no space, but a first character may not be the separator.
    const std::size_t space = text.find(' ', 1);
    if (space == std::string_view::npos) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("tokenizer.ggml.merges[{}] has no space between two tokens", index));
    }
    buffer_.clear();
    const TokenId left = Append(text.substr(0, space));
    const TokenId right = Append(text.substr(space + 1));
    const TokenId merged =
        left == kNoToken || right == kNoToken ? kNoToken : vocabulary_.FindText(buffer_);
    if (merged == kNoToken) {
      const auto* which = left == kNoToken    ? "left half"
                          : right == kNoToken ? "right half"
                                              : "result";
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("the {} of tokenizer.ggml.merges[{}] is not in the vocabulary", which,
                              index));
    }
    return ParsedMerge{left, right, merged};
  }

 private:
  /// Appends the bytes of `spelling` to buffer_ and returns their token.
  TokenId Append(std::string_view spelling) {
    const std::size_t begin = buffer_.size();
    if (!AppendSpelledBytes(spelling, &buffer_)) return kNoToken;
    return vocabulary_.FindText(std::string_view(buffer_).substr(begin));
  }

  const Vocabulary& vocabulary_;
  std::string buffer_;
};

}  // namespace

/// An open hash table that is at most half full. A pair that is listed twice keeps its first rank.
Result<MergeTable> MergeTable::Build(std::span<const std::string_view> merges,
                                     const Vocabulary& vocabulary, Decisions* decisions) {
  if (merges.size() >= Merge::kNever) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("tokenizer.ggml.merges has {} entries", merges.size()));
  }
  MergeTable table;
  table.entries_.resize(std::bit_ceil(merges.size() * 2 + 2));
  table.shift_ = 64 - std::countr_zero(table.entries_.size());
  MergeParser parser(vocabulary);
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const ParsedMerge parsed = BITTERN_TRY(parser.Parse(merges[i], i));
    const std::uint64_t key = Key(parsed.left, parsed.right);
    Entry& entry = table.entries_[table.FindEntry(key)];
    if (entry.key == key) {
      ++repeated;
    } else {
      entry = {key, {static_cast<std::uint32_t>(i), parsed.merged}};
    }
  }
  if (repeated != 0) {
    decisions->push_back({"merges", fmt::format("the first of {} repeated merges counts", repeated),
                          "the file lists the same pair twice", true});
  }
  return table;
}

}  // namespace bittern::tokenizer
