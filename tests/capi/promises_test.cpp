// SPDX-License-Identifier: Apache-2.0
// The promises of bittern.h at their edges. Generation goes on after fork, truncate and restore.
// Each request's on_done is called once. A sampler obeys its grammar. Callbacks know their tokens.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "capi/capi_support.hpp"

namespace {

using namespace capi_test;  // NOLINT: the helpers of this program
using testing::HasSubstr;

const std::vector<std::vector<std::string>> kDraws = {
    {"n_predict", "12", "temperature", "0"},
    {"n_predict", "12", "temperature", "1", "seed", "5", "top_k", "0"},
    {"n_predict", "12", "temperature", "0", "regex", "[a-z ]+"}};

TEST(Promises, ForksTruncationsAndStatesGoOnGenerating) {
  for (const auto& draw : kDraws) {
    Options options;
    for (size_t i = 0; i < draw.size(); i += 2) {
      Ok(bittern_options_set(options.handle, draw[i].c_str(), draw[i + 1].c_str()));
    }
    Sequence expected;
    Ok(bittern_sequence_eval(expected.handle, Prompt().data(), Prompt().size()));
    bittern_result* state = nullptr;
    Ok(bittern_sequence_save(expected.handle, &state));
    const std::string text = Continue(expected.handle, options);
    ASSERT_FALSE(text.empty());

    Sequence sequence("max_sequences", "3");
    Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
    bittern_sequence* fork = nullptr;
    Ok(bittern_sequence_fork(sequence.handle, Prompt().size(), &fork));
    EXPECT_EQ(Continue(fork, options), text);
    bittern_sequence_free(fork);
    EXPECT_EQ(Continue(sequence.handle, options), text);  // the fork wrote into pages of its own
    Ok(bittern_sequence_truncate(sequence.handle, Prompt().size()));
    EXPECT_EQ(Continue(sequence.handle, options), text);

    Sequence restored;
    const std::string bytes = TextOf(state);
    bittern_result_free(state);
    Ok(bittern_sequence_restore(restored.handle, bytes.data(), bytes.size()));
    EXPECT_EQ(Continue(restored.handle, options), text);
  }
}

/// Each text is the one that its seed gives to a sequence alone.
TEST(Promises, SixteenForksGenerateFromFourThreads) {
  constexpr size_t kForks = 16, kThreads = 4;
  const auto options_of = [](size_t seed) {
    return std::make_unique<Options>("n_predict", "8", "temperature", "4", "top_k", "0", "top_p",
                                     "1", "min_p", "0", "seed", std::to_string(seed).c_str());
  };
  Sequence sequence("max_sequences", "17");
  Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
  std::vector<bittern_sequence*> forks(kForks);
  for (bittern_sequence*& fork : forks) {
    Ok(bittern_sequence_fork(sequence.handle, Prompt().size(), &fork));
  }
  std::vector<std::string> texts(kForks);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < kForks; i += kThreads) texts[i] = Continue(forks[i], *options_of(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (bittern_sequence* fork : forks) bittern_sequence_free(fork);
  for (size_t i = 0; i < kForks; i += 5) {
    Sequence alone;
    Ok(bittern_sequence_eval(alone.handle, Prompt().data(), Prompt().size()));
    EXPECT_EQ(texts[i], Continue(alone.handle, *options_of(i))) << i;
  }
  EXPECT_NE(texts[0], texts[1]);
}

TEST(Promises, AnEmptySequenceHasNothingToContinue) {
  Sequence sequence;
  bittern_result* result = nullptr;
  const float* logits = nullptr;
  size_t count = 0;
  EXPECT_EQ(bittern_sequence_generate(sequence.handle, nullptr, nullptr, nullptr, &result),
            BITTERN_ERROR_ARGUMENT);
  EXPECT_THAT(bittern_error_message(), HasSubstr("nothing to continue"));
  EXPECT_EQ(bittern_sequence_logits(sequence.handle, &logits, &count), BITTERN_ERROR_ARGUMENT);
  EXPECT_EQ(result, nullptr);
}

/// A fork of a full pool can be read; what would need a page is refused and takes nothing away.
TEST(Promises, AForkWithoutAPageKeepsItsTokens) {
  const Options options("context_length", "256", "max_sequences", "1");
  bittern_sequence* sequence = nullptr;
  Ok(bittern_sequence_create(Shared(), options.handle, &sequence));
  Ok(bittern_sequence_eval(sequence, Prompt().data(), Prompt().size()));
  bittern_sequence* fork = nullptr;
  Ok(bittern_sequence_fork(sequence, Prompt().size(), &fork));
  bittern_result* result = nullptr;
  EXPECT_EQ(bittern_sequence_generate(fork, nullptr, nullptr, nullptr, &result),
            BITTERN_ERROR_CONTEXT_FULL);
  EXPECT_THAT(bittern_error_hint(), HasSubstr("max_sequences"));
  size_t length = 0;
  Ok(bittern_sequence_length(fork, &length));
  EXPECT_EQ(length, Prompt().size());
  bittern_sequence_free(sequence);
  const Options greedy("n_predict", "12", "temperature", "0");
  EXPECT_FALSE(Continue(fork, greedy).empty());
  bittern_sequence_free(fork);
}

TEST(Promises, EveryRequestHearsOfItsEnd) {
  for (const bool started : {false, true}) {
    std::vector<Done> ends(5);
    {
      Engine engine("max_sequences", "2");
      if (started) Ok(bittern_engine_start(engine.handle));
      const Options endless("n_predict", "-1", "ignore_eos", "on");
      for (Done& end : ends) {
        Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), endless.handle,
                                 nullptr, Done::Callback, &end, nullptr));
      }
      int32_t more = 0;
      if (!started) Ok(bittern_engine_step(engine.handle, &more));
    }
    for (const Done& end : ends) {
      EXPECT_EQ(end.calls, 1);
      EXPECT_EQ(end.status, BITTERN_ERROR_CANCELLED);
    }
  }
}

TEST(Promises, ASamplerObeysItsGrammarOrRefuses) {
  for (const auto& [key, value] : {std::pair{"regex", " [xyz]{4}"},
                                   {"grammar", "root ::= \" no\" | \" yes\""},
                                   {"json_schema", "{\"type\":\"boolean\"}"}}) {
    for (const char* temperature : {"0", "1"}) {
      const Options options(key, value, "temperature", temperature, "seed", "9", "n_predict", "40");
      bittern_sampler* sampler = nullptr;
      EXPECT_EQ(bittern_sampler_create(options.handle, &sampler), BITTERN_ERROR_ARGUMENT);
      EXPECT_EQ(sampler, nullptr);
      EXPECT_THAT(bittern_error_hint(), HasSubstr("bittern_sampler_create_for"));

      Sequence whole, stepped;
      Ok(bittern_sequence_eval(whole.handle, Prompt().data(), Prompt().size()));
      bittern_result* result = nullptr;
      Ok(bittern_sequence_generate(whole.handle, options.handle, nullptr, nullptr, &result));
      const std::vector<int32_t> expected = IdsOf(result);
      bittern_result_free(result);

      Ok(bittern_sampler_create_for(Shared(), options.handle, &sampler));
      for (const int32_t id : Prompt()) Ok(bittern_sampler_accept(sampler, id));
      Ok(bittern_sequence_eval(stepped.handle, Prompt().data(), Prompt().size()));
      std::vector<int32_t> ids;
      int32_t ends = 0;
      for (;;) {
        const std::vector<float> logits = LogitsOf(stepped.handle);
        int32_t id = -1;
        Ok(bittern_sampler_sample(sampler, logits.data(), logits.size(), &id));
        Ok(bittern_token_is_end(Shared(), id, &ends));
        if (ends != 0 || ids.size() == 40) break;
        EXPECT_EQ(bittern_sampler_accept(sampler, 0x7fffffff), BITTERN_ERROR_ARGUMENT);
        Ok(bittern_sampler_accept(sampler, id));
        ids.push_back(id);
        Ok(bittern_sequence_eval(stepped.handle, &id, 1));
      }
      EXPECT_EQ(ids, expected) << key;
      EXPECT_NE(ends, 0) << key;
      const std::vector<float> nan(LogitsOf(stepped.handle).size(), std::nanf(""));
      int32_t id = -1;
      EXPECT_EQ(bittern_sampler_sample(sampler, nan.data(), nan.size(), &id),
                BITTERN_ERROR_ARGUMENT);
      EXPECT_EQ(bittern_sampler_sample(sampler, nan.data(), 7, &id), BITTERN_ERROR_ARGUMENT);
      bittern_sampler_free(sampler);
    }
  }
}

/// Everything that a text callback was told.
struct Parts {
  static int32_t Callback(void* user, const char* text, size_t size) {
    Parts& parts = *static_cast<Parts*>(user);
    bittern_result* part = nullptr;
    Ok(bittern_text_part(&part));
    EXPECT_EQ(TextOf(part), std::string(text, size));
    parts.text.append(text, size);
    for (const int32_t id : IdsOf(part)) parts.ids.push_back(id);
    const std::string json = JsonOf(part);
    for (size_t at = 0; (at = json.find("\"logprob\"", at)) != std::string::npos; ++at) {
      ++parts.logprobs;
    }
    bittern_result_free(part);
    return 0;
  }

  std::string text;
  std::vector<int32_t> ids;
  size_t logprobs = 0;
};

TEST(Promises, CallbacksKnowTheirTokens) {
  for (const char* logprobs : {"-1", "0"}) {
    const Options options("n_predict", "12", "temperature", "0", "logprobs", logprobs);
    Parts parts, queued;
    bittern_result* result = nullptr;
    Ok(bittern_generate(Shared(), kPrompt, std::strlen(kPrompt), options.handle, Parts::Callback,
                        &parts, &result));
    EXPECT_EQ(parts.text, TextOf(result));
    EXPECT_EQ(parts.ids, IdsOf(result));
    EXPECT_EQ(parts.logprobs, logprobs[0] == '0' ? parts.ids.size() : 0);
    Engine engine;
    const auto on_done = [](void*, uint64_t, bittern_status status, bittern_result* given) {
      Ok(status);
      bittern_result_free(given);
    };
    Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), options.handle,
                             Parts::Callback, on_done, &queued, nullptr));
    Ok(bittern_engine_run(engine.handle));
    EXPECT_EQ(queued.ids, parts.ids);
    EXPECT_EQ(queued.logprobs, parts.logprobs);
    bittern_result_free(result);
  }
  bittern_result* part = nullptr;
  EXPECT_EQ(bittern_text_part(&part), BITTERN_ERROR_ARGUMENT);
}

TEST(Promises, OptionsCanBeRead) {
  const Options options("seed", "7", "stop", "a", "stop", "b");
  const auto read = [&](const char* key) {
    bittern_result* result = nullptr;
    Ok(bittern_options_get(options.handle, key, &result));
    std::string said = TextOf(result) + " " + JsonOf(result);
    bittern_result_free(result);
    return said;
  };
  EXPECT_EQ(read("seed"), "7 {\"values\":[\"7\"]}");
  EXPECT_EQ(read("stop"), "b {\"values\":[\"a\",\"b\"]}");
  EXPECT_EQ(read("n_predict"), "128 {\"values\":[]}");
  bittern_result* result = nullptr;
  EXPECT_EQ(bittern_options_get(options.handle, "nothing", &result), BITTERN_ERROR_NOT_FOUND);
  EXPECT_EQ(bittern_options_get(nullptr, "seed", &result), BITTERN_OK);  // an empty set
  bittern_result_free(result);
}

}  // namespace
