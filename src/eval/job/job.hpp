// SPDX-License-Identifier: Apache-2.0
// A text or a list of questions scored from end to end, with results that can be resumed. One
// thread calls. Options in messages are key=value.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/results_file.hpp"
#include "base/json/json.hpp"
#include "eval/scorer.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::eval {

/// The windows or questions to score, and where results go.
struct JobOptions {
  std::string input;            ///< name of the text or the questions, in messages
  std::string output;           ///< file for a JSON line for each window or question; empty: none
  bool ids = false;             ///< the text is token ids
  int window = 0;               ///< tokens; 0: 512 for texts, the model's limit for questions
  int stride = 0;               ///< tokens from one window to the next; 0: they lie end to end
  int most = -1;                ///< windows or questions at most; -1: all
  std::string logits;           ///< file of saved probabilities; empty: none
  bool compare_logits = false;  ///< with it; else it is written
  bool every_token = false;     ///< score every token but the first once
  bool resume = false;          ///< go on after the lines that `output` has
};

/// A model, what was read, and how to score it.
struct Job {
  JobOptions options;
  std::shared_ptr<const runtime::LoadedModel> model;
  std::string text;  ///< a text, token ids, or a question a line
  ScoreOptions score;
  std::function<void(std::string_view)> on_progress;  ///< "12 of 60 windows, 31 s left"; or none
  std::function<void(double)> on_share = {};          ///< of the work that is done; or none
  std::function<void(std::string_view)> on_notice;  ///< a sentence; options are key=value; or none
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// Tells whoever listens that `done` of `all` are done.
  template <class Words>
  void Tell(std::size_t done, std::size_t all, const Words& words) const {
    if (on_progress) on_progress(words());
    if (on_share) on_share(static_cast<double>(done) / static_cast<double>(all));
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// A count of an object; 0 where there is none.
[[nodiscard]] inline std::size_t CountIn(const Json& object, std::string_view name) {
  return static_cast<std::size_t>(object[name].AsUint().value_or(0));
}

/// Perplexity of a text (or of token ids). Returns {"file", "model", "method", "window", "stride",
/// "windows", "perplexity", "perplexity_error", "bits_per_byte", "nats_per_token", "top1",
/// "tokens", "bytes", "tokens_run", "passes", "seconds"}, and "kl" or "saved" with options.logits.
/// Error kCancelled: the lines written so far are good.
[[nodiscard]] Result<Json> ScoreText(const Job& job);
/// The share of questions that are answered rightly: {"file", "model", "questions", "acc",
/// "acc_error", "acc_norm", "acc_norm_error", "kinds", ...}.
[[nodiscard]] Result<Json> ScoreChoices(const Job& job);

/// The results of windows or questions as JSON lines, if a file for them was asked for. The first
/// line says what they are of, so that a run can only be resumed with the same input and settings.
class ResultLines {
 public:
  /// Error kInvalidArgument: the file to go on with was made from something else.
  [[nodiscard]] static Result<ResultLines> Open(const JobOptions& options, const Json& subject);
  /// The lines that an earlier run has left, in order.
  [[nodiscard]] const std::vector<Json>& earlier() const noexcept { return earlier_; }
  [[nodiscard]] Result<void> Write(const Json& line);

 private:
  std::optional<ResultsFile> file_;
  std::vector<Json> earlier_;
};

/// "12 of 60 windows, 31 s left"
[[nodiscard]] std::string ProgressText(const Job& job, std::string_view what, std::size_t done,
                                       std::size_t earlier, std::size_t all);

}  // namespace bittern::eval
