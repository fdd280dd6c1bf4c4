// SPDX-License-Identifier: Apache-2.0
// `bittern eval`: what its two halves, texts and questions, share.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/json/json.hpp"
#include "cli/batch/results_file.hpp"
#include "cli/options/model_options.hpp"
#include "cli/terminal.hpp"
#include "eval/scorer.hpp"

namespace bittern::cli {

struct EvalOptions {
  ModelOptions model;
  ContextOptions context;
  std::string input, output;
  std::string as = "auto";  ///< or "text", "ids", "choices"
  int num_threads = 0;
  int stride = 0, most = -1, cache_mib = 1024;
  std::string logits;           ///< file of saved logits
  bool compare_logits = false;  ///< with it; else it is written
  bool every_token = false, resume = false, json = false;
};

/// A model, what was read, and how to score it.
struct EvalJob {
  const EvalOptions& options;
  std::shared_ptr<const runtime::LoadedModel> model;
  std::string text;
  eval::ScoreOptions score;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// A count of an object; 0 where there is none.
[[nodiscard]] inline std::size_t CountIn(const Json& object, std::string_view name) {
  return static_cast<std::size_t>(object[name].AsUint().value_or(0));
}

/// Perplexity of a text (or of token ids). Returns what is printed, as JSON. Error kCancelled: the
/// lines written so far are good.
[[nodiscard]] Result<Json> EvalText(const EvalJob& job);
/// The share of questions that are answered rightly.
[[nodiscard]] Result<Json> EvalChoices(const EvalJob& job);

/// The results of windows or questions as JSON lines, if a file for them was asked for. The first
/// line says what they are of, so that a run can only be resumed with the same input and settings.
class EvalLines {
 public:
  /// Error kInvalidArgument: the file to go on with was made from something else.
  [[nodiscard]] static Result<EvalLines> Open(const EvalOptions& options, const Json& subject);
  /// What an earlier run has left, in order.
  [[nodiscard]] const std::vector<Json>& earlier() const noexcept { return earlier_; }
  [[nodiscard]] Result<void> Write(const Json& line);

 private:
  std::optional<ResultsFile> file_;
  std::vector<Json> earlier_;
};

/// For the first line of a results file.
[[nodiscard]] std::string HashText(std::string_view text);

/// "12 of 60 windows, 31 s left"
[[nodiscard]] std::string EvalProgress(const EvalJob& job, std::string_view what, std::size_t done,
                                       std::size_t earlier, std::size_t all);

}  // namespace bittern::cli
