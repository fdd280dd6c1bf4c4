// SPDX-License-Identifier: Apache-2.0
// Saves the probabilities of a text, or compares with saved ones, as llama-perplexity does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_file.hpp"
#include "base/json/json.hpp"
#include "eval/job/job.hpp"
#include "eval/saved_logits.hpp"
#include "eval/windows.hpp"

namespace bittern::eval {

/// The work on the logits of each window; nothing where no file was named.
class LogitsFile {
 public:
  /// `tokens` are those of the text. Errors kInvalidArgument: windows that the file's format does
  /// not know, a file of another text, vocabulary or window; those of opening the file.
  [[nodiscard]] static Result<LogitsFile> Open(const Job& job, const WindowOptions& options,
                                               std::span<const tokenizer::TokenId> tokens,
                                               std::size_t num_windows);

  /// For ScoreOptions::on_row; empty if there is nothing to do. This object outlives the scoring.
  [[nodiscard]] std::function<void(const ScoredRow&)> OnRow();
  /// All rows of the window have been seen; windows come in order.
  [[nodiscard]] Result<void> EndWindow(std::size_t window);
  /// Completes the file, or adds to the summary.
  [[nodiscard]] Result<void> Finish(Json* summary);

 private:
  LogitsFile() = default;
  [[nodiscard]] Result<void> CheckBase(const Job& job,
                                       std::span<const tokenizer::TokenId> tokens) const;

  std::string path_;
  SavedShape shape_;
  std::optional<OutputFile> file_;   // is written
  std::optional<SavedLogits> base_;  // is compared with
  // Each row of each window; those of windows that were written are empty.
  std::vector<std::vector<std::vector<std::uint16_t>>> rows_;
  std::vector<std::vector<Divergence>> divergences_;
};

}  // namespace bittern::eval
