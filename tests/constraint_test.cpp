// SPDX-License-Identifier: Apache-2.0
// Constrained texts against a slow twin, over random grammars, seeds and samplers. The program runs
// forced tokens together, computes few rows of the head or the screened head under a mask, drafts,
// and runs many sequences. The twin computes all logits, one token a pass, and finds forced tokens
// by trying every byte and every token.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "grammar/compiled_grammar.hpp"
#include "grammar/matcher.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/sampling/sampler.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {
namespace {

using grammar::Constraint;
using grammar::ConstraintKind;

constexpr int kContext = 300;

std::shared_ptr<const LoadedModel> ModelOf(model::HeadMode head) {
  const auto load = [](model::HeadMode mode) {
    auto model = LoadedModel::Load(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf",
                                   {.num_threads = 1, .weights = {.head = mode}});
    if (!model.has_value()) throw std::runtime_error(model.error().message);
    return *model;
  };
  static const auto exact = load(model::HeadMode::kExact);
  static const auto screened = load(model::HeadMode::kScreened);
  return head == model::HeadMode::kExact ? exact : screened;
}

/// The tokens that are forced, by the rule of Matcher::ForcedTokens and without its means.
std::deque<TokenId> SlowForced(const grammar::Matcher& here, const LoadedModel& model,
                               const grammar::VocabularyTrie& vocabulary) {
  grammar::Matcher matcher = here;
  const auto mask = matcher.Mask().value();
  const auto takes = [](grammar::Matcher after, std::string_view bytes) {
    return after.AcceptBytes(bytes);
  };
  std::deque<TokenId> forced;
  if (mask->may_end) return forced;
  std::vector<TokenId> allowed;
  for (std::size_t i = 0; i < vocabulary.vocab_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (vocabulary.ranks()[i] != grammar::VocabularyTrie::kNoRank &&
        takes(matcher, vocabulary.bytes(id))) {
      allowed.push_back(id);
    }
  }
  if (allowed.size() == 1) return {allowed[0]};
  std::string all;
  for (grammar::Matcher end = matcher; all.size() < grammar::Matcher::kForcedBytes;) {
    if (end.accepting()) break;
    std::string alive;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (takes(end, {&c, 1})) alive += c;
    }
    if (alive.size() != 1 || !end.AcceptBytes(alive)) break;
    all += alive;
  }
  std::size_t at = 0;
  for (const TokenId id : model.tokenizer.Encode(all, {.add_bos = false})) {
    for (std::size_t i = 0; i < vocabulary.vocab_size(); ++i) {
      const auto bytes = vocabulary.bytes(static_cast<TokenId>(i));
      if (bytes.size() > all.size() - at && takes(matcher, bytes)) return forced;
    }
    const auto bytes = vocabulary.bytes(id);
    if (all.compare(at, bytes.size(), bytes) != 0) return forced;
    EXPECT_TRUE(matcher.AcceptBytes(bytes));
    forced.push_back(id);
    at += bytes.size();
  }
  return forced;
}

/// One token a pass, from all logits.
GenerateResult Slow(const std::vector<TokenId>& prompt, const GenerateOptions& options) {
  const auto model = ModelOf(model::HeadMode::kExact);
  auto session = Session::Create(model, {.context_length = kContext, .num_threads = 1}).value();
  EXPECT_TRUE(session.Prefill(prompt));
  Sampler sampler = Sampler::Create(options.sampler, &model->tokenizer).value();
  for (const TokenId id : prompt) sampler.Accept(id);
  const auto compiled = model->grammars->Get(*options.constraint).value();
  grammar::Matcher matcher(compiled);
  std::deque<TokenId> forced;
  GenerateResult result;
  for (;;) {
    auto mask = *matcher.Mask().value();
    std::vector<TokenId> also;
    if (mask.may_end) {
      const auto ends = model->tokenizer.end_of_generation_ids();
      also.assign(ends.begin(), ends.end());
    }
    if (forced.empty()) forced = SlowForced(matcher, *model, compiled->vocabulary());
    if (!forced.empty()) {
      mask = {.count = 1, .few = {forced.front()}};
      also.clear();
      forced.pop_front();
    }
    const TokenId id = sampler.SampleAllowed(session.logits(), mask, also).value();
    result.finish = FinishReason::kEndOfText;
    if (model->tokenizer.IsEndOfGeneration(id)) return result;
    EXPECT_TRUE(matcher.Accept(id).has_value());
    sampler.Accept(id);
    result.ids.push_back(id);
    if (matcher.complete()) return result;
    result.finish = FinishReason::kLength;
    if (static_cast<int>(result.ids.size()) == options.max_tokens) return result;
    result.finish = FinishReason::kContextFull;
    if (session.tokens().size() == kContext) return result;
    EXPECT_TRUE(session.Prefill({&id, 1}));
  }
}

/// Words of a grammar in the syntax of GBNF; many of them leave no choice.
std::string RandomRule(std::mt19937* random, int depth) {
  const auto below = [&](unsigned n) { return (*random)() % n; };
  const std::string words[] = {"In the beginning",
                               "{\\\"name\\\": \\\"",
                               "\\\", \\\"value\\\": ",
                               "a",
                               " the ",
                               "begat",
                               "\\n",
                               "123456789",
                               "Moses spake unto Aaron, saying, ",
                               "é漢"};
  const std::string classes[] = {"[a-z]", "[^\\\"\\n]", "[0-9]", "[ a-zA-Z,.]", "."};
  switch (below(depth > 2 ? 3 : 6)) {
    case 0:
    case 1:
      return "\"" + words[below(std::size(words))] + "\"";
    case 2: {
      const unsigned least = below(3);
      return classes[below(std::size(classes))] + "{" + std::to_string(least) + "," +
             std::to_string(least + below(12)) + "}";
    }
    case 3:
      return "(" + RandomRule(random, depth + 1) + " | " + RandomRule(random, depth + 1) + ")";
    case 4:
      return "(" + RandomRule(random, depth + 1) + ")?";
    default:
      return RandomRule(random, depth + 1) + " " + RandomRule(random, depth + 1) + " " +
             RandomRule(random, depth + 1);
  }
}

Constraint RandomConstraint(std::mt19937* random) {
  static const Constraint kFixed[] = {
      {ConstraintKind::kJsonObject, ""},
      {ConstraintKind::kRegex, "[\\s\\S]*"},
      {ConstraintKind::kRegex, "(yes|no|yesterday), (it is|it was)[.]"},
      {ConstraintKind::kJsonSchema,
       R"({"type":"object","properties":{"first name":{"type":"string","maxLength":9},
          "kind":{"enum":["prophet","priest","king"]},"reigned":{"type":"boolean"},
          "children":{"type":"array","items":{"type":"integer"},"maxItems":3}},
          "required":["first name","kind","reigned","children"],"additionalProperties":false})"},
      {ConstraintKind::kJsonSchema,
       R"({"const":"And it came to pass, when men began to multiply"})"}};
  const unsigned choice = (*random)() % 10;
  if (choice < std::size(kFixed)) return kFixed[choice];
  return {ConstraintKind::kGbnf, "root ::= " + RandomRule(random, 0) + " " + RandomRule(random, 0)};
}

GenerateOptions RandomOptions(std::mt19937* random) {
  const auto below = [&](unsigned n) { return (*random)() % n; };
  GenerateOptions options{.max_tokens = 1 + static_cast<int>(below(60))};
  if (below(8) == 0) options.max_tokens = -1;
  options.speculation =
      std::array{Speculation::kOff, Speculation::kNgram, Speculation::kAlways}[below(3)];
  SamplerOptions& sampler = options.sampler;
  sampler.temperature = below(3) == 0 ? 0.0f : 0.2f * static_cast<float>(1 + below(9));
  sampler.top_k = static_cast<int>(below(3) == 0 ? 0 : below(60));
  sampler.top_p = below(2) == 0 ? 1.0f : 0.9f;
  sampler.min_p = below(2) == 0 ? 0.0f : 0.05f;
  sampler.repeat_penalty = below(3) == 0 ? 1.2f : 1.0f;
  sampler.frequency_penalty = below(4) == 0 ? 0.3f : 0.0f;
  sampler.xtc_probability = below(4) == 0 ? 0.5f : 0.0f;
  sampler.dry_multiplier = below(5) == 0 ? 0.8f : 0.0f;
  sampler.mirostat = below(5) == 0 ? 1 + static_cast<int>(below(2)) : 0;
  sampler.adaptive_target = below(8) == 0 ? 0.4f : -1.0f;
  if (below(4) == 0) {
    for (int i = 0; i < 5; ++i) {
      sampler.logit_bias.push_back(
          {static_cast<TokenId>(below(2000)), below(2) == 0 ? 3.0f : -3.0f});
    }
  }
  sampler.seed = (*random)();
  options.constraint = RandomConstraint(random);
  return options;
}

void ExpectEqual(const GenerateResult& fast, const GenerateResult& slow, const std::string& where) {
  EXPECT_EQ(fast.ids, slow.ids) << where << "\n" << fast.text;
  EXPECT_EQ(FinishReasonName(fast.finish), FinishReasonName(slow.finish)) << where;
}

TEST(Constraint, GivesTheTextThatTheSlowWayGives) {
  std::mt19937 random(5);
  int forced = 0;
  for (int round = 0; round < 8 && !testing::Test::HasFailure(); ++round) {
    std::vector<std::vector<TokenId>> prompts;
    std::vector<GenerateOptions> options;
    std::vector<GenerateResult> slow;
    const auto& tokenizer = ModelOf(model::HeadMode::kExact)->tokenizer;
    for (int i = 0; i < 4; ++i) {
      prompts.push_back(
          tokenizer.Encode("And the LORD spake unto Moses " + std::to_string(random() % 9)));
      options.push_back(RandomOptions(&random));
      slow.push_back(Slow(prompts.back(), options.back()));
    }
    for (const auto head : {model::HeadMode::kExact, model::HeadMode::kScreened}) {
      Engine engine =
          Engine::Create(ModelOf(head), {.max_sequences = 1 + round % 4,
                                         .context_length = kContext,
                                         .batch_size = std::array{3, 16, 512}[round % 3],
                                         .num_threads = 1 + round % 2})
              .value();
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        const std::string where = "round " + std::to_string(round) + ", " + std::to_string(i) +
                                  ": " + options[i].constraint->text;
        auto session =
            Session::Create(ModelOf(head), {.context_length = kContext,
                                            .batch_size = std::array{2, 7, 512}[random() % 3],
                                            .num_threads = 1 + round % 2})
                .value();
        ASSERT_TRUE(session.PrefillFor(prompts[i], options[i])) << where;
        const auto alone = session.Generate(options[i], {});
        ASSERT_TRUE(alone.has_value()) << where << alone.error().message;
        ExpectEqual(*alone, slow[i], where + " alone");
        forced += alone->forced;
        ASSERT_TRUE(engine
                        .Submit({.prompt = prompts[i],
                                 .options = options[i],
                                 .on_done =
                                     [&, i, where](Completion done) {
                                       ASSERT_TRUE(done.result.has_value());
                                       ExpectEqual(*done.result, slow[i], where + " in a batch");
                                     }})
                        .has_value());
      }
      engine.RunAll();
    }
  }
  EXPECT_GT(forced, 200);
}

TEST(Constraint, WithLogprobsTheTextIsTheSame) {
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    GenerateOptions options = RandomOptions(&random);
    const auto prompt = ModelOf(model::HeadMode::kScreened)->tokenizer.Encode("In the beginning");
    const auto run = [&] {
      auto session = Session::Create(ModelOf(model::HeadMode::kScreened),
                                     {.context_length = kContext, .num_threads = 1})
                         .value();
      EXPECT_TRUE(session.PrefillFor(prompt, options));
      return session.Generate(options, {}).value();
    };
    const auto without = run();
    options.logprobs = 2;
    const auto with = run();
    ExpectEqual(with, without, options.constraint->text);
    EXPECT_EQ(with.logprobs.size(), with.ids.size());
  }
}

TEST(Constraint, AGrammarThatAllowsEverythingGivesTheTextWithoutOne) {
  std::mt19937 random(9);
  for (int i = 0; i < 30; ++i) {
    GenerateOptions options = RandomOptions(&random);
    const auto prompt = ModelOf(model::HeadMode::kScreened)->tokenizer.Encode("In the beginning");
    const auto run = [&] {
      auto session = Session::Create(ModelOf(model::HeadMode::kScreened),
                                     {.context_length = kContext, .num_threads = 1})
                         .value();
      EXPECT_TRUE(session.PrefillFor(prompt, options));
      return session.Generate(options, {}).value();
    };
    options.constraint.reset();
    const auto free = run();
    options.constraint = {ConstraintKind::kRegex, "[\\s\\S]*"};
    ExpectEqual(run(), free, "everything");
  }
}

}  // namespace
}  // namespace bittern::runtime
