// SPDX-License-Identifier: Apache-2.0
// Many sequences give what each gives alone: the same ids, and the same logits to the bit, whatever
// runs beside them, whose pages they take over, and however short pages are. Random
// scripts of requests that join, are cancelled, and share prefixes, on random weights.
#include "runtime/engine/engine.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/hash.hpp"
#include "model/small_model_for_test.hpp"
#include "model/trace.hpp"
#include "quant/ternary_codec.hpp"
#include "runtime/engine/cache_size.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {
namespace {

using model::SmallModel;

constexpr int kContext = 700;

constexpr const char* kPlain = "bitnet-b1.58";

/// A model with a vocabulary; of qwen3 with scales that differ along its rows, of qwen35 rotated.
std::shared_ptr<const LoadedModel> MakeModel(const std::string& architecture, const char* isa) {
  SmallModel small(architecture);
  small.keys["context_length"] = kContext;
  small.AddTokenizer();
  if (architecture == "qwen35") small.Rotate(1);
  if (architecture == "qwen3") {
    small.Recode(
        *quant::DefaultCodec(quant::WeightFormat::kTQ2_0),
        [](std::size_t r, std::size_t g) { return 0.0625f * static_cast<float>(1 + (r + g) % 3); });
  }
  const auto path = small.Write();
  auto model =
      LoadedModel::Load(path, {.num_threads = 1, .weights = {.isa = isa == nullptr ? "" : isa}});
  std::filesystem::remove(path);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model.value();
}

/// The logits of every position that some sequence wanted all of, and the final hidden states.
class Hashes final : public model::Tracer {
 public:
  void OnValues(const model::TracePlace& place,
                std::span<const std::byte> values) noexcept override {
    if (place.point == model::TracePoint::kFfnResidual && place.layer == 1) {
      // In several parts: all but the first continue the row.
      auto& [position, hash] = rows_[{place.sequence, place.position}];
      if (!hash) hash.emplace();
      hash->Add(values);
      position = place.position;
    }
  }
  /// The hashes of a sequence, by position; a position that was computed again counts once.
  std::map<int, std::string> Of(int sequence) const {
    std::map<int, std::string> result;
    for (const auto& [key, value] : rows_) {
      if (key.first == sequence) result[key.second] = value.second->Hex();
    }
    return result;
  }

 private:
  std::map<std::pair<int, int>, std::pair<int, std::optional<Hash128>>> rows_;
};

struct Script {
  std::vector<TokenId> prompt;
  GenerateOptions options;
  int joins_at = 0;    // step
  int cancel_at = -1;  // tokens of text
};

/// Every sampler, each now and then, in any order.
void RandomChain(std::mt19937* rng, SamplerOptions* sampler) {
  const auto below = [&](unsigned n) { return (*rng)() % n; };
  const auto now_and_then = [&](auto* option, auto value) {
    if (below(3) == 0) *option = value;
  };
  now_and_then(&sampler->repeat_last_n, below(2) == 0 ? -1 : 7);
  now_and_then(&sampler->frequency_penalty, 0.3f);
  now_and_then(&sampler->presence_penalty, 0.4f);
  now_and_then(&sampler->dry_multiplier, 0.8f);
  now_and_then(&sampler->dry_sequence_breakers, std::vector<std::string>{"a"});
  now_and_then(&sampler->top_n_sigma, 1.5f);
  now_and_then(&sampler->typical_p, 0.8f);
  now_and_then(&sampler->xtc_probability, 0.5f);
  now_and_then(&sampler->dynatemp_range, 0.4f);
  now_and_then(&sampler->min_keep, 3);
  if (below(3) == 0) sampler->logit_bias = {{5, 2.0f}, {static_cast<TokenId>(below(20)), -100.0f}};
  if (below(4) == 0) sampler->mirostat = 1 + static_cast<int>(below(2));
  if (below(5) == 0) sampler->adaptive_target = 0.4f;
  std::ranges::shuffle(sampler->samplers, *rng);
}

GenerateOptions RandomOptions(std::mt19937* rng) {
  const auto below = [&](unsigned n) { return (*rng)() % n; };
  GenerateOptions options;
  options.max_tokens = static_cast<int>(below(40));
  options.ignore_eos = below(2) == 0;
  options.render_special = below(2) == 0;
  options.speculation =
      std::array{Speculation::kOff, Speculation::kNgram, Speculation::kAlways}[below(3)];
  SamplerOptions& sampler = options.sampler;
  sampler.temperature = below(3) == 0 ? 0.0f : 0.1f * static_cast<float>(1 + below(15));
  sampler.top_k = static_cast<int>(below(3) == 0 ? 0 : below(60));
  sampler.top_p = below(2) == 0 ? 1.0f : 0.9f;
  sampler.min_p = below(2) == 0 ? 0.0f : 0.05f;
  sampler.repeat_penalty = below(3) == 0 ? 1.2f : 1.0f;
  sampler.seed = (*rng)();
  if (below(3) == 0) RandomChain(rng, &sampler);
  if (below(4) == 0) options.stops = {"w27"};
  // Few tokens are allowed, most of them, or one at a time.
  const grammar::Constraint constraints[] = {
      {grammar::ConstraintKind::kRegex, "[a-f]{0,30}(, no more|[.] The end of it[.])"},
      {grammar::ConstraintKind::kRegex, "([^x]{3} and so on: ){1,4}[\\s\\S]*"},
      {grammar::ConstraintKind::kJsonSchema,
       R"({"type":"object","properties":{"some name":{"enum":["a","b c"]},"of many":{"type":
          "string","maxLength":9}},"required":["some name","of many"],"additionalProperties":
          false})"}};
  if (below(3) == 0) options.constraint = constraints[below(3)];
  return options;
}

std::vector<Script> RandomScripts(std::mt19937* rng) {
  const auto below = [&](unsigned n) { return (*rng)() % n; };
  std::vector<Script> scripts(1 + below(9));
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    Script& script = scripts[i];
    if (i > 0 && below(2) == 0) {  // a prefix of an earlier prompt
      const auto& other = scripts[below(static_cast<unsigned>(i))].prompt;
      script.prompt.assign(other.begin(),
                           other.begin() + 1 + below(static_cast<unsigned>(other.size())));
    }
    // Some prompts are long, some end where a page does.
    const unsigned kind = below(6);
    const unsigned more = kind == 0 ? below(500) : kind < 3 ? 235 + below(22) : below(30);
    for (unsigned t = 0; t <= more && script.prompt.size() < kContext; ++t) {
      script.prompt.push_back(static_cast<TokenId>(below(8)));  // few ids: drafts come true
    }
    script.options = RandomOptions(rng);
    script.joins_at = static_cast<int>(below(12));
    if (below(5) == 0) script.cancel_at = static_cast<int>(below(10));
  }
  return scripts;
}

/// The text of a request alone, token by token in a session of its own.
GenerateResult Alone(const std::shared_ptr<const LoadedModel>& model, const Script& script) {
  auto session = Session::Create(model, {.context_length = kContext, .num_threads = 1}).value();
  EXPECT_TRUE(session.Prefill(script.prompt));
  GenerateOptions options = script.options;
  options.speculation = Speculation::kOff;
  return session.Generate(options, {}).value();
}

struct Ended {
  bool cancelled_by_script = false;
  std::optional<GenerateResult> result = {};
};

/// The calls of on_progress for a sequence: nothing goes backwards, whatever is preempted.
struct Told {
  void Add(const SequenceTimings& now, std::size_t prompt) {
    EXPECT_EQ(now.prompt_tokens, static_cast<int>(prompt));
    EXPECT_LE(now.cached_tokens, now.read_tokens);
    EXPECT_LE(now.read_tokens, now.prompt_tokens);
    EXPECT_TRUE(now.sampled_tokens == 0 || now.read_tokens == now.prompt_tokens);
    if (calls++ == 0) {
      EXPECT_EQ(now.read_tokens, now.cached_tokens);
      EXPECT_EQ(now.prompt_s, 0);
    } else {
      EXPECT_EQ(now.cached_tokens, last.cached_tokens);
      EXPECT_TRUE(now.read_tokens > last.read_tokens || now.sampled_tokens > last.sampled_tokens ||
                  now.read_tokens == now.prompt_tokens);
      EXPECT_GE(now.read_tokens, last.read_tokens);
      EXPECT_GE(now.sampled_tokens, last.sampled_tokens);
      EXPECT_GE(now.prompt_s, last.prompt_s);
      EXPECT_GE(now.predicted_s, last.predicted_s);
    }
    last = now;
  }
  [[nodiscard]] bool WholePrompt() const {
    return last.prompt_tokens > 0 && last.read_tokens == last.prompt_tokens;
  }

  int calls = 0;
  SequenceTimings last = {};
};

/// Runs the scripts in one engine.
std::vector<Ended> Together(Engine* engine, const std::vector<Script>& scripts) {
  std::vector<Ended> ended(scripts.size());
  std::vector<int> tokens(scripts.size());
  std::vector<bool> joined(scripts.size());
  std::vector<Told> told(scripts.size());
  std::size_t left = scripts.size();
  for (int step = 0; left > 0; ++step) {
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      if (joined[i] || scripts[i].joins_at > step) continue;
      joined[i] = true;
      Request request{.prompt = scripts[i].prompt, .options = scripts[i].options};
      request.on_progress = [&told = told[i], length = scripts[i].prompt.size()](
                                const SequenceTimings& now) { told.Add(now, length); };
      request.on_text = [&, i](std::string_view) {
        EXPECT_TRUE(told[i].WholePrompt());
        EXPECT_GT(told[i].last.sampled_tokens, 0);
        ended[i].cancelled_by_script = tokens[i]++ == scripts[i].cancel_at;
        return !ended[i].cancelled_by_script;
      };
      request.on_done = [&, i](Completion completion) {
        --left;
        ASSERT_TRUE(completion.result.has_value()) << completion.result.error().message;
        ended[i].result = *completion.result;
        EXPECT_GE(completion.timings.read_tokens, told[i].last.read_tokens);
        EXPECT_EQ(completion.timings.sampled_tokens, ended[i].result->sampled);
      };
      EXPECT_TRUE(engine->Submit(std::move(request)).has_value());
    }
    engine->Step();
    EXPECT_LT(step, 100'000);
    if (step >= 100'000) break;
  }
  return ended;
}

void ExpectSame(const std::vector<Script>& scripts, const std::vector<Ended>& ended,
                const std::vector<GenerateResult>& alone, const std::string& where) {
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    ASSERT_TRUE(ended[i].result.has_value()) << where << ", request " << i;
    const GenerateResult& got = *ended[i].result;
    const GenerateResult& want = alone[i];
    if (ended[i].cancelled_by_script) {
      ASSERT_LE(got.ids.size(), want.ids.size()) << where << ", request " << i;
      EXPECT_TRUE(std::equal(got.ids.begin(), got.ids.end(), want.ids.begin())) << where;
      continue;
    }
    EXPECT_EQ(got.ids, want.ids) << where << ", request " << i;
    EXPECT_EQ(got.text, want.text) << where << ", request " << i;
    EXPECT_EQ(got.finish, want.finish) << where << ", request " << i;
  }
}

/// BITTERN_ENGINE_SCRIPTS: how many scripts of each kind run (200 in ./check deep).
unsigned NumScripts() {
  const char* const text = std::getenv("BITTERN_ENGINE_SCRIPTS");
  return text == nullptr ? 12 : static_cast<unsigned>(std::atoi(text));
}

class EngineScripts : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(EngineScripts, EverySequenceGivesWhatItGivesAlone) {
  const auto [architecture, isa] = GetParam();
  const auto model = MakeModel(architecture, isa);
  std::uint64_t preemptions = 0, found = 0;
  for (unsigned seed = 1; seed <= NumScripts(); ++seed) {
    std::mt19937 rng(seed);
    const std::vector<Script> scripts = RandomScripts(&rng);
    std::vector<GenerateResult> alone;
    for (const Script& script : scripts) alone.push_back(Alone(model, script));
    const EngineOptions options{.max_sequences = 1 + static_cast<int>(rng() % 9),
                                .context_length = kContext,
                                .cache_tokens = kContext + static_cast<int>(rng() % 1200),
                                .batch_size = std::array{1, 3, 8, 17, 64, 512}[rng() % 6],
                                .num_threads = std::array{1, 2, 7}[rng() % 3],
                                .prefix_cache = rng() % 4 != 0};
    Engine engine = Engine::Create(model, options).value();
    const auto where = "seed " + std::to_string(seed) + ", batch " +
                       std::to_string(options.batch_size) + ", " +
                       std::to_string(options.max_sequences) + " at a time, " +
                       std::to_string(options.num_threads) + " threads";
    ExpectSame(scripts, Together(&engine, scripts), alone, where + ", first");
    ExpectSame(scripts, Together(&engine, scripts), alone, where + ", again");
    const EngineStats stats = engine.stats();
    preemptions += stats.preemptions;
    found += stats.prefix_cache.found_tokens;
    EXPECT_EQ(stats.pages - stats.free_pages, stats.prefix_cache.pages) << where;
    if (testing::Test::HasFailure()) return;
  }
  std::printf("  %llu preemptions, %llu tokens found in the prefix cache\n",
              static_cast<unsigned long long>(preemptions), static_cast<unsigned long long>(found));
  EXPECT_GT(found, 0u);
  EXPECT_GT(preemptions, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, EngineScripts,
                         testing::Combine(testing::Values(kPlain, "qwen3", "qwen35", "maple",
                                                          "minicpm"),
                                          testing::Values("", "scalar")),
                         [](const auto& kind) {
                           const std::string name(std::get<0>(kind.param));
                           const std::string isa(std::get<1>(kind.param));
                           return (name == kPlain      ? std::string("Plain")
                                   : name == "qwen3"   ? std::string("Grouped")
                                   : name == "maple"   ? std::string("Experts")
                                   : name == "minicpm" ? std::string("Scaled")
                                                       : std::string("Recurrent")) +
                                  (isa.empty() ? "Native" : "Scalar");
                         });

TEST(Engine, HiddenStatesOfEveryPositionAreThoseOfTheSequenceAlone) {
  const auto model = MakeModel(kPlain, "");
  std::mt19937 rng(3);
  std::vector<Script> scripts;
  for (int i = 0; i < 6; ++i) {
    Script script{.prompt = {}, .options = {.max_tokens = 20, .ignore_eos = true}};
    for (unsigned t = 0; t < 5 + 90u * static_cast<unsigned>(i); ++t) {
      script.prompt.push_back(static_cast<TokenId>(rng() % 256));
    }
    script.options.sampler.seed = rng();
    script.joins_at = 2 * i;
    scripts.push_back(std::move(script));
  }
  Hashes together;
  Engine engine = Engine::Create(model, {.max_sequences = 6,
                                         .context_length = kContext,
                                         .batch_size = 37,
                                         .num_threads = 2,
                                         .prefix_cache = false})
                      .value();
  engine.SetTracer(&together);
  (void)Together(&engine, scripts);
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    Hashes one;
    Engine alone =
        Engine::Create(model, {.max_sequences = 1, .context_length = kContext, .num_threads = 1})
            .value();
    alone.SetTracer(&one);
    (void)Together(&alone, {scripts[i]});
    const auto want = one.Of(1);
    EXPECT_GE(want.size(), scripts[i].prompt.size());
    EXPECT_EQ(together.Of(static_cast<int>(i) + 1), want) << i;
  }
}

TEST(Engine, SequencesThatGiveTheirPagesAwayLoseNothing) {
  const auto model = MakeModel(kPlain, "");
  std::mt19937 rng(5);
  std::vector<Script> scripts(6);
  std::vector<GenerateResult> alone;
  for (Script& script : scripts) {
    for (int t = 0; t < 250; ++t) script.prompt.push_back(static_cast<TokenId>(rng() % 256));
    script.options = {.max_tokens = 40, .sampler = {.seed = 9}, .ignore_eos = true};
    alone.push_back(Alone(model, script));
  }
  // Three sequences run, each needs a second page, and there is one. In small steps a prompt that
  // is read again is not told of twice (Told).
  for (const int batch_size : {512, 32}) {
    Engine engine = Engine::Create(model, {.max_sequences = 4,
                                           .context_length = kContext,
                                           .cache_tokens = 1024,
                                           .batch_size = batch_size,
                                           .num_threads = 1})
                        .value();
    ExpectSame(scripts, Together(&engine, scripts), alone, "");
    EXPECT_GT(engine.stats().preemptions, 0u);
  }
}

TEST(Engine, APromptSeenBeforeIsReadFromItsEnd) {
  const auto model = MakeModel(kPlain, "");
  Engine engine =
      Engine::Create(model, {.max_sequences = 2, .context_length = kContext, .num_threads = 1})
          .value();
  std::vector<TokenId> prompt(600);
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>(i % 250);
  std::vector<Completion> done;
  const auto run = [&](std::vector<TokenId> tokens) {
    ASSERT_TRUE(engine
                    .Submit({.prompt = std::move(tokens),
                             .options = {.max_tokens = 5, .sampler = {.temperature = 0}},
                             .on_done = [&](Completion c) { done.push_back(std::move(c)); }})
                    .has_value());
    engine.RunAll();
  };
  run(prompt);
  prompt.push_back(7);
  const std::uint64_t rows = engine.stats().rows;
  run(prompt);
  EXPECT_EQ(done[1].timings.cached_tokens, 600);
  EXPECT_LE(engine.stats().rows - rows, 10u);
  Engine fresh =
      Engine::Create(model, {.max_sequences = 2, .context_length = kContext, .num_threads = 1})
          .value();
  std::vector<TokenId> ids;
  ASSERT_TRUE(fresh
                  .Submit({.prompt = prompt,
                           .options = {.max_tokens = 5, .sampler = {.temperature = 0}},
                           .on_done = [&](Completion c) { ids = c.result.value().ids; }})
                  .has_value());
  fresh.RunAll();
  EXPECT_EQ(done[1].result.value().ids, ids);
}

// A prompt that begins with a known page shares it; where no page is left to copy it to, the prefix
// cache must give it up.
TEST(Engine, APoolWithoutASparePageServesPromptsThatShareTheirBeginning) {
  const auto model = MakeModel(kPlain, "");
  for (const int context : {256, 512}) {
    Engine engine =
        Engine::Create(model, {.max_sequences = 1, .context_length = context, .num_threads = 1})
            .value();
    std::vector<TokenId> prompt(static_cast<std::size_t>(context - 100));
    for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>(i % 250);
    std::vector<std::vector<TokenId>> ids;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(
          engine
              .Submit({.prompt = prompt,
                       .options = {.max_tokens = 5, .sampler = {.temperature = 0}},
                       .on_done = [&](Completion c) { ids.push_back(c.result.value().ids); }})
              .has_value());
    }
    int steps = 0;
    while (engine.Step() && steps < 1000) ++steps;
    ASSERT_EQ(ids.size(), 3u) << "a sequence waits for ever";
    EXPECT_EQ(ids[1], ids[0]);
    EXPECT_EQ(ids[2], ids[0]);
  }
}

// A server with one slot hung on this: the page that both begin with could not be written, since
// the prefix cache held another page behind it.
TEST(Engine, APoolWithoutASparePageServesAPromptThatLeavesALongerOneEarly) {
  const auto model = MakeModel(kPlain, nullptr);
  EngineOptions options{.max_sequences = 1, .context_length = 512, .num_threads = 1};
  options.cache_tokens = 512;
  auto engine = Engine::Create(model, options);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  int ended = 0;
  for (const TokenId other : {2, 3, 4, 2, 3}) {
    Request request;
    for (TokenId i = 0; i < 300; ++i) request.prompt.push_back(i < 100 ? 5 + i % 7 : other);
    request.options.max_tokens = 3;
    request.on_done = [&](const Completion& completion) {
      EXPECT_TRUE(completion.result.has_value());
      ++ended;
    };
    ASSERT_TRUE(engine->Submit(std::move(request)).has_value());
    for (int steps = 0; engine->Step(); ++steps) ASSERT_LT(steps, 100);
  }
  EXPECT_EQ(ended, 5);
}

TEST(Engine, CancellingTakesEffectInTheMiddleOfALongPrompt) {
  const auto model = MakeModel(kPlain, "");
  Engine engine =
      Engine::Create(
          model,
          {.max_sequences = 2, .context_length = kContext, .batch_size = 32, .num_threads = 1})
          .value();
  std::optional<FinishReason> finish;
  const auto id =
      engine.Submit({.prompt = std::vector<TokenId>(600, 3),
                     .on_done = [&](Completion c) { finish = c.result.value().finish; }});
  ASSERT_TRUE(id.has_value());
  EXPECT_TRUE(engine.Step());
  EXPECT_TRUE(engine.Step());
  engine.Cancel(*id);
  engine.Step();
  EXPECT_EQ(finish, FinishReason::kCancelled);
  EXPECT_LE(engine.stats().rows, 64u);
}

/// A request of four sequences, then two of one, then one that comes while those run.
TEST(Engine, SequencesOfOneRequestTakeTurnsWithOthers) {
  Engine engine =
      Engine::Create(MakeModel(kPlain, nullptr), {.max_sequences = 1, .num_threads = 1}).value();
  std::string order;
  std::function<void(char, int)> submit = [&](char name, int turn) {
    Request request{.prompt = {1, 5, 6}, .turn = turn, .options = {.max_tokens = 3}};
    request.options.ignore_eos = true;
    request.on_done = [&, name](const Completion& completion) {
      EXPECT_TRUE(completion.result.has_value());
      order += name;
      if (name == 'b') submit('d', 0);
    };
    EXPECT_TRUE(engine.Submit(std::move(request)).has_value());
  };
  for (int turn = 0; turn < 4; ++turn) submit('a', turn);
  EXPECT_TRUE(engine.Step());
  submit('b', 0);
  submit('c', 0);
  engine.RunAll();
  EXPECT_EQ(order, "aabcada");
}

TEST(Engine, RefusesWhatItCannotRun) {
  const auto model = MakeModel(kPlain, "");
  Engine engine = Engine::Create(model, {.max_sequences = 2, .context_length = 100}).value();
  const auto code = [&](Request request) {
    const auto id = engine.Submit(std::move(request));
    return id ? std::optional<ErrorCode>() : id.error().code;
  };
  EXPECT_EQ(code({.prompt = {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.prompt = {-1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.prompt = {300}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.prompt = std::vector<TokenId>(101, 1)}), ErrorCode::kContextFull);
  EXPECT_EQ(code({.prompt = {1}, .options = {.sampler = {.repeat_penalty = 0}}}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.prompt = {1}, .options = {.stops = {"\xff"}}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine.active(), 0u);
  EXPECT_FALSE(engine.Step());
  EXPECT_FALSE(Engine::Create(model, {.max_sequences = 0}).has_value());
  EXPECT_FALSE(Engine::Create(model, {.context_length = kContext + 1}).has_value());
  EXPECT_FALSE(Engine::Create(model, {.context_length = 300, .cache_tokens = 299}).has_value());
}

/// Positions of an engine for `sequences` contexts that was told nothing of its cache.
std::int64_t PositionsOf(const std::shared_ptr<const LoadedModel>& model, int sequences) {
  auto engine = Engine::Create(model, {.max_sequences = sequences, .num_threads = 1});
  EXPECT_TRUE(engine.has_value());
  return engine ? std::int64_t{engine->stats().pages} * model::kPagePositions : 0;
}

TEST(Engine, TakesTwoGiBOfKeysAndValuesUnlessToldMore) {
  const auto model = MakeModel(kPlain, nullptr);
  const auto one = model::KvPool::Create(model->model.config(), 1, model::KvType::kF16);
  const auto most = static_cast<std::int64_t>(kDefaultCacheBytes / one->page_bytes());
  const std::int64_t needed = model::PagesFor(kContext) * std::int64_t{model::kPagePositions};
  EXPECT_EQ(PositionsOf(model, 3), 3 * needed);
  const auto too_many = static_cast<int>(2 * most * model::kPagePositions / kContext);
  EXPECT_EQ(PositionsOf(model, too_many), most * model::kPagePositions);
}

}  // namespace
}  // namespace bittern::runtime
