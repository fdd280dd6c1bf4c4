// SPDX-License-Identifier: Apache-2.0
// `bittern eval` of a text: windows, their scores, the sum.
#include <charconv>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "cli/eval/eval_logits.hpp"
#include "cli/eval/eval_options.hpp"
#include "eval/perplexity.hpp"
#include "eval/windows.hpp"

namespace bittern::cli {
namespace {

using eval::TextScore;
using eval::WindowMethod;

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
Result<std::vector<runtime::TokenId>> ReadIdList(const EvalJob& job) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<runtime::TokenId> ids;
  std::string_view rest = job.text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return ids;
    const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
    runtime::TokenId id = 0;
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

/// The windows that the flags ask for; a text shorter than one counts token by token.
eval::WindowOptions WindowsOf(const EvalJob& job, std::size_t num_tokens) {
  constexpr int kUsual = 512;  // llama-perplexity's
  const EvalOptions& options = job.options;
  const int limit = job.model->model.config().context_length;
  const int wanted = options.context.context_length == 0 ? kUsual : options.context.context_length;
  eval::WindowOptions windows{
      .size = std::min(wanted, limit), .stride = options.stride, .most = options.most};
  if (options.context.context_length > limit) {
    PrintError("notice: -c {} is above the model's limit; using {}\n", wanted, limit);
  }
  if (options.every_token) {
    windows.method = WindowMethod::kEveryToken;
  } else if (options.stride != 0) {
    windows.method = WindowMethod::kStrided;
    windows.size = std::min(windows.size, limit - options.stride / 2);
  } else if (num_tokens < static_cast<std::size_t>(windows.size)) {
    windows.method = WindowMethod::kEveryToken;
    PrintError(
        "notice: {} tokens are fewer than a window of {}; every token but the first counts\n",
        num_tokens, windows.size);
  }
  return windows;
}

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
  std::vector<runtime::TokenId> tokens;
  eval::WindowOptions options;
  std::vector<eval::Window> windows;
};

Result<TextSubject> MakeTextSubject(const EvalJob& job) {
  TextSubject subject;
  if (job.options.as == "ids") {
    subject.tokens = BITTERN_TRY(ReadIdList(job));
  } else {
    subject.tokens = job.model->tokenizer.Encode(job.text);
  }
  subject.options = WindowsOf(job, subject.tokens.size());
  subject.windows = BITTERN_TRY(
      eval::CutWindows(subject.tokens.size(), subject.options).map_error([&](Error error) {
        return Within(job.options.input, std::move(error));
      }));
  return subject;
}

Json EvalSettings(const EvalJob& job, const TextSubject& subject) {
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

Result<Json> EvalText(const EvalJob& job) {
  const TextSubject subject = BITTERN_TRY(MakeTextSubject(job));
  const auto& tokenizer = job.model->tokenizer;
  Json settings = EvalSettings(job, subject);
  Json header = settings;
  header["hash"] = HashText(job.text);
  auto lines = BITTERN_TRY(EvalLines::Open(job.options, header));
  auto logits =
      BITTERN_TRY(EvalLogits::Open(job, subject.options, subject.tokens, subject.windows.size()));
  TextScore sum;
  for (const auto& line : lines.earlier()) sum.Add(ReadWindowLine(line));
  const std::size_t first = std::min(lines.earlier().size(), subject.windows.size());
  const runtime::TokenId bos = tokenizer.adds_bos() ? tokenizer.bos_id() : -1;
  std::vector<eval::ScoreGroup> groups;
  for (const eval::Window& window : std::span(subject.windows).subspan(first)) {
    groups.push_back({eval::ItemOf(window, subject.tokens, bos)});
  }
  ProgressLine progress;
  const auto on_window = [&](std::size_t index, const eval::GroupScores& scores) -> Result<void> {
    const auto scored = std::span(groups[index][0].tokens).subspan(groups[index][0].first_scored);
    const TextScore score = eval::SumOf(scores[0], scored, tokenizer);
    sum.Add(score);
    progress.ShowIfSlow(fmt::format(
        "{}, perplexity {:.4f}",
        EvalProgress(job, "windows", index + 1, first, subject.windows.size()), sum.perplexity()));
    BITTERN_TRY(logits.EndWindow(index));
    return lines.Write(WindowLine(first + index, score));
  };
  eval::ScoreOptions options = job.score;
  options.on_row = logits.OnRow();
  const auto stats = BITTERN_TRY(eval::Score(job.model, groups, options, on_window));
  auto summary = TextSummary(std::move(settings), sum);
  BITTERN_TRY(logits.Finish(&summary));
  summary["tokens_run"] = stats.tokens_run;
  summary["passes"] = stats.passes;
  summary["seconds"] = job.seconds();
  return summary;
}

}  // namespace bittern::cli
