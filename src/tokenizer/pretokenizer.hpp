// SPDX-License-Identifier: Apache-2.0
// Cuts text into the pieces inside which BPE merges. The rules of a model are regular expressions,
// each of which cuts the pieces of the one before.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/regex/regex.hpp"

namespace bittern::tokenizer {

/// The treatment of the matches of a pass, and of the gaps between them (Hugging Face's names).
enum class SplitBehavior : std::uint8_t {
  kIsolated,            ///< each match and each gap is a piece
  kRemoved,             ///< only the gaps are pieces; the matches are lost
  kContiguous,          ///< matches that touch are one piece
  kMergedWithPrevious,  ///< a match goes with the gap before it
  kMergedWithNext,      ///< a match goes with the gap after it
};

/// One way to cut.
struct Pass {
  Regex regex;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool inverted = false;    ///< matches are gaps, and gaps are matches
  bool adds_space = false;  ///< a text gets a space in front, if it has none, before it is cut
};

/// Runs passes over texts. Keeps its working memory, so it is not thread-safe: one per call of
/// Encode. The passes must outlive it.
class PieceCutter {
 public:
  explicit PieceCutter(std::span<const Pass> passes) : passes_(passes), scratch_(passes.size()) {}

  /// Calls use(piece) for every piece, in order; none is empty. The views are valid during the
  /// call only. Time is linear in the text, whatever it is.
  template <class Use>
  void ForEachPiece(std::string_view text, const Use& use) {
    Cut(text, 0, use);
  }

 private:
  template <class Use>
  void Cut(std::string_view text, std::size_t depth, const Use& use) {
    if (text.empty()) return;
    if (depth == passes_.size()) {
      use(text);
      return;
    }
    const Pass& pass = passes_[depth];
    std::string spaced;
    if (pass.adds_space && !text.starts_with(' ')) {
      spaced = fmt::format(" {}", text);
      text = spaced;
    }
    const auto next = [&](std::size_t begin, std::size_t end) {
      if (begin != end) Cut(text.substr(begin, end - begin), depth + 1, use);
    };
    if (pass.behavior != SplitBehavior::kIsolated) {
      for (const Part& part : PartsOf(text, depth)) next(part.begin, part.end);
      return;
    }
    std::size_t done = 0;
    pass.regex.ForEachMatch(text, &scratch_[depth], [&](std::size_t begin, std::size_t end) {
      next(done, begin);
      next(begin, end);
      done = end;
    });
    next(done, text.size());
  }

  struct Part {
    std::size_t begin, end;
    bool is_match;
  };
  /// The pieces of a pass that is not kIsolated.
  std::vector<Part> PartsOf(std::string_view text, std::size_t depth);

  std::span<const Pass> passes_;
  std::vector<Regex::Scratch> scratch_;  // by pass
};

}  // namespace bittern::tokenizer
