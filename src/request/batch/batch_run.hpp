// SPDX-License-Identifier: Apache-2.0
// Many requests from a file, many at a time. Lines are read as the engine takes them, and results
// written in the order of the lines (or as they come), so memory does not grow with the file. A run
// that was interrupted can go on. One thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/results_file.hpp"
#include "request/batch/batch_line.hpp"
#include "request/batch/line_source.hpp"
#include "request/batch/shard.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::request {

struct BatchRunOptions {
  std::string output = "-";  ///< file of results; "-" is standard output
  int parallel = 32;         ///< sequences that the engine runs at a time; twice as many wait
  bool resume = false;       ///< go on after the results that `output` has
  bool unordered = false;    ///< write results as they come
  std::optional<PartHead> part = {};                       ///< run only its shard, and write a part
  bool timings = false;                                    ///< with the times of each
  const std::atomic<bool>* cancel = nullptr;               ///< may be null
  std::function<void(std::string_view)> on_progress = {};  ///< five times a second; may be empty
};

/// Feeds the engine and writes what it gives. REQUIRES: the target outlives it.
class BatchRun {
 public:
  BatchRun(BatchRunOptions options, runtime::Engine engine, const Target& target,
           runtime::GenerateOptions defaults, LineSource lines)
      : options_(std::move(options)),
        engine_(std::move(engine)),
        target_(target),
        defaults_(std::move(defaults)),
        lines_(std::move(lines)) {}

  /// Opens the results and reads those to go on with. Errors as ResultsFile::Open, and
  /// kInvalidArgument: the part to go on with is another one, or has no order.
  [[nodiscard]] Result<void> Open();
  /// Until all lines are answered or options.cancel is set. Error kIo: results cannot be written;
  /// kInvalidArgument: the results to go on with are of another input.
  [[nodiscard]] Result<void> Run();
  /// Sentences on what was done, after Run.
  [[nodiscard]] std::vector<std::string> Summary() const;

 private:
  /// A line whose sequences run.
  struct Job {
    std::size_t place = 0;
    BatchResultName name;
    TextRequest request = {};
    std::vector<runtime::GenerateResult> results = {};  // of each sequence
    runtime::SequenceTimings timings = {};              // of the first one
    std::size_t left = 0;
    std::optional<Error> error = {};
    bool cancelled = false;
  };

  /// Takes a line of the file to resume. False where that line is no result of this run.
  [[nodiscard]] bool TakeHad(std::string_view line);
  [[nodiscard]] bool TakeHadOfPart(std::string_view line);
  /// The error of a part to resume, whose line `at` is not as expected.
  [[nodiscard]] tl::unexpected<Error> WrongPart(std::size_t at, std::string_view why) const;
  void Feed();
  /// True if the file to resume has the result of this line.
  [[nodiscard]] bool IsThere(const BatchLine& read);
  /// Submits the sequences of a line.
  void Start(const std::shared_ptr<Job>& job);
  void TakeSequence(Job* job, std::size_t index, runtime::Completion completion);
  void Finish(const Job& job);
  void TellProgress() const;
  [[nodiscard]] double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  BatchRunOptions options_;
  runtime::Engine engine_;
  Target target_;
  runtime::GenerateOptions defaults_;
  LineSource lines_;
  std::optional<ResultsFile> results_;
  // The results in the file to resume: by line, and how often each id of results that tell none.
  // Ids may be equal; results without their lines are in the order of these, so the first are had.
  std::map<std::size_t, std::string> had_lines_;
  std::map<std::string, std::size_t> had_;
  std::map<std::size_t, std::string> held_;  // lines that wait for an earlier one, by place
  std::size_t next_place_ = 0, next_to_write_ = 0;
  bool at_end_ = false, has_head_ = false;
  Result<void> written_;
  std::size_t done_ = 0, failed_ = 0, resumed_ = 0, tokens_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace bittern::request
