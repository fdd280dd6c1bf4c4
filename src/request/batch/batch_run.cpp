// SPDX-License-Identifier: Apache-2.0
// Lines enter the engine until it has enough of them; results wait until theirs is the next line.
#include "request/batch/batch_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "request/answer_json.hpp"

namespace bittern::request {

/// Notes the results that are there. A line that is no result stops the resuming: the file may be
/// another one, which must not be written to.
Result<void> BatchRun::Open() {
  const std::string head = options_.part ? WritePartHead(*options_.part) : "";
  const auto on_line = [&](std::string_view line, bool is_whole) {
    if (!is_whole) return BeginsBatchResult(line) || (!has_head_ && head.starts_with(line));
    return options_.part ? TakeHadOfPart(line) : TakeHad(line);
  };
  auto opened = ResultsFile::Open(options_.output, options_.resume, on_line);
  BITTERN_TRY(written_);  // says better what is wrong
  results_ = BITTERN_TRY(std::move(opened));
  if (options_.part && !has_head_) BITTERN_TRY(results_->Write(head));
  return {};
}

bool BatchRun::TakeHad(std::string_view line) {
  const auto name = NameOfBatchResult(line);
  if (!name) return false;
  ++resumed_;
  if (name->number) {
    had_lines_[*name->number] = name->id;
  } else {
    ++had_[name->id];
  }
  return true;
}

tl::unexpected<Error> BatchRun::WrongPart(std::size_t at, std::string_view why) const {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: line {}: {}; choose another name", options_.output, at, why));
}

/// A part is written in the order of its lines, so those that are there are its first ones.
bool BatchRun::TakeHadOfPart(std::string_view line) {
  const PartHead& here = *options_.part;
  if (!has_head_) {
    const auto head = ReadPartHead(line);
    if (!head) return false;
    has_head_ = true;
    std::string difference = DifferenceOf(here, *head);
    if (difference.empty() && head->shard.index != here.shard.index) {
      difference = fmt::format("{} expected, {} found", here.shard.Name(), head->shard.Name());
    }
    if (difference.empty()) return true;
    written_ = WrongPart(1, "it is another part: " + difference);
    return false;
  }
  const auto result = ReadBatchPartLine(line);
  if (!result) return false;
  const std::size_t expected = here.shard.index + resumed_ * here.shard.count;
  if (*result->name.number != expected) {
    written_ = WrongPart(resumed_ + 2, fmt::format("the result of line {} of the input expected, "
                                                   "that of line {} found",
                                                   expected, *result->name.number));
    return false;
  }
  return TakeHad(line);
}

/// Results with line numbers must have the same id in this input. Results without them are counted
/// by id.
bool BatchRun::IsThere(const BatchLine& read) {
  if (const auto line = had_lines_.find(lines_.number()); line != had_lines_.end()) {
    if (line->second == read.id) return true;
    written_ = Fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: it has the result of line {} of another input: the id \"{}\" "
                                "expected, \"{}\" found",
                                options_.output, lines_.number(), read.id, line->second));
    return true;
  }
  const auto had = had_.find(read.id);
  if (had == had_.end() || had->second == 0) return false;
  --had->second;
  return true;
}

/// Submits lines until enough of them wait.
void BatchRun::Feed() {
  const std::size_t most = 2 * static_cast<std::size_t>(options_.parallel);
  std::string line;
  // Results that wait for an earlier line are bounded, too.
  while (written_ && !at_end_ && engine_.active() < most && held_.size() < 64 * most) {
    if (!lines_.Next(&line)) {
      at_end_ = true;
      return;
    }
    if (options_.part && !options_.part->shard.Has(lines_.number())) continue;
    auto read = ReadBatchLine(line, lines_.number(), target_, defaults_);
    if (IsThere(read)) continue;
    const auto job = std::make_shared<Job>(Job{.place = next_place_++, .name = {.id = read.id}});
    if (options_.unordered || options_.part) job->name.number = lines_.number();
    if (read.request) {
      job->request = *std::move(read.request);
      Start(job);
    } else {
      job->error = std::move(read.request).error();
      Finish(*job);
    }
  }
}

/// A sequence that the engine refuses counts as ended, so that the others still end the job.
void BatchRun::Start(const std::shared_ptr<Job>& job) {
  const auto choices = static_cast<std::size_t>(job->request.choices);
  job->left = job->request.sequences();
  job->results.resize(job->left);
  for (std::size_t i = 0; i < job->results.size(); ++i) {
    runtime::Request sequence{.prompt = job->request.prompts[i / choices],
                              .options = OptionsOfChoice(job->request, i % choices)};
    sequence.options.cancel = options_.cancel;
    sequence.on_done = [this, job, i](runtime::Completion completion) {
      TakeSequence(job.get(), i, std::move(completion));
    };
    if (const auto submitted = engine_.Submit(std::move(sequence)); !submitted) {
      TakeSequence(job.get(), i,
                   {.id = 0, .result = tl::unexpected(submitted.error()), .timings = {}});
    }
  }
}

/// The last sequence of a job that ends writes its line.
void BatchRun::TakeSequence(Job* job, std::size_t index, runtime::Completion completion) {
  if (!completion.result) {
    job->error = std::move(completion.result).error();
  } else {
    job->cancelled |= completion.result->finish == runtime::FinishReason::kCancelled;
    job->results[index] = *std::move(completion.result);
  }
  if (index == 0) job->timings = completion.timings;
  if (--job->left == 0) Finish(*job);
}

/// Makes the line, then writes all lines whose turn it is. A cancelled job writes none.
void BatchRun::Finish(const Job& job) {
  if (job.cancelled || !written_) return;  // a resumed run does it again
  ++done_;
  Json result;
  if (job.error) {
    ++failed_;
    result = {{"error", MessageAndHint(*job.error)}};
  } else {
    for (const runtime::GenerateResult& one : job.results) tokens_ += one.ids.size();
    result = AnswerJson(job.request, job.results, target_.tokenizer());
  }
  if (options_.timings) result["timings"] = TimingsJson(job.timings);
  held_[job.place] = WriteBatchLine(job.name, std::move(result));
  // In the order of the lines, or all at once.
  for (auto it = held_.begin();
       it != held_.end() && (options_.unordered || it->first == next_to_write_);
       it = held_.erase(it)) {
    written_ = results_->Write(it->second);
    if (!written_) return;
    ++next_to_write_;
  }
}

/// The time left follows from this run's own speed, without the results that were there before.
void BatchRun::TellProgress() const {
  const double seconds = Seconds();
  const std::size_t total =
      options_.part ? options_.part->shard.LinesOf(lines_.total()) : lines_.total();
  std::string text = fmt::format("{} done", resumed_ + done_);
  if (total != 0) text += fmt::format(" of {}", total);
  if (failed_ != 0) text += fmt::format(", {} with errors", failed_);
  text += fmt::format(", {:.0f} tokens/s", static_cast<double>(tokens_) / std::max(seconds, 1e-3));
  if (total > resumed_ + done_ && done_ > 0) {
    const double left = static_cast<double>(total - resumed_ - done_);
    text += fmt::format(", {:.0f} s left", seconds * left / static_cast<double>(done_));
  }
  if (options_.on_progress) options_.on_progress(text);
}

Result<void> BatchRun::Run() {
  auto shown = start_;
  Feed();
  while (written_ && engine_.Step()) {
    Feed();
    if (std::chrono::steady_clock::now() - shown > std::chrono::milliseconds(200)) {
      shown = std::chrono::steady_clock::now();
      TellProgress();
    }
    if (options_.cancel != nullptr && options_.cancel->load()) at_end_ = true;
  }
  return written_;
}

std::vector<std::string> BatchRun::Summary() const {
  const double seconds = Seconds();
  const runtime::PrefixCacheStats cache = engine_.stats().prefix_cache;
  std::vector<std::string> lines = {fmt::format(
      "{} requests, {} with errors, {} tokens in {:.1f} s ({:.1f} tokens/s)", done_, failed_,
      tokens_, seconds, static_cast<double>(tokens_) / std::max(seconds, 1e-3))};
  if (resumed_ != 0) lines.push_back(fmt::format("{} results were there already", resumed_));
  if (cache.found_tokens != 0) {
    lines.push_back(fmt::format(
        "{:.0f} % of the prompt tokens were found in the prefix cache ({} pages, {} MiB)",
        100 * cache.hit_rate(), cache.pages, cache.bytes >> 20));
  }
  return lines;
}

}  // namespace bittern::request
