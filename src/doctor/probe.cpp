// SPDX-License-Identifier: Apache-2.0
// All texts of a probe run in the same passes. One thread calls; the passes use the team.
#include "doctor/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "eval/scorer.hpp"
#include "runtime/chat/chat_prompt.hpp"

namespace bittern::doctor {
namespace {

using tokenizer::TokenId;

constexpr double kLeastGain = 0.06;  // nats per token: harmless differences make up to 0.02
constexpr double kLeastGainOfMore = 0.03;
constexpr double kLeastGainOtherTokens = 0.12;
constexpr double kSigmas = 3;
constexpr int kBatch = 128;  // tokens of a pass: little more memory than a run takes
constexpr std::size_t kMostTokens = 256, kMostTokensOfMore = 480;  // of a text

/// What follows the probe's texts where more is wanted.
constexpr std::array<std::string_view, kNumPlainTexts> kMoreTexts = {
    " And God said, Let there be a firmament in the midst of the waters, and let it divide the "
    "waters from the waters. And God made the firmament, and divided the waters which were under "
    "the firmament from the waters which were above the firmament: and it was so. And God called "
    "the firmament Heaven. And the evening and the morning were the second day. The LORD is my "
    "shepherd; I shall not want. He maketh me to lie down in green pastures: he leadeth me beside "
    "the still waters. He restoreth my soul: he leadeth me in the paths of righteousness for his "
    "name's sake. Yea, though I walk through the valley of the shadow of death, I will fear no "
    "evil: for thou art with me; thy rod and thy staff they comfort me.",
    " A house is a dwelling that serves as living quarters for one or more families. A river is a "
    "large natural stream of water. A king is a male sovereign. A road is an open way for travel "
    "or transportation. A city is a large and densely populated urban area. A letter is a written "
    "message addressed to a person or organization. A doctor is a licensed medical practitioner. A "
    "child is a young person of either sex. A school is an educational institution. A garden is a "
    "plot of ground where plants are cultivated. A tree is a tall perennial woody plant having a "
    "main trunk and branches forming a distinct elevated crown. A song is a short musical "
    "composition with words. A machine is any mechanical or electrical device that transmits or "
    "modifies energy to perform or assist in the performance of human tasks.",
    " He asked her what time it was, and she said that it was half past nine. Water boils at one "
    "hundred degrees. In the morning they took the train to the sea; it was cold, but the sky was "
    "clear, and by noon everybody was glad to be there. \"Where have you been?\" said his mother. "
    "\"I was at school,\" he said, \"and then I went to see a friend.\" The first thing you need "
    "to know about a house is who built it, and the second is what it is built of."};

struct Question {
  std::string_view question, answer;
};
constexpr Question kQuestions[] = {
    {"What is a dog?", "A dog is a domestic animal of the genus Canis, often kept as a pet."},
    {"What is the capital of France?", "The capital of France is Paris."},
    {"Is a dog an animal?", "Yes, a dog is an animal."},
    {"What is the opposite of hot?", "The opposite of hot is cold."},
    {"What is water?", "Water is a clear liquid without color or taste that falls as rain."},
    {"How many days are in a week?", "A week has seven days."},
    {"What does run mean?", "To run is to move fast on foot."},
    {"What is the sun?", "The sun is the star that gives light and heat to the earth."},
    {"What is the chemical symbol of gold?", "The symbol of gold is Au."},
    {"What is a house?", "A house is a building that people live in."},
};

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

Groups PlainTexts(const runtime::LoadedModel& model, std::size_t limit, bool more) {
  Groups groups;
  for (std::size_t i = 0; i < kNumPlainTexts; ++i) {
    std::string text(ProbeTexts()[i]);
    if (more) text += kMoreTexts[i];
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
  for (const Question& question : kQuestions) {
    const auto messages = formats::Json::Parse(
        fmt::format(R"([{{"role":"user","content":"{}"}}])", question.question), {});
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

/// Of each kind of text a group, and where `order` is wanted one more with the same shuffled.
Groups GroupsOf(const runtime::LoadedModel& model, bool order, bool more) {
  const auto limit = static_cast<std::size_t>(model.model.config().context_length);
  Groups groups = PlainTexts(model, limit, more);
  if (auto talk = Conversations(model, limit); !talk.empty()) groups.push_back(std::move(talk));
  const std::size_t kinds = groups.size();
  for (std::size_t i = 0; order && i < kinds; ++i) {
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

const std::array<std::string_view, kNumPlainTexts>& ProbeTexts() noexcept {
  static constexpr std::array<std::string_view, kNumPlainTexts> kTexts = {
      "In the beginning God created the heaven and the earth. And the earth was without form, and "
      "void; and darkness was upon the face of the deep. And the Spirit of God moved upon the face "
      "of the waters. And God said, Let there be light: and there was light. And God saw the "
      "light, "
      "that it was good: and God divided the light from the darkness. And God called the light "
      "Day, "
      "and the darkness he called Night. And the evening and the morning were the first day.",
      "A tern is a small slender gull having narrow wings and a forked tail. A farm is a workplace "
      "consisting of farm buildings and cultivated land as a unit. Mud is water soaked soil. A "
      "march "
      "is the act of marching. An incident is a single distinct event. Study is a detailed "
      "critical "
      "inspection. Reason is a rational motive for a belief or action. A game is a contest with "
      "rules to determine a winner. An individual is a human being. A wing is a movable organ for "
      "flying.",
      "The sun rises in the east and sets in the west. Paris is the capital of France, and London "
      "is "
      "the capital of England. One, two, three, four, five, six, seven, eight, nine, ten. She "
      "opened "
      "the door and went out into the garden, where the children were playing with a ball. It's "
      "2024 now, and they don't know what they'll do in the next 10 years."};
  return kTexts;
}

double TextProbe::sum() const noexcept { return std::accumulate(nats.begin(), nats.end(), 0.0); }
double TextProbe::per_token() const noexcept { return Mean(nats); }
double TextProbe::per_byte() const noexcept {
  if (nats.empty()) return std::numeric_limits<double>::infinity();
  return sum() / static_cast<double>(std::max<std::size_t>(bytes, 1));
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

Gain GainWith(const Probe& a, const Probe& b, double least) noexcept {
  const std::vector<double>& before = a.texts[b.best()].nats;
  const std::vector<double>& after = b.texts[b.best()].nats;
  const auto count = static_cast<double>(std::max<std::size_t>(before.size(), 1));
  Gain gain{.nats = (a.texts[b.best()].sum() - b.texts[b.best()].sum()) / count};
  // A text that b knows best and a knew better elsewhere proves nothing.
  if (b.texts[b.best()].per_byte() >= a.texts[a.best()].per_byte()) return gain;
  if (before.size() != after.size()) {
    gain.clear = gain.nats >= kLeastGainOtherTokens;
    return gain;
  }
  double variance = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double difference = before[i] - after[i] - gain.nats;
    variance += difference * difference;
  }
  const double error = std::sqrt(variance) / count;
  gain.clear = gain.nats >= least && gain.nats >= kSigmas * error;
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
  const auto groups = GroupsOf(*model, options.order, options.more);
  Probe probe{.texts = {}, .uniform = std::log(model->model.config().vocab_size)};
  const std::size_t kinds = options.order ? groups.size() / 2 : groups.size();
  std::array<double, kNumTexts> shuffled = {};
  const auto keep = [&](std::size_t index, const eval::GroupScores& scores) -> Result<void> {
    std::vector<double> nats;
    std::size_t bytes = 0;
    for (std::size_t item = 0; item < scores.size(); ++item) {
      const eval::ScoreItem& text = groups[index][item];
      for (std::size_t i = 0; i < scores[item].size(); ++i) {
        nats.push_back(scores[item][i].nats);
        bytes += model->tokenizer.TokenBytes(text.tokens[text.first_scored + i]).size();
      }
    }
    if (index < kinds) {
      probe.texts[index] = {std::move(nats), bytes};
    } else {
      shuffled[index - kinds] = Mean(nats);
    }
    return {};
  };
  BITTERN_TRY(
      eval::Score(model, groups, {.batch_size = kBatch, .num_threads = options.num_threads}, keep));
  if (options.order) probe.order_gain = shuffled[probe.best()] - probe.nats();
  return probe;
}

}  // namespace bittern::doctor
