// SPDX-License-Identifier: Apache-2.0
// Cuts a long text into windows that fit a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "eval/scorer.hpp"

namespace bittern::eval {

enum class WindowMethod {
  /// llama-perplexity: windows one after the other, each begins with BOS instead of its first token
  /// (where the model wants BOS), the second half of each is scored, the rest of the text is left.
  kChunks,
  /// llama-perplexity --ppl-stride: windows are longer by half a stride and begin a stride after
  /// one another; the last `stride` tokens of each are scored.
  kStrided,
  /// Every token but the first is scored once; windows begin a stride after one another.
  kEveryToken,
};

struct WindowOptions {
  WindowMethod method = WindowMethod::kChunks;
  int size = 512;  ///< tokens of a window, 2 or more
  int stride = 0;  ///< 1..size; 0 (kEveryToken): size
  int most = -1;   ///< windows at most; < 0: all
};

/// Tokens [begin, end) of a text, of which those from `first_scored` on count.
struct Window {
  std::size_t begin, end, first_scored;
  bool starts_with_bos;  ///< in place of the first token
  [[nodiscard]] std::size_t num_scored() const noexcept { return end - first_scored; }
};

/// Errors kInvalidArgument: an option out of range, or too few tokens for one window (kEveryToken:
/// fewer than two), with both numbers.
[[nodiscard]] Result<std::vector<Window>> CutWindows(std::size_t num_tokens,
                                                     const WindowOptions& options);

/// The window as the scorer wants it. bos: -1 where the model wants none.
[[nodiscard]] ScoreItem ItemOf(const Window& window, std::span<const TokenId> tokens, TokenId bos);

}  // namespace bittern::eval
