// SPDX-License-Identifier: Apache-2.0
// Speculation changes the time of a text and nothing else: ids, text, end, and the state that the
// session is left in are those of plain decoding, whatever ends the generation and wherever.
#include "runtime/speculation.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "golden.hpp"

namespace bittern::runtime {
namespace {

using testing_support::ShippedModelPath;

std::shared_ptr<const LoadedModel> Load(std::vector<std::string> overrides = {},
                                        const model::LoadOptions& weights = {}) {
  auto model =
      LoadedModel::Load(ShippedModelPath(),
                        {.overrides = std::move(overrides), .num_threads = 2, .weights = weights});
  if (!model.has_value()) throw std::runtime_error(model.error().message);
  return *model;
}

std::shared_ptr<const LoadedModel> Shared() {
  static const auto model = Load();
  return model;
}

/// A text that repeats itself, so that there is something to guess.
std::vector<TokenId> Prompt() {
  return Shared()->tokenizer.Encode(
      "And God said, Let there be light: and there was light. And God said, Let there be a "
      "firmament. And God said, Let there");
}

/// Everything a caller can see of a generation.
struct Outcome {
  std::vector<TokenId> ids, tokens;
  std::string text, error;
  FinishReason finish = FinishReason::kLength;
  std::vector<float> logits, later;  // after two more tokens
  int predicted = 0;
  int drafted = 0, accepted = 0;  // not compared
};

void ExpectSame(const Outcome& a, const Outcome& b, const std::string& what) {
  EXPECT_EQ(a.ids, b.ids) << what;
  EXPECT_EQ(a.tokens, b.tokens) << what;
  EXPECT_EQ(a.text, b.text) << what;
  EXPECT_EQ(a.error, b.error) << what;
  EXPECT_EQ(a.finish, b.finish) << what;
  EXPECT_EQ(a.predicted, b.predicted) << what;
  EXPECT_TRUE(a.logits == b.logits) << what;
  EXPECT_TRUE(a.later == b.later) << what;
}

struct Case {
  GenerateOptions generate = {.max_tokens = 60, .sampler = {.temperature = 0}};
  SessionOptions session = {.num_threads = 1};
  std::shared_ptr<const LoadedModel> model = Shared();
  std::vector<TokenId> prompt = Prompt();
  int refuse_after = -1;  ///< calls of on_text; < 0: never
  int cancel_after = -1;
};

Outcome Continue(Case c, Speculation mode) {
  auto session = Session::Create(c.model, c.session);
  EXPECT_TRUE(session.has_value() && session->Prefill(c.prompt).has_value());
  c.generate.speculation = mode;
  std::atomic<bool> cancel{false};
  c.generate.cancel = &cancel;
  int calls = 0;
  Outcome outcome;
  const auto result = session->Generate(c.generate, [&](std::string_view) {
    ++calls;
    if (calls == c.cancel_after) cancel = true;
    return calls != c.refuse_after;
  });
  if (result.has_value()) {
    outcome.ids = result->ids;
    outcome.text = result->text;
    outcome.finish = result->finish;
    outcome.drafted = result->drafted;
    outcome.accepted = result->accepted;
    EXPECT_EQ(session->timings().drafted_tokens, result->drafted);
  } else {
    outcome.error = result.error().message;
  }
  outcome.tokens.assign(session->tokens().begin(), session->tokens().end());
  outcome.logits.assign(session->logits().begin(), session->logits().end());
  if (session->Prefill(std::vector<TokenId>{5, 6}).has_value()) {
    outcome.later.assign(session->logits().begin(), session->logits().end());
  }
  outcome.predicted = session->timings().predicted_tokens;
  return outcome;
}

/// Runs the case in all modes; returns what kAlways gave.
Outcome ExpectSameInAllModes(const Case& c, const std::string& what) {
  const Outcome plain = Continue(c, Speculation::kOff);
  EXPECT_EQ(plain.drafted, 0);
  ExpectSame(plain, Continue(c, Speculation::kNgram), what + ", ngram");
  Outcome always = Continue(c, Speculation::kAlways);
  ExpectSame(plain, always, what + ", always");
  return always;
}

TEST(Speculation, GreedyTextIsTheSame) {
  const Outcome outcome = ExpectSameInAllModes({}, "greedy");
  EXPECT_GT(outcome.drafted, 0);
  EXPECT_GT(outcome.accepted, 0);
  EXPECT_LE(outcome.accepted, outcome.drafted);
}

TEST(Speculation, SampledTextIsTheSameForEverySeed) {
  int accepted = 0, rejected = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    Case c;
    c.generate.sampler = {.seed = seed};
    if (seed % 3 == 0) c.generate.sampler.repeat_penalty = 1.1f;
    if (seed % 4 == 0) c.generate.sampler.temperature = 1.5f;
    const Outcome outcome = ExpectSameInAllModes(c, "seed " + std::to_string(seed));
    accepted += outcome.accepted;
    rejected += outcome.drafted - outcome.accepted;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(rejected, 0);
}

TEST(Speculation, AScreenedHeadMakesNoDifference) {
  const auto screened =
      Load({}, {.head = model::HeadMode::kScreened, .zero_skip = model::SkipMode::kOn});
  for (std::uint32_t seed = 0; seed <= 4; ++seed) {
    Case c;
    if (seed > 0) c.generate.sampler = {.seed = seed};
    const Outcome whole_head = Continue(c, Speculation::kOff);
    c.model = screened;
    const Outcome outcome = ExpectSameInAllModes(c, "seed " + std::to_string(seed));
    EXPECT_EQ(outcome.ids, whole_head.ids) << seed;
    EXPECT_GT(outcome.drafted, 0);
  }
}

TEST(Speculation, ThreadsBatchesAndCachesDoNotMatter) {
  for (const int batch_size : {1, 2, 5, 512}) {
    for (const auto kv_type : {model::KvType::kF16, model::KvType::kF32}) {
      Case c;
      c.session = {.kv_type = kv_type, .batch_size = batch_size, .num_threads = 2};
      const Outcome outcome = ExpectSameInAllModes(c, "batch " + std::to_string(batch_size));
      EXPECT_EQ(outcome.drafted > 0, batch_size > 1);
    }
  }
}

TEST(Speculation, EveryLengthAndContextEndsAtItsPlace) {
  for (int n = 0; n <= 24; ++n) {
    Case length;
    length.generate.max_tokens = n;
    ExpectSameInAllModes(length, "length " + std::to_string(n));
    Case full;
    full.generate.max_tokens = -1;
    full.session.context_length = static_cast<int>(Prompt().size()) + n;
    EXPECT_EQ(ExpectSameInAllModes(full, "context " + std::to_string(n)).finish,
              FinishReason::kContextFull);
  }
}

TEST(Speculation, StopStringsEndWhereTheyDid) {
  const std::string text = Continue({}, Speculation::kOff).text;
  ASSERT_GT(text.size(), 40u);
  for (std::size_t begin = 0; begin + 4 <= text.size(); begin += 3) {
    Case c;
    c.generate.stops = {text.substr(begin, 4)};
    EXPECT_EQ(ExpectSameInAllModes(c, "stop at " + std::to_string(begin)).finish,
              FinishReason::kStopString);
  }
}

TEST(Speculation, AnEndTokenInsideADraftEndsTheText) {
  const std::vector<TokenId> ids = Continue({}, Speculation::kOff).ids;
  for (std::size_t i = 0; i < 30; i += 4) {
    Case c;
    c.model = Load({"tokenizer.ggml.eos_token_id=int:" + std::to_string(ids[i])});
    EXPECT_EQ(ExpectSameInAllModes(c, "end " + std::to_string(i)).finish, FinishReason::kEndOfText);
    c.generate.ignore_eos = true;
    EXPECT_EQ(ExpectSameInAllModes(c, "no end " + std::to_string(i)).finish, FinishReason::kLength);
  }
}

TEST(Speculation, CanBeCancelledInsideADraft) {
  for (int calls = 1; calls <= 20; ++calls) {
    Case refused, cancelled;
    refused.refuse_after = calls;
    EXPECT_EQ(ExpectSameInAllModes(refused, "refused " + std::to_string(calls)).finish,
              FinishReason::kCancelled);
    cancelled.cancel_after = calls;
    EXPECT_EQ(ExpectSameInAllModes(cancelled, "cancelled " + std::to_string(calls)).finish,
              FinishReason::kCancelled);
  }
}

TEST(Speculation, AConversationGoesOnTheSame) {
  std::vector<std::vector<TokenId>> ids;
  for (const Speculation mode : {Speculation::kOff, Speculation::kAlways}) {
    auto session = Session::Create(Shared(), {.num_threads = 1});
    ASSERT_TRUE(session.has_value() && session->Prefill(Prompt()).has_value());
    std::vector<TokenId> all;
    for (int turn = 0; turn < 5; ++turn) {
      const auto result = session->Generate(
          {.max_tokens = 13, .sampler = {.seed = 3}, .speculation = mode}, nullptr);
      ASSERT_TRUE(result.has_value());
      all.insert(all.end(), result->ids.begin(), result->ids.end());
      ASSERT_TRUE(session->Prefill({&result->ids.back(), 1}).has_value());
      ASSERT_TRUE(session->Prefill(Shared()->tokenizer.Encode("And God said,")).has_value());
    }
    ids.push_back(std::move(all));
  }
  EXPECT_EQ(ids[0], ids[1]);
}

TEST(Speculation, ListenersSeeTheStateOfPlainDecoding) {
  std::vector<std::vector<std::size_t>> lengths;
  std::vector<std::vector<float>> logits;
  for (const Speculation mode : {Speculation::kOff, Speculation::kAlways}) {
    auto session = Session::Create(Shared(), {.num_threads = 1});
    ASSERT_TRUE(session.has_value() && session->Prefill(Prompt()).has_value());
    auto& seen = lengths.emplace_back();
    auto& sums = logits.emplace_back();
    const auto listen = [&](std::string_view) {
      seen.push_back(session->tokens().size());
      sums.push_back(session->logits().empty() ? 0 : session->logits()[5]);
      return true;
    };
    ASSERT_TRUE(
        session
            ->Generate({.max_tokens = 40, .sampler = {.temperature = 0}, .speculation = mode},
                       listen)
            .has_value());
  }
  EXPECT_EQ(lengths[0], lengths[1]);
  EXPECT_EQ(logits[0], logits[1]);
}

}  // namespace
}  // namespace bittern::runtime
