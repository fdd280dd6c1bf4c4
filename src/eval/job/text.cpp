// SPDX-License-Identifier: Apache-2.0
// A text: windows, their scores, the sum.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "eval/job/job.hpp"
#include "eval/job/logits.hpp"
#include "eval/perplexity.hpp"
#include "eval/windows.hpp"

namespace bittern::eval {
namespace {

std::string_view WindowMethodName(WindowMethod method) {
  switch (method) {
    case WindowMethod::kChunks:
      return "chunks";
    case WindowMethod::kStrided:
      return "strided";
    case WindowMethod::kEveryToken:
      return "every-token";
  }
  return "";
}

/// Token ids as `bittern tokenize --ids` prints them, or a JSON list.
Result<std::vector<tokenizer::TokenId>> ReadIdList(const Job& job) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<tokenizer::TokenId> ids;
  std::string_view rest = job.text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return ids;
    const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
    tokenizer::TokenId id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: token ids expected, {} found", job.options.input,
                              Quoted(word.substr(0, 40))));
    }
    ids.push_back(id);
    rest.remove_prefix(word.size());
  }
}

/// The windows that the options ask for; a text shorter than one counts token by token.
WindowOptions WindowsOf(const Job& job, std::size_t num_tokens) {
  constexpr int kUsual = 512;  // llama-perplexity's
  const JobOptions& options = job.options;
  const int limit = job.model->model.config().context_length;
  const int wanted = options.window == 0 ? kUsual : options.window;
  WindowOptions windows{
      .size = std::min(wanted, limit), .stride = options.stride, .most = options.most};
  if (options.window > limit) {
    if (job.on_notice)
      job.on_notice(fmt::format("window={} is above the model's limit; using {}", wanted, limit));
  }
  if (options.every_token) {
    windows.method = WindowMethod::kEveryToken;
  } else if (options.stride != 0) {
    windows.method = WindowMethod::kStrided;
    windows.size = std::min(windows.size, limit - options.stride / 2);
  } else if (num_tokens < static_cast<std::size_t>(windows.size)) {
    windows.method = WindowMethod::kEveryToken;
    if (job.on_notice)
      job.on_notice(
          fmt::format("{} tokens are fewer than a window of {}; every token but the first counts",
                      num_tokens, windows.size));
  }
  return windows;
}

/// A window's line in the output. ReadWindowLine reads it where a run goes on.
Json WindowLine(std::size_t index, const TextScore& score) {
  return {{"window", index},    {"tokens", score.tokens}, {"bytes", score.bytes},
          {"top1", score.best}, {"nats", score.nats},     {"squared_nats", score.squared_nats}};
}

TextScore ReadWindowLine(const Json& line) {
  return {.tokens = CountIn(line, "tokens"),
          .bytes = CountIn(line, "bytes"),
          .best = CountIn(line, "top1"),
          .nats = line["nats"].AsNumber().value_or(0),
          .squared_nats = line["squared_nats"].AsNumber().value_or(0)};
}

/// A text's tokens and windows.
struct TextSubject {
  std::vector<tokenizer::TokenId> tokens;
  WindowOptions options;
  std::vector<Window> windows;
};

/// Encodes the text, or reads its ids, and cuts it into windows.
Result<TextSubject> MakeTextSubject(const Job& job) {
  TextSubject subject;
  if (job.options.ids) {
    subject.tokens = BITTERN_TRY(ReadIdList(job));
  } else {
    subject.tokens = job.model->tokenizer.Encode(job.text);
  }
  subject.options = WindowsOf(job, subject.tokens.size());
  subject.windows =
      BITTERN_TRY(CutWindows(subject.tokens.size(), subject.options).map_error([&](Error error) {
        return Within(job.options.input, std::move(error));
      }));
  return subject;
}

/// The settings that both the summary and the first line of the output have.
Json EvalSettings(const Job& job, const TextSubject& subject) {
  return {{"file", job.options.input},
          {"model", job.model->model.checkpoint().path()},
          {"method", WindowMethodName(subject.options.method)},
          {"window", subject.options.size},
          {"stride", subject.options.stride},
          {"windows", subject.windows.size()}};
}

Json TextSummary(Json settings, const TextScore& sum) {
  const auto share = static_cast<double>(sum.best) / static_cast<double>(sum.tokens);
  settings["perplexity"] = sum.perplexity();
  settings["perplexity_error"] = sum.perplexity_error();
  settings["bits_per_byte"] = sum.bits_per_byte();
  settings["nats_per_token"] = sum.nats_per_token();
  settings["top1"] = share;
  settings["tokens"] = sum.tokens;
  settings["bytes"] = sum.bytes;
  return settings;
}

}  // namespace

/// Windows whose lines are in the output already are added from there, not run again.
Result<Json> ScoreText(const Job& job) {
  const TextSubject subject = BITTERN_TRY(MakeTextSubject(job));
  const auto& tokenizer = job.model->tokenizer;
  Json settings = EvalSettings(job, subject);
  Json header = settings;
  header["hash"] = HashOf(job.text);
  auto lines = BITTERN_TRY(ResultLines::Open(job.options, header));
  auto logits =
      BITTERN_TRY(LogitsFile::Open(job, subject.options, subject.tokens, subject.windows.size()));
  TextScore sum;
  for (const auto& line : lines.earlier()) sum.Add(ReadWindowLine(line));
  const std::size_t first = std::min(lines.earlier().size(), subject.windows.size());
  const tokenizer::TokenId bos = tokenizer.adds_bos() ? tokenizer.bos_id() : -1;
  std::vector<ScoreGroup> groups;
  for (const Window& window : std::span(subject.windows).subspan(first)) {
    groups.push_back({ItemOf(window, subject.tokens, bos)});
  }
  const auto on_window = [&](std::size_t index, const GroupScores& scores) -> Result<void> {
    const auto scored = std::span(groups[index][0].tokens).subspan(groups[index][0].first_scored);
    const TextScore score = SumOf(scores[0], scored, tokenizer);
    sum.Add(score);
    job.Tell(first + index + 1, subject.windows.size(), [&] {
      return fmt::format("{}, perplexity {:.4f}",
                         ProgressText(job, "windows", index + 1, first, subject.windows.size()),
                         sum.perplexity());
    });
    BITTERN_TRY(logits.EndWindow(index));
    return lines.Write(WindowLine(first + index, score));
  };
  ScoreOptions options = job.score;
  options.on_row = logits.OnRow();
  const auto stats = BITTERN_TRY(Score(job.model, groups, options, on_window));
  auto summary = TextSummary(std::move(settings), sum);
  BITTERN_TRY(logits.Finish(&summary));
  summary["tokens_run"] = stats.tokens_run;
  summary["passes"] = stats.passes;
  summary["seconds"] = job.seconds();
  return summary;
}

}  // namespace bittern::eval
