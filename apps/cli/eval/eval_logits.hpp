// SPDX-License-Identifier: Apache-2.0
// `bittern eval --kl-divergence-base`: saves the probabilities of a text, or compares with saved
// ones.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/json/json.hpp"
#include "cli/eval/eval_options.hpp"
#include "cli/output.hpp"
#include "eval/saved_logits.hpp"
#include "eval/windows.hpp"

namespace bittern::cli {

/// What is done with the logits of each window; nothing where no file was named.
class EvalLogits {
 public:
  /// `tokens` are those of the text. Errors kInvalidArgument: windows that the file's format does
  /// not know, a file of another text, vocabulary or window; those of opening the file.
  [[nodiscard]] static Result<EvalLogits> Open(const EvalJob& job,
                                               const eval::WindowOptions& options,
                                               std::span<const runtime::TokenId> tokens,
                                               std::size_t num_windows);

  /// For ScoreOptions::on_row; empty if there is nothing to do. This object outlives the scoring.
  [[nodiscard]] std::function<void(const eval::ScoredRow&)> OnRow();
  /// All rows of the window have been seen; windows come in order.
  [[nodiscard]] Result<void> EndWindow(std::size_t window);
  /// Completes the file, or adds to what is printed.
  [[nodiscard]] Result<void> Finish(Json* summary);

 private:
  EvalLogits() = default;
  [[nodiscard]] Result<void> CheckBase(const EvalJob& job,
                                       std::span<const runtime::TokenId> tokens) const;

  std::string path_;
  eval::SavedShape shape_;
  std::optional<OutputFile> file_;         // is written
  std::optional<eval::SavedLogits> base_;  // is compared with
  // Of each window each row; those of windows that were written are empty.
  std::vector<std::vector<std::vector<std::uint16_t>>> rows_;
  std::vector<std::vector<eval::Divergence>> divergences_;
};

}  // namespace bittern::cli
