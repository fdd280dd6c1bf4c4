// SPDX-License-Identifier: Apache-2.0
// A model's probabilities of every token at every scored position, in the file that
// llama-perplexity writes and reads (--kl-divergence-base): to measure what a quantisation or a
// kernel changes.
//
//   "_logits_", i32 tokens of a window, i32 vocabulary, i32 windows, i32 ids of all windows;
//   then of each window its last (tokens - 1 - tokens / 2) rows: f32 scale, f32 least, and for each
//   token of the vocabulary (padded to an even number) a u16: ln p = least + scale * u16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/files/mapped_file.hpp"
#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::eval {

using tokenizer::TokenId;

/// The header of a file.
struct SavedShape {
  std::int32_t window = 0;  ///< tokens, 2 or more
  std::int32_t vocab = 0;
  std::int32_t windows = 0;

  [[nodiscard]] std::size_t rows() const noexcept {  ///< of a window
    return static_cast<std::size_t>(window - 1 - window / 2);
  }
  [[nodiscard]] std::size_t row_words() const noexcept {  ///< u16 that a row takes
    return 2 * ((static_cast<std::size_t>(vocab) + 1) / 2) + 4;
  }
};

/// The file's beginning; `tokens` are those of all windows.
[[nodiscard]] std::string SavedHeader(const SavedShape& shape, std::span<const TokenId> tokens);

/// Writes a row of shape.row_words(). What is less probable than the best by e^-16 becomes that.
void PackLogits(std::span<const float> logits, std::span<std::uint16_t> row) noexcept;

/// A row of logits beside a saved one.
struct Divergence {
  double kl = 0;          ///< Kullback-Leibler divergence of the logits from the saved row, nats
  double base_nats = 0;   ///< what the token cost the base
  double p_change = 0;    ///< probability of the token: the logits' less the base's
  bool same_top = false;  ///< both think the same token the most probable
};
[[nodiscard]] Divergence DivergenceOf(std::span<const float> logits, TokenId token,
                                      std::span<const std::uint16_t> row) noexcept;

/// A file that was written by SavedHeader and PackLogits, or by llama-perplexity.
class SavedLogits {
 public:
  /// Errors: as MappedFile; kCorruptFile (not such a file, cut off).
  [[nodiscard]] static Result<SavedLogits> Open(const std::filesystem::path& path);

  [[nodiscard]] const SavedShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const std::vector<TokenId>& tokens() const noexcept { return tokens_; }
  /// Row `row` of window `window`. Any thread.
  [[nodiscard]] std::span<const std::uint16_t> Row(std::size_t window,
                                                   std::size_t row) const noexcept;
  [[nodiscard]] Result<void> CheckUnchanged() const { return file_.CheckUnchanged(); }

 private:
  SavedLogits(MappedFile file, SavedShape shape) : file_(std::move(file)), shape_(shape) {}

  MappedFile file_;
  SavedShape shape_;
  std::vector<TokenId> tokens_;
};

}  // namespace bittern::eval
