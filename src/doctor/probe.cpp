// SPDX-License-Identifier: Apache-2.0
// All texts of a probe run in the same passes. One thread calls; the passes use the team.
#include "doctor/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/json/json.hpp"
#include "eval/scorer.hpp"
#include "model/matrix_layout.hpp"
#include "runtime/chat/chat_prompt.hpp"

namespace bittern::doctor {
namespace {

using tokenizer::TokenId;

constexpr double kLeastGain = 0.06;  // nats per token: harmless differences make up to 0.02
constexpr double kLeastGainOfMore = 0.03;
constexpr double kLeastGainOtherTokens = 0.12;
constexpr double kSigmas = 3, kManySigmas = 4;
constexpr int kBatch = 128;  // tokens of a pass: little more memory than a run takes
constexpr std::size_t kMostTokens = 256, kMostTokensOfMore = 480;  // of a text

/// Another order of the tokens from `first` on, the same every time.
std::vector<TokenId> Shuffled(std::vector<TokenId> tokens, std::size_t first) {
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = tokens.size() - first; i > 1; --i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::swap(tokens[first + i - 1], tokens[first + state % i]);
  }
  return tokens;
}

/// Texts of one kind are a group; their scores are put together.
using Groups = std::vector<eval::ScoreGroup>;

/// The built-in texts as items to score. All tokens but the first count.
Groups PlainTexts(const runtime::LoadedModel& model, std::size_t limit, bool more) {
  Groups groups;
  for (std::size_t i = 0; i < kNumPlainTexts; ++i) {
    std::string text(ProbeTexts()[i]);
    if (more) text += MoreProbeTexts()[i];
    auto tokens = model.tokenizer.Encode(text);
    if (tokens.size() < 2) tokens.resize(2);
    tokens.resize(std::min({tokens.size(), limit, more ? kMostTokensOfMore : kMostTokens}));
    groups.push_back({{.tokens = tokens, .first_scored = 1}});
  }
  return groups;
}

/// One conversation of one question in each item; none where the model has no chat form.
eval::ScoreGroup Conversations(const runtime::LoadedModel& model, std::size_t limit) {
  Decisions decisions;
  const auto prompt = runtime::ChatPrompt::Create(model.model.checkpoint().metadata(),
                                                  model.tokenizer, "", &decisions);
  if (!prompt) return {};
  eval::ScoreGroup group;
  for (const Question& question : ProbeQuestions()) {
    const auto messages =
        Json::Parse(fmt::format(R"([{{"role":"user","content":"{}"}}])", question.question), {});
    const auto asked = messages ? prompt->Apply(*messages, model.tokenizer)
                                : Result<runtime::RenderedPrompt>(tl::unexpected(messages.error()));
    if (!asked) return {};
    const auto answer = model.tokenizer.Encode(question.answer, {.add_bos = false});
    eval::ScoreItem item{.tokens = asked->ids, .first_scored = asked->ids.size()};
    item.tokens.insert(item.tokens.end(), answer.begin(), answer.end());
    if (item.first_scored == 0 || answer.empty() || item.tokens.size() > limit) return {};
    group.push_back(std::move(item));
  }
  return group;
}

/// A group for each kind of text, and if `order` is wanted one more with the same text shuffled.
Groups GroupsOf(const runtime::LoadedModel& model, const ProbeOptions& options) {
  const auto limit = static_cast<std::size_t>(model.model.config().context_length);
  Groups groups = PlainTexts(model, limit, options.more);
  if (auto talk = Conversations(model, limit); !talk.empty()) groups.push_back(std::move(talk));
  if (options.only) return {groups[std::min(*options.only, groups.size() - 1)]};
  const std::size_t kinds = groups.size();
  for (std::size_t i = 0; options.order && i < kinds; ++i) {
    eval::ScoreGroup shuffled = groups[i];
    for (auto& item : shuffled) item.tokens = Shuffled(std::move(item.tokens), item.first_scored);
    groups.push_back(std::move(shuffled));
  }
  return groups;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

}  // namespace

double TextProbe::sum() const noexcept { return std::accumulate(nats.begin(), nats.end(), 0.0); }
double TextProbe::per_token() const noexcept { return Mean(nats); }
double TextProbe::per_byte() const noexcept {
  if (nats.empty()) return std::numeric_limits<double>::infinity();
  return sum() / static_cast<double>(std::max<std::size_t>(bytes, 1));
}

TextProbe::Excess TextProbe::excess() const noexcept {
  const auto count = static_cast<double>(nats.size());
  if (nats.empty() || expected.size() != nats.size()) return {};
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < nats.size(); ++i) {
    const double more = nats[i] - expected[i];
    sum += more;
    squares += more * more;
  }
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}

std::size_t Probe::best() const noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < kNumTexts; ++i) {
    if (texts[i].per_byte() < texts[best].per_byte()) best = i;
  }
  return best;
}

double Probe::nats_of_all() const noexcept {
  double sum = 0, count = 0;
  for (const TextProbe& text : texts) {
    if (text.nats.empty()) continue;
    sum += text.per_token();
    ++count;
  }
  return sum / std::max(count, 1.0);
}

namespace {

/// The gain in nats per token on the text that `b` knows best, and whether it is more than chance.
Gain GainWith(const Probe& a, const Probe& b, double least) noexcept {
  const std::vector<double>& before = a.texts[b.best()].nats;
  const std::vector<double>& after = b.texts[b.best()].nats;
  const auto count = static_cast<double>(std::max<std::size_t>(before.size(), 1));
  Gain gain{.nats = (a.texts[b.best()].sum() - b.texts[b.best()].sum()) / count};
  // A text that b knows best and a knew better elsewhere proves nothing.
  if (b.texts[b.best()].per_byte() >= a.texts[a.best()].per_byte()) return gain;
  if (before.size() != after.size()) {
    gain.clear = gain.certain = gain.nats >= kLeastGainOtherTokens;
    return gain;
  }
  double variance = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double difference = before[i] - after[i] - gain.nats;
    variance += difference * difference;
  }
  const double error = std::sqrt(variance) / count;
  gain.clear = gain.nats >= least && gain.nats >= kSigmas * error;
  gain.certain = gain.clear && gain.nats >= kManySigmas * error;
  return gain;
}

}  // namespace

Gain GainOf(const Probe& a, const Probe& b) noexcept { return GainWith(a, b, kLeastGain); }
Gain GainOfMore(const Probe& a, const Probe& b) noexcept {
  return GainWith(a, b, kLeastGainOfMore);
}

Result<Probe> RunProbe(formats::Checkpoint checkpoint, const ProbeOptions& options) {
  const auto model = BITTERN_TRY(runtime::LoadedModel::Load(
      std::move(checkpoint), {.num_threads = options.num_threads,
                              .weights = {.layout = model::MatrixLayout::kTile16,
                                          .head = model::HeadMode::kExact,
                                          .zero_skip = model::SkipMode::kOff}}));
  const auto groups = GroupsOf(*model, options);
  Probe probe{.texts = {}, .uniform = std::log(model->model.config().vocab_size)};
  const std::size_t first = options.only.value_or(0);  // the text of the first group
  const std::size_t kinds = options.order && !options.only ? groups.size() / 2 : groups.size();
  std::array<double, kNumTexts> shuffled = {};
  // Rows come from several threads; each has a place of its own.
  const std::size_t with_doubt = options.order ? kinds : 0;
  std::vector<std::vector<std::vector<double>>> expected(with_doubt);
  for (std::size_t i = 0; i < with_doubt; ++i) {
    for (const eval::ScoreItem& item : groups[i]) {
      expected[i].emplace_back(item.tokens.size() - item.first_scored);
    }
  }
  const auto on_row = [&](const eval::ScoredRow& row) {
    if (row.group >= with_doubt) return;
    expected[row.group][row.item][row.scored] = eval::ExpectedNats(row.logits);
  };
  const auto keep = [&](std::size_t index, const eval::GroupScores& scores) -> Result<void> {
    TextProbe text;
    for (std::size_t item = 0; item < scores.size(); ++item) {
      const eval::ScoreItem& scored = groups[index][item];
      for (std::size_t i = 0; i < scores[item].size(); ++i) {
        text.nats.push_back(scores[item][i].nats);
        text.bytes += model->tokenizer.TokenBytes(scored.tokens[scored.first_scored + i]).size();
        if (index < with_doubt) text.expected.push_back(expected[index][item][i]);
      }
    }
    if (index < kinds) {
      probe.texts[first + index] = std::move(text);
    } else {
      shuffled[index - kinds] = text.per_token();
    }
    return {};
  };
  BITTERN_TRY(eval::Score(
      model, groups, {.batch_size = kBatch, .num_threads = options.num_threads, .on_row = on_row},
      keep));
  if (kinds < groups.size()) probe.order_gain = shuffled[probe.best()] - probe.nats();
  return probe;
}

}  // namespace bittern::doctor
