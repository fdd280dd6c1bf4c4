// SPDX-License-Identifier: Apache-2.0
// Sessions with the model that ships: what a caller sees does not depend on how the work is cut,
// refusals change nothing, and every way a generation can end is told apart.
#include "runtime/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::runtime {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kModel = BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf";
constexpr std::string_view kPrompt = "And it came to pass";
constexpr std::uint64_t kGgufHeader = 24;

std::shared_ptr<const LoadedModel> Load(const LoadOptions& options = {.num_threads = 2}) {
  auto model = LoadedModel::Load(kModel, options);
  if (!model.has_value()) throw std::runtime_error(model.error().message);
  return *model;
}

std::shared_ptr<const LoadedModel> Shared() {
  static const auto model = Load();
  return model;
}

Session MakeSession(const SessionOptions& options = {.num_threads = 1}) {
  auto session = Session::Create(Shared(), options);
  if (!session.has_value()) throw std::runtime_error(session.error().message);
  return *std::move(session);
}

std::vector<TokenId> Prompt() { return Shared()->tokenizer.Encode(kPrompt); }

std::vector<float> Copy(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

GenerateOptions Greedy(int max_tokens) {
  return {.max_tokens = max_tokens, .sampler = {.temperature = 0}};
}

GenerateResult Continue(Session* session, const GenerateOptions& options) {
  auto result = session->Generate(options, nullptr);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.has_value() ? *result : GenerateResult{};
}

/// A session that has read the prompt.
Session Prompted(const SessionOptions& options = {.num_threads = 1}) {
  Session session = MakeSession(options);
  EXPECT_TRUE(session.Prefill(Prompt()).has_value());
  return session;
}

/// A copy of the model's file with some bytes changed, removed at the end.
class ChangedModel {
 public:
  explicit ChangedModel(const std::function<void(std::string*)>& change) {
    std::ifstream in(kModel, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    change(&bytes);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~ChangedModel() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("bittern-session-test-" + std::to_string(getpid()) + ".gguf"))
                          .string();
};

TEST(LoadedModel, NamesTheFileItCannotFind) {
  const auto model = LoadedModel::Load("/nowhere/model.gguf");
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(model.error().message, StartsWith("/nowhere/model.gguf: "));
}

TEST(LoadedModel, NamesTheFileThatIsCut) {
  for (const std::uint64_t size : {std::uint64_t{3}, kGgufHeader, std::uint64_t{100'000}}) {
    const ChangedModel cut([&](std::string* bytes) { bytes->resize(size); });
    const auto model = LoadedModel::Load(cut.path());
    ASSERT_FALSE(model.has_value()) << size;
    EXPECT_EQ(model.error().code, ErrorCode::kCorruptFile) << size;
    EXPECT_THAT(model.error().message, StartsWith(cut.path() + ": "));
  }
}

TEST(LoadedModel, RefusesABadOverrideAsTheCallersFault) {
  const auto model = LoadedModel::Load(kModel, {.overrides = {"no equals sign"}});
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument);
}

TEST(LoadedModel, TellsWhatTheFileDoesNotSay) {
  const auto decided = [](const Decision& d) { return d.subject == "pre-tokenizer" && d.notable; };
  EXPECT_TRUE(std::ranges::any_of(Shared()->decisions, decided));
}

TEST(LoadedModel, ReportsProgressUpToTheEnd) {
  for (const int threads : {1, 2}) {
    std::vector<double> seen;
    const auto note = [&](double x) {
      seen.push_back(x);
      return true;
    };
    const auto model = Load({.num_threads = threads, .weights = {.on_progress = note}});
    ASSERT_FALSE(seen.empty());
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_GE(seen.front(), 0);
    EXPECT_EQ(seen.back(), 1);
  }
}

TEST(LoadedModel, EndsWhereProgressSaysSo) {
  int calls = 0;
  const auto stop = [&](double) { return ++calls < 2; };
  const auto model =
      LoadedModel::Load(kModel, {.num_threads = 2, .weights = {.on_progress = stop}});
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 2);
}

// The tokenizer is read beside the weights; what is wrong with it is said as if it came first.
TEST(LoadedModel, SaysWhatIsWrongWithTheTokenizer) {
  for (const int threads : {1, 2}) {
    const auto model = LoadedModel::Load(
        kModel, {.overrides = {"tokenizer.ggml.model=str:nonsense"}, .num_threads = threads});
    ASSERT_FALSE(model.has_value());
    EXPECT_NE(model.error().message.find("tokenizer.ggml.model"), std::string::npos)
        << model.error().message;
  }
}

TEST(Session, RefusesOptionsOutOfRange) {
  const int limit = Shared()->model.config().context_length;
  const std::vector<SessionOptions> bad = {{.context_length = -1},
                                           {.context_length = limit + 1},
                                           {.batch_size = 0},
                                           {.num_threads = -1},
                                           {.num_threads = 1'000'000}};
  for (const SessionOptions& options : bad) {
    const auto session = Session::Create(Shared(), options);
    ASSERT_FALSE(session.has_value());
    EXPECT_EQ(session.error().code, ErrorCode::kInvalidArgument) << session.error().message;
  }
}

TEST(Session, ContextOfZeroIsTheModelsOwn) {
  EXPECT_EQ(MakeSession().context_length(), Shared()->model.config().context_length);
  EXPECT_EQ(MakeSession({.context_length = 7, .num_threads = 1}).context_length(), 7);
}

TEST(Session, LogitsDoNotDependOnChunksOrThreads) {
  const std::vector<float> expected = Copy(Prompted().logits());
  for (const int batch_size : {1, 2, 3, 5, 6, 1000}) {
    for (const int num_threads : {1, 2, 3}) {
      const Session session = Prompted({.batch_size = batch_size, .num_threads = num_threads});
      EXPECT_EQ(Copy(session.logits()), expected) << batch_size << " x " << num_threads;
    }
  }
}

TEST(Session, PrefillAllGivesTheLogitsOfEveryPrefix) {
  const std::vector<TokenId> prompt = Prompt();
  std::vector<std::vector<float>> rows;
  Session all = MakeSession({.batch_size = 4, .num_threads = 1});
  const auto done = all.PrefillAll(prompt, [&](int position, std::span<const float> logits) {
    EXPECT_EQ(position, static_cast<int>(rows.size()));
    rows.push_back(Copy(logits));
  });
  ASSERT_TRUE(done.has_value());
  ASSERT_EQ(rows.size(), prompt.size());
  for (std::size_t size = 1; size <= prompt.size(); ++size) {
    Session session = MakeSession();
    ASSERT_TRUE(session.Prefill(std::span(prompt).first(size)).has_value());
    EXPECT_EQ(Copy(session.logits()), rows[size - 1]) << size;
  }
  EXPECT_EQ(Copy(all.logits()), rows.back());
}

TEST(Session, RefusalsChangeNothing) {
  Session session = Prompted({.context_length = 8, .num_threads = 1});
  const std::vector<float> logits = Copy(session.logits());
  const std::size_t length = session.tokens().size();
  const auto expect_refused = [&](const std::vector<TokenId>& ids, ErrorCode code,
                                  const std::string& text) {
    const auto refused = session.Prefill(ids);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, code);
    EXPECT_THAT(refused.error().message, HasSubstr(text));
    EXPECT_EQ(session.tokens().size(), length);
    EXPECT_EQ(Copy(session.logits()), logits);
  };
  expect_refused({}, ErrorCode::kInvalidArgument, "no tokens");
  expect_refused({1, -1}, ErrorCode::kInvalidArgument, "-1");
  expect_refused({1, 4096}, ErrorCode::kInvalidArgument, "4096");
  expect_refused({1, 2, 3}, ErrorCode::kContextFull, "holds 8");
}

TEST(Session, TruncateForgets) {
  Session session = Prompted();
  const std::vector<float> logits = Copy(session.logits());
  ASSERT_TRUE(session.Prefill(std::vector<TokenId>{5, 6, 7}).has_value());
  const std::vector<TokenId> prompt = Prompt();
  session.Truncate(static_cast<int>(prompt.size()) - 1);
  EXPECT_THAT(session.logits(), IsEmpty());
  EXPECT_EQ(session.tokens().size(), prompt.size() - 1);
  ASSERT_TRUE(session.Prefill({&prompt.back(), 1}).has_value());
  EXPECT_EQ(Copy(session.logits()), logits);
}

TEST(Session, CancelledPrefillStopsBetweenChunks) {
  Session session = MakeSession({.batch_size = 2, .num_threads = 1});
  const std::atomic<bool> cancel{true};
  const auto result = session.Prefill(Prompt(), &cancel);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_THAT(session.tokens(), IsEmpty());
}

TEST(Session, ALongPromptTellsHowFarItIsAndStopsInTheMiddleOfAChunk) {
  std::vector<TokenId> prompt;
  for (int i = 0; i < 60; ++i) prompt.push_back(1 + i % 50);
  Session fresh = MakeSession({.batch_size = 40, .num_threads = 1});
  ASSERT_TRUE(fresh.Prefill(prompt).has_value());
  for (const int threads : {1, 3}) {
    Session session = MakeSession({.batch_size = 40, .num_threads = threads});
    std::atomic<bool> cancel{false};
    std::vector<double> told;
    GenerateOptions options = Greedy(1);
    options.cancel = &cancel;
    options.on_prompt = [&](double read) {
      told.push_back(read);
      cancel = told.size() == 4;  // before the third layer of the first chunk
    };
    const auto refused = session.PrefillFor(prompt, options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(told.size(), 4u);
    EXPECT_THAT(session.tokens(), IsEmpty());

    told.assign(10, 0);  // not cancelled again
    ASSERT_TRUE(session.PrefillFor(prompt, options).has_value());
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_GT(told.back(), 0.8);
    EXPECT_LT(told.back(), 1.0);
    const std::size_t calls = told.size();
    const GenerateResult next = Continue(&session, options);
    EXPECT_EQ(told.size(), calls) << "told of what is no prompt";
    EXPECT_EQ(next.ids[0], runtime::Argmax(fresh.logits())) << threads;
  }
}

TEST(Generate, NeedsAPromptFirst) {
  const auto result = MakeSession().Generate(Greedy(1), nullptr);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
}

TEST(Generate, GivesInPiecesWhatItGivesAtTheEnd) {
  Session session = Prompted();
  std::string pieces;
  int calls = 0;
  const auto result = session.Generate(Greedy(24), [&](std::string_view text) {
    pieces += text;
    ++calls;
    return true;
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text, pieces);
  EXPECT_EQ(result->text, Shared()->tokenizer.Decode(result->ids));
  EXPECT_EQ(result->ids.size(), 24u);
  EXPECT_GT(calls, 10);
  EXPECT_EQ(result->finish, FinishReason::kLength);
  EXPECT_EQ(session.timings().prompt_tokens, static_cast<int>(Prompt().size()));
  EXPECT_EQ(session.timings().predicted_tokens, 24);
}

TEST(Generate, ZeroTokensIsNothing) {
  Session session = Prompted();
  const GenerateResult result = Continue(&session, Greedy(0));
  EXPECT_THAT(result.ids, IsEmpty());
  EXPECT_EQ(result.finish, FinishReason::kLength);
}

TEST(Generate, CanGoOnWhereItStopped) {
  Session once = Prompted();
  const std::vector<TokenId> expected = Continue(&once, Greedy(10)).ids;
  Session twice = Prompted();
  std::vector<TokenId> ids = Continue(&twice, Greedy(4)).ids;
  const std::size_t lacking = Prompt().size() + ids.size() - twice.tokens().size();
  ASSERT_EQ(lacking, 1u);
  ASSERT_TRUE(twice.Prefill(std::span(ids).last(lacking)).has_value());
  for (const TokenId id : Continue(&twice, Greedy(6)).ids) ids.push_back(id);
  EXPECT_EQ(ids, expected);
}

/// A session whose head is screened, with batches of three tokens.
Session ScreenedSession() {
  static const auto model =
      Load({.num_threads = 2, .weights = {.head = model::HeadMode::kScreened}});
  auto session = Session::Create(model, {.batch_size = 3, .num_threads = 2});
  EXPECT_TRUE(session.has_value());
  return *std::move(session);
}

TEST(PrefillFor, ComputesOnlyTheLogitsThatAreWanted) {
  struct Case {
    runtime::SamplerOptions sampler;
    bool all;  // logits
  };
  const std::vector<Case> cases = {
      {{.temperature = 0}, false},
      {{.temperature = 0, .repeat_penalty = 1.3f}, false},
      {{.temperature = 0.8f, .top_k = 40, .seed = 7}, false},
      {{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0.1f, .seed = 7}, false},
      {{.temperature = 1, .top_k = 0, .top_p = 0.9f, .min_p = 0, .seed = 7}, true},
  };
  for (const Case& c : cases) {
    const GenerateOptions options = {.max_tokens = 12, .sampler = c.sampler};
    Session plain = ScreenedSession(), session = ScreenedSession();
    ASSERT_TRUE(plain.Prefill(Prompt()).has_value());
    ASSERT_TRUE(session.PrefillFor(Prompt(), options).has_value());
    EXPECT_EQ(session.logits().empty(), !c.all);
    EXPECT_EQ(session.screen_stats().tokens, c.all ? 0u : 1u);
    EXPECT_EQ(session.timings().prompt_tokens, static_cast<int>(Prompt().size()));
    EXPECT_THAT(Continue(&session, Greedy(0)).ids, IsEmpty());
    const auto got = Continue(&session, options), want = Continue(&plain, options);
    EXPECT_EQ(got.ids, want.ids);
    EXPECT_EQ(std::vector(session.tokens().begin(), session.tokens().end()),
              std::vector(plain.tokens().begin(), plain.tokens().end()));
  }
}

TEST(PrefillFor, AnotherSamplerGetsItsLogits) {
  GenerateOptions sampled = {.max_tokens = 12};
  sampled.sampler = {.temperature = 1, .top_k = 0, .top_p = 0.9f, .min_p = 0, .seed = 3};
  Session plain = ScreenedSession(), session = ScreenedSession();
  ASSERT_TRUE(plain.Prefill(Prompt()).has_value());
  ASSERT_TRUE(session.PrefillFor(Prompt(), Greedy(12)).has_value());
  const auto got = Continue(&session, sampled), want = Continue(&plain, sampled);
  EXPECT_EQ(got.ids, want.ids);
}

TEST(PrefillFor, IsForgottenWithItsTokens) {
  Session session = ScreenedSession();
  ASSERT_TRUE(session.PrefillFor(Prompt(), Greedy(4)).has_value());
  session.Truncate(1);
  Session fresh = ScreenedSession();
  const std::vector<TokenId> ids = Prompt();
  ASSERT_TRUE(fresh.Prefill(std::span(ids).first(1)).has_value());
  EXPECT_EQ(Continue(&session, Greedy(4)).ids, Continue(&fresh, Greedy(4)).ids);
  session.Truncate(1);
  EXPECT_FALSE(session.PrefillFor(Prompt(), {.sampler = {.repeat_penalty = 0}}).has_value());
  EXPECT_EQ(session.tokens().size(), 1u);
  EXPECT_FALSE(session.PrefillFor({}, Greedy(4)).has_value());
}

// A trained head, some of whose rows are four times as long as the others.
TEST(PrefillFor, FewRowsOfATrainedHeadAreLookedAtTwice) {
  Session session = ScreenedSession();
  ASSERT_TRUE(session.PrefillFor(Prompt(), Greedy(40)).has_value());
  Continue(&session, Greedy(40));
  const model::ScreenStats stats = session.screen_stats();
  EXPECT_GE(stats.tokens, 20u);
  EXPECT_LT(stats.tiles_of_bits * 16, stats.rows / 8);
  EXPECT_LT(stats.after_7_bits, 4 * stats.tokens);
}

TEST(Generate, StopsBeforeEveryStopString) {
  Session whole = Prompted();
  const std::string text = Continue(&whole, Greedy(24)).text;
  // Every substring of five bytes, wherever the tokens' borders are.
  for (std::size_t begin = 0; begin + 5 <= text.size(); ++begin) {
    GenerateOptions options = Greedy(24);
    options.stops = {text.substr(begin, 5)};
    Session session = Prompted();
    const GenerateResult result = Continue(&session, options);
    EXPECT_EQ(result.finish, FinishReason::kStopString);
    EXPECT_EQ(result.text, text.substr(0, text.find(options.stops[0])));
  }
}

TEST(Generate, RefusesStopsThatAreNotUtf8) {
  GenerateOptions options = Greedy(1);
  options.stops = {"\xff"};
  const auto result = Prompted().Generate(options, nullptr);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
}

TEST(Generate, FillsTheContextToTheLastPlace) {
  Session session = Prompted({.context_length = 16, .num_threads = 1});
  const GenerateResult result = Continue(&session, Greedy(-1));
  EXPECT_EQ(result.finish, FinishReason::kContextFull);
  // The last token needs no place: nothing comes after it.
  EXPECT_EQ(result.ids.size(), 16 - Prompt().size() + 1);
  EXPECT_EQ(session.tokens().size(), 16u);
}

TEST(Generate, EndsAtTheEndTokenUnlessTold) {
  Session session = Prompted();
  const std::vector<TokenId> ids = Continue(&session, Greedy(4)).ids;
  // The model as if its third greedy token ended texts.
  const auto model =
      Load({.overrides = {"tokenizer.ggml.eos_token_id=int:" + std::to_string(ids[2])},
            .num_threads = 1});
  for (const bool ignore_eos : {false, true}) {
    auto other = Session::Create(model, {.num_threads = 1});
    ASSERT_TRUE(other.has_value());
    ASSERT_TRUE(other->Prefill(Prompt()).has_value());
    GenerateOptions options = Greedy(4);
    options.ignore_eos = ignore_eos;
    const GenerateResult result = Continue(&*other, options);
    EXPECT_EQ(result.finish, ignore_eos ? FinishReason::kLength : FinishReason::kEndOfText);
    EXPECT_EQ(result.ids, std::vector(ids.begin(), ids.begin() + (ignore_eos ? 4 : 2)));
  }
}

TEST(Generate, StopsWhenCancelled) {
  Session session = Prompted();
  std::atomic<bool> cancel{false};
  GenerateOptions options = Greedy(100);
  options.cancel = &cancel;
  const auto result = session.Generate(options, [&](std::string_view) {
    cancel = true;
    return true;
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->finish, FinishReason::kCancelled);
  EXPECT_EQ(result->ids.size(), 1u);
}

TEST(Generate, StopsWhenTheListenerHasEnough) {
  Session session = Prompted();
  int calls = 0;
  const auto result = session.Generate(Greedy(100), [&](std::string_view) { return ++calls < 3; });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->finish, FinishReason::kCancelled);
  EXPECT_EQ(calls, 3);
}

TEST(Generate, SeedDecidesTheText) {
  std::vector<std::string> texts;
  for (const std::uint32_t seed : {1u, 1u, 2u}) {
    Session session = Prompted();
    const GenerateResult result = Continue(&session, {.max_tokens = 24, .sampler = {.seed = seed}});
    EXPECT_EQ(result.seed, seed);
    texts.push_back(result.text);
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0], texts[2]);
}

TEST(Generate, PenalisesTokensOfThePrompt) {
  Session plain = Prompted();
  const TokenId first = Continue(&plain, Greedy(1)).ids[0];
  Session session = MakeSession();
  std::vector<TokenId> prompt = Prompt();
  prompt.insert(prompt.begin() + 1, first);
  ASSERT_TRUE(session.Prefill(prompt).has_value());
  GenerateOptions options = Greedy(1);
  options.sampler.repeat_penalty = 1e6f;
  EXPECT_NE(Continue(&session, options).ids[0], first);
}

TEST(Session, ReportsLogitsThatAreNotNumbers) {
  const formats::Tensor& embedding = *Shared()->model.checkpoint().Find("token_embd.weight");
  ASSERT_EQ(embedding.format, quant::WeightFormat::kF16);
  constexpr std::uint64_t kToken = 5;
  const ChangedModel damaged([&](std::string* bytes) {
    const std::uint64_t row_bytes = embedding.row_elements() * 2;
    std::fill_n(
        bytes->begin() + static_cast<std::ptrdiff_t>(embedding.file_offset + kToken * row_bytes),
        row_bytes, '\x7f');  // 0x7f7f: NaN in half precision
  });
  const auto model = LoadedModel::Load(damaged.path(), {.num_threads = 1});
  if (!model.has_value()) {
    EXPECT_EQ(model.error().code, ErrorCode::kCorruptFile);  // found even earlier
    return;
  }
  auto session = Session::Create(*model, {.num_threads = 1});
  ASSERT_TRUE(session.has_value());
  const auto result = session->Prefill(std::vector<TokenId>{kToken});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInternal);
  EXPECT_THAT(result.error().message, HasSubstr("not finite"));
  EXPECT_FALSE(session->Generate(Greedy(1), nullptr).has_value());
}

}  // namespace
}  // namespace bittern::runtime
