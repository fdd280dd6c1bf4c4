// SPDX-License-Identifier: Apache-2.0
// Threads fill rows of windows that lie there already, each its own.
#include "eval/job/logits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"

namespace bittern::eval {

/// Without a file the object does nothing. Rows are stored by window, hence
/// only windows of one size that lie end to end.
Result<LogitsFile> LogitsFile::Open(const Job& job, const WindowOptions& options,
                                    std::span<const tokenizer::TokenId> tokens,
                                    std::size_t num_windows) {
  LogitsFile logits;
  logits.path_ = job.options.logits;
  if (logits.path_.empty()) {
    if (!job.options.compare_logits) return logits;
    return Fail(ErrorCode::kInvalidArgument,
                "compare_logits=true: with what? give logits=FILE, too");
  }
  if (options.method != WindowMethod::kChunks || options.size < 3) {
    return Fail(ErrorCode::kInvalidArgument,
                "logits=FILE: goes with windows that lie end to end (a text of at least one window "
                "of window=N tokens, no stride=N, no every_token=true)");
  }
  if (job.options.resume) {
    return Fail(ErrorCode::kInvalidArgument,
                "logits=FILE: does not go on where an earlier run stopped (resume=true)");
  }
  logits.shape_ = {.window = options.size,
                   .vocab = job.model->model.config().vocab_size,
                   .windows = static_cast<std::int32_t>(num_windows)};
  const auto used = tokens.first(num_windows * static_cast<std::size_t>(options.size));
  if (job.options.compare_logits) {
    logits.base_ = BITTERN_TRY(SavedLogits::Open(logits.path_));
    BITTERN_TRY(logits.CheckBase(job, used));
    logits.divergences_.resize(num_windows);
    for (auto& window : logits.divergences_) window.resize(logits.shape_.rows());
  } else {
    logits.file_.emplace(BITTERN_TRY(OutputFile::Create(logits.path_)));
    logits.rows_.resize(num_windows);
    for (auto& window : logits.rows_) window.resize(logits.shape_.rows());
    BITTERN_TRY(logits.file_->Write(SavedHeader(logits.shape_, used)));
  }
  return logits;
}

/// The saved file must be of the same vocabulary, windows and tokens; it may have more windows.
Result<void> LogitsFile::CheckBase(const Job& job,
                                   std::span<const tokenizer::TokenId> tokens) const {
  const SavedShape& saved = base_->shape();
  const auto differs = [&](std::string_view what, auto expected, auto found) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: its {} {}, not {}: give what it was "
                                                         "made with",
                                                         path_, what, found, expected));
  };
  if (saved.vocab != shape_.vocab) {
    return differs("vocabulary has", shape_.vocab, saved.vocab);
  }
  if (saved.window != shape_.window) return differs("windows have", shape_.window, saved.window);
  const auto own = std::span(base_->tokens());
  const bool same = saved.windows >= shape_.windows &&
                    std::ranges::equal(own.first(std::min(own.size(), tokens.size())), tokens);
  if (same) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: was made from another text than {}", path_, job.options.input));
}

/// The listener runs on any thread of the team and must not throw.
std::function<void(const ScoredRow&)> LogitsFile::OnRow() {
  if (base_) {
    return [this](const ScoredRow& row) {
      divergences_[row.group][row.scored] =
          DivergenceOf(row.logits, row.token, base_->Row(row.group, row.scored));
    };
  }
  if (!file_) return {};
  return [this](const ScoredRow& row) {
    try {
      std::vector<std::uint16_t>& own = rows_[row.group][row.scored];
      own.resize(shape_.row_words());
      PackLogits(row.logits, own);
    } catch (const std::bad_alloc&) {  // the row stays empty, which EndWindow sees
    }
  };
}

/// Windows end in order, so the file is written front to back and memory holds a few windows.
Result<void> LogitsFile::EndWindow(std::size_t window) {
  if (!file_) return {};
  for (std::vector<std::uint16_t>& row : rows_[window]) {
    if (row.empty()) return Fail(ErrorCode::kOutOfMemory, "not enough memory to keep logits");
    const auto bytes = std::as_bytes(std::span(row));
    BITTERN_TRY(
        file_->Write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
    row = {};
  }
  return {};
}

namespace {

/// The mean and its standard error.
struct MeanOfRows {
  double sum = 0, squares = 0;
  std::size_t count = 0;

  void Add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  [[nodiscard]] double error() const {
    if (count < 2) return 0;
    const double variance = squares / static_cast<double>(count) - mean() * mean();
    return std::sqrt(std::max(0.0, variance) / static_cast<double>(count - 1));
  }
};

}  // namespace

/// Ends the saved file, or adds the object "kl" to the summary.
Result<void> LogitsFile::Finish(Json* summary) {
  if (file_) {
    BITTERN_TRY(file_->Close());
    (*summary)["saved"] = path_;
  }
  if (!base_) return {};
  BITTERN_TRY(base_->CheckUnchanged());
  MeanOfRows kl, base, changes;
  std::vector<double> sorted;
  std::size_t same = 0;
  for (const auto& window : divergences_) {
    for (const Divergence& row : window) {
      kl.Add(row.kl);
      base.Add(row.base_nats);
      changes.Add(row.p_change * row.p_change);
      same += row.same_top ? 1 : 0;
      sorted.push_back(row.kl);
    }
  }
  std::ranges::sort(sorted);
  (*summary)["kl"] = {
      {"base", path_},
      {"mean", kl.mean()},
      {"error", kl.error()},
      {"median", sorted[sorted.size() / 2]},
      {"p99", sorted[sorted.size() * 99 / 100]},
      {"max", sorted.back()},
      {"same_top", static_cast<double>(same) / static_cast<double>(kl.count)},
      {"rms_change", std::sqrt(changes.mean())},
      {"base_perplexity", Exp(base.mean())},
      {"perplexity_ratio", (*summary)["perplexity"].AsNumber().value_or(0) / Exp(base.mean())}};
  return {};
}

}  // namespace bittern::eval
