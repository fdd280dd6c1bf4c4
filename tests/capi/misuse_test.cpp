// SPDX-License-Identifier: Apache-2.0
// Misuse of the C interface. With NULL, freed, foreign or made-up handles and with values out of
// range every function returns a status and changes nothing. Calls from callbacks and from many
// threads are safe.
#include <bittern/bittern.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "capi/capi_support.hpp"

namespace {

using namespace capi_test;  // NOLINT: the helpers of this program
using testing::HasSubstr;

/// The outputs of calls that fail; each must stay as it was.
struct Outputs {
  bittern_result* result = nullptr;
  bittern_sequence* sequence = nullptr;
  bittern_engine* engine = nullptr;
  bittern_sampler* sampler = nullptr;
  const char* text = nullptr;
  const float* floats = nullptr;
  const int32_t* ids = nullptr;
  size_t size = 77;
  int64_t number = 77;
  int32_t id = 77;
  uint64_t request = 77;

  void ExpectUntouched() const {
    EXPECT_EQ(result, nullptr);
    EXPECT_EQ(sequence, nullptr);
    EXPECT_EQ(engine, nullptr);
    EXPECT_EQ(sampler, nullptr);
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(floats, nullptr);
    EXPECT_EQ(ids, nullptr);
    EXPECT_EQ(size, 77u);
    EXPECT_EQ(number, 77);
    EXPECT_EQ(id, 77);
    EXPECT_EQ(request, 77u);
  }
};

int32_t PassLogits(void*, size_t, const float*, size_t) { return 0; }

struct Function {
  const char* name;
  std::function<bittern_status(void*, Outputs*)> call;  // with that handle
};

/// Every function that takes a handle, with arguments that are right but for it.
std::vector<Function> Functions() {
  static const int32_t kIds[] = {1, 2};
  static const float kLogits[] = {1, 2};
#define WITH(name, type, ...)                             \
  Function {                                              \
    #name, [](void* any, [[maybe_unused]] Outputs* out) { \
      auto* handle = static_cast<type*>(any);             \
      return name(handle __VA_OPT__(, ) __VA_ARGS__);     \
    }                                                     \
  }
  return {
      WITH(bittern_options_set, bittern_options, "seed", "1"),
      WITH(bittern_result_text, bittern_result, &out->text, &out->size),
      WITH(bittern_result_ids, bittern_result, &out->ids, &out->size),
      WITH(bittern_result_floats, bittern_result, &out->floats, &out->size),
      WITH(bittern_result_json, bittern_result, &out->text, &out->size),
      WITH(bittern_model_number, bittern_model, "vocab_size", &out->number),
      WITH(bittern_model_memory, bittern_model, nullptr, &out->result),
      WITH(bittern_sampler_create_for, bittern_model, nullptr, &out->sampler),
      WITH(bittern_model_info, bittern_model, &out->result),
      WITH(bittern_model_metadata_count, bittern_model, &out->size),
      WITH(bittern_model_metadata_key, bittern_model, 0, &out->text),
      WITH(bittern_model_metadata, bittern_model, "general.name", &out->result),
      WITH(bittern_tokenize, bittern_model, "x", 1, 0, &out->result),
      WITH(bittern_detokenize, bittern_model, kIds, 2, 0, &out->result),
      WITH(bittern_token_bytes, bittern_model, 1, &out->text, &out->size),
      WITH(bittern_token_is_end, bittern_model, 1, &out->id),
      WITH(bittern_apply_template, bittern_model, "[]", 2, nullptr, &out->result),
      WITH(bittern_sequence_create, bittern_model, nullptr, &out->sequence),
      WITH(bittern_generate, bittern_model, "x", 1, nullptr, nullptr, nullptr, &out->result),
      WITH(bittern_engine_create, bittern_model, nullptr, &out->engine),
      WITH(bittern_embed, bittern_model, kIds, 2, nullptr, &out->result),
      WITH(bittern_trace, bittern_model, kIds, 2, nullptr, nullptr, &out->result),
      WITH(bittern_parse_answer, bittern_model, "x", 1, &out->result),
      WITH(bittern_verify, bittern_model, "{}", 2, nullptr, &out->result),
      WITH(bittern_score_text, bittern_model, "x", 1, nullptr, nullptr, nullptr, &out->result),
      WITH(bittern_score_choices, bittern_model, "{}", 2, nullptr, nullptr, nullptr, &out->result),
      WITH(bittern_certify, bittern_model, nullptr, nullptr, nullptr, &out->result),
      WITH(bittern_sequence_length, bittern_sequence, &out->size),
      WITH(bittern_sequence_tokens, bittern_sequence, &out->result),
      WITH(bittern_sequence_eval, bittern_sequence, kIds, 2),
      WITH(bittern_sequence_set_tokens, bittern_sequence, kIds, 2),
      WITH(bittern_sequence_eval_all, bittern_sequence, kIds, 2, PassLogits, nullptr),
      WITH(bittern_sequence_eval_hidden, bittern_sequence, kIds, 2, PassLogits, nullptr),
      WITH(bittern_sequence_logits, bittern_sequence, &out->floats, &out->size),
      WITH(bittern_sequence_hidden, bittern_sequence, &out->floats, &out->size),
      WITH(bittern_sequence_truncate, bittern_sequence, 1),
      WITH(bittern_sequence_fork, bittern_sequence, 0, &out->sequence),
      WITH(bittern_sequence_save, bittern_sequence, &out->result),
      WITH(bittern_sequence_restore, bittern_sequence, "x", 1),
      WITH(bittern_sequence_generate, bittern_sequence, nullptr, nullptr, nullptr, &out->result),
      WITH(bittern_sequence_cancel, bittern_sequence),
      WITH(bittern_sampler_accept, bittern_sampler, 1),
      WITH(bittern_sampler_sample, bittern_sampler, kLogits, 2, &out->id),
      WITH(bittern_engine_submit, bittern_engine, kIds, 2, nullptr, nullptr, Done::Callback,
           nullptr, &out->request),
      WITH(bittern_engine_submit_json, bittern_engine, "{}", 2, nullptr, nullptr, Done::Callback,
           nullptr, &out->request),
      WITH(bittern_engine_submit_line, bittern_engine, "{}", 2, 1, nullptr, Done::Callback, nullptr,
           &out->request),
      WITH(bittern_engine_cancel, bittern_engine, 1),
      WITH(bittern_engine_step, bittern_engine, &out->id),
      WITH(bittern_engine_run, bittern_engine),
      WITH(bittern_engine_start, bittern_engine),
      WITH(bittern_engine_stats, bittern_engine, &out->result),
  };
#undef WITH
}

/// A handle of each kind that was freed.
std::vector<void*> FreedHandles() {
  bittern_options* options = nullptr;
  bittern_model* model = nullptr;
  bittern_sequence* sequence = nullptr;
  bittern_engine* engine = nullptr;
  bittern_sampler* sampler = nullptr;
  bittern_result* result = nullptr;
  Ok(bittern_options_create(&options));
  Ok(bittern_model_load_builtin(options, &model));
  Ok(bittern_sequence_create(model, options, &sequence));
  Ok(bittern_engine_create(model, options, &engine));
  Ok(bittern_sampler_create(options, &sampler));
  Ok(bittern_model_info(model, &result));
  for (int twice = 0; twice < 2; ++twice) {  // the second time does nothing
    bittern_options_free(options);
    bittern_model_free(model);
    bittern_sequence_free(sequence);
    bittern_engine_free(engine);
    bittern_sampler_free(sampler);
    bittern_result_free(result);
  }
  return {options, model, sequence, engine, sampler, result};
}

TEST(Misuse, BadHandlesAreToldApart) {
  int on_stack = 0;
  std::vector<void*> handles = FreedHandles();
  handles.insert(handles.end(), {nullptr, &on_stack, reinterpret_cast<void*>(std::uintptr_t{1}),
                                 reinterpret_cast<void*>(~std::uintptr_t{0})});
  for (const Function& function : Functions()) {
    for (void* const handle : handles) {
      Outputs outputs;
      EXPECT_EQ(function.call(handle, &outputs), BITTERN_ERROR_HANDLE) << function.name;
      EXPECT_EQ(bittern_error_status(), BITTERN_ERROR_HANDLE);
      EXPECT_THAT(bittern_error_message(), HasSubstr("expected"));
      outputs.ExpectUntouched();
    }
  }
}

TEST(Misuse, HandlesOfAnotherKind) {
  bittern_result* result = nullptr;
  bittern_sampler* sampler = nullptr;
  Ok(bittern_model_info(Shared(), &result));
  Ok(bittern_sampler_create(nullptr, &sampler));
  for (const Function& function : Functions()) {
    Outputs outputs;
    const bool of_result = std::string(function.name).starts_with("bittern_result");
    void* const wrong = of_result ? static_cast<void*>(sampler) : static_cast<void*>(result);
    EXPECT_EQ(function.call(wrong, &outputs), BITTERN_ERROR_HANDLE) << function.name;
    outputs.ExpectUntouched();
  }
  bittern_model_free(reinterpret_cast<bittern_model*>(result));  // frees nothing
  EXPECT_FALSE(JsonOf(result).empty());
  bittern_result_free(result);
  bittern_sampler_free(sampler);
}

TEST(Misuse, MissingPointers) {
  const Options options;
  Sequence sequence;
  Engine engine;
  bittern_sampler* sampler = nullptr;
  Ok(bittern_sampler_create(nullptr, &sampler));
  bittern_result* result = nullptr;
  Ok(bittern_model_info(Shared(), &result));
  const int32_t id = 1;
  const float logit = 1;
  size_t size = 0;
  const char* text = nullptr;
  const float* floats = nullptr;
  const auto seq = sequence.handle;
  const bittern_status statuses[] = {
      bittern_options_create(nullptr),
      bittern_options_set(options.handle, nullptr, "1"),
      bittern_options_set(options.handle, "seed", nullptr),
      bittern_result_text(result, nullptr, &size),
      bittern_result_ids(result, nullptr, nullptr),
      bittern_result_json(result, nullptr, &size),
      bittern_model_load(nullptr, nullptr, nullptr, nullptr, nullptr),
      bittern_model_load("x", nullptr, nullptr, nullptr, nullptr),
      bittern_model_load_memory(nullptr, 5, nullptr, nullptr, nullptr, nullptr, nullptr),
      bittern_model_load_builtin(nullptr, nullptr),
      bittern_model_number(Shared(), nullptr, nullptr),
      bittern_model_number(Shared(), "eos_id", nullptr),
      bittern_model_info(Shared(), nullptr),
      bittern_model_metadata_count(Shared(), nullptr),
      bittern_model_metadata_key(Shared(), 0, nullptr),
      bittern_model_metadata_key(Shared(), ~size_t{0}, &text),
      bittern_model_metadata(Shared(), nullptr, &result),
      bittern_model_metadata(Shared(), "x", nullptr),
      bittern_tokenize(Shared(), nullptr, 1, 0, &result),
      bittern_tokenize(Shared(), "x", 1, 0, nullptr),
      bittern_tokenize(Shared(), "x", 1, 64, &result),
      bittern_detokenize(Shared(), nullptr, 1, 0, &result),
      bittern_detokenize(Shared(), &id, 1, 0, nullptr),
      bittern_detokenize(Shared(), &id, 1, 2, &result),
      bittern_token_bytes(Shared(), 1, nullptr, &size),
      bittern_token_bytes(Shared(), 1, &text, nullptr),
      bittern_token_bytes(Shared(), -1, &text, &size),
      bittern_token_bytes(Shared(), std::numeric_limits<int32_t>::max(), &text, &size),
      bittern_token_is_end(Shared(), 1, nullptr),
      bittern_apply_template(Shared(), nullptr, 1, nullptr, &result),
      bittern_apply_template(Shared(), "[]", 2, nullptr, nullptr),
      bittern_sequence_create(Shared(), nullptr, nullptr),
      bittern_sequence_length(seq, nullptr),
      bittern_sequence_tokens(seq, nullptr),
      bittern_sequence_eval(seq, nullptr, 1),
      bittern_sequence_eval(seq, &id, 0),
      bittern_sequence_set_tokens(seq, nullptr, 1),
      bittern_sequence_eval_all(seq, nullptr, 1, PassLogits, nullptr),
      bittern_sequence_eval_all(seq, &id, 1, nullptr, nullptr),
      bittern_sequence_logits(seq, nullptr, &size),
      bittern_sequence_logits(seq, &floats, nullptr),
      bittern_sequence_hidden(seq, nullptr, &size),
      bittern_sequence_fork(seq, 0, nullptr),
      bittern_sequence_save(seq, nullptr),
      bittern_sequence_restore(seq, nullptr, 0),
      bittern_sequence_generate(seq, nullptr, nullptr, nullptr, nullptr),
      bittern_generate(Shared(), nullptr, 1, nullptr, nullptr, nullptr, &result),
      bittern_generate(Shared(), "x", 1, nullptr, nullptr, nullptr, nullptr),
      bittern_sampler_create(nullptr, nullptr),
      bittern_sampler_accept(sampler, -1),
      bittern_sampler_sample(sampler, nullptr, 1, nullptr),
      bittern_sampler_sample(sampler, &logit, 1, nullptr),
      bittern_engine_create(Shared(), nullptr, nullptr),
      bittern_engine_submit(engine.handle, nullptr, 1, nullptr, nullptr, Done::Callback, nullptr,
                            nullptr),
      bittern_engine_submit(engine.handle, &id, 1, nullptr, nullptr, nullptr, nullptr, nullptr),
      bittern_engine_submit(engine.handle, &id, 0, nullptr, nullptr, Done::Callback, nullptr,
                            nullptr),
      bittern_engine_submit_json(engine.handle, nullptr, 2, nullptr, nullptr, Done::Callback,
                                 nullptr, nullptr),
      bittern_engine_submit_json(engine.handle, "{}", 2, nullptr, nullptr, nullptr, nullptr,
                                 nullptr),
      bittern_engine_submit_json(engine.handle, "{}", 2, nullptr, nullptr, Done::Callback, nullptr,
                                 nullptr),
      bittern_engine_submit_json(engine.handle, "{\"prompt\": \"x\", \"temprature\": 1}", 32,
                                 nullptr, nullptr, Done::Callback, nullptr, nullptr),
      bittern_engine_submit_line(engine.handle, nullptr, 2, 1, nullptr, Done::Callback, nullptr,
                                 nullptr),
      bittern_engine_submit_line(engine.handle, "{}", 2, 1, nullptr, nullptr, nullptr, nullptr),
      bittern_engine_stats(engine.handle, nullptr),
      bittern_certify(Shared(), nullptr, nullptr, nullptr, nullptr),
      bittern_trace(Shared(), nullptr, 1, nullptr, nullptr, &result),
      bittern_trace(Shared(), &id, 1, nullptr, nullptr, nullptr),
      bittern_convert(nullptr, "x", nullptr, nullptr, nullptr, &result),
      bittern_convert("x", nullptr, nullptr, nullptr, nullptr, &result),
      bittern_convert("x", "y", nullptr, nullptr, nullptr, nullptr),
  };
  for (size_t i = 0; i < std::size(statuses); ++i) {
    EXPECT_EQ(statuses[i], BITTERN_ERROR_ARGUMENT) << "call " << i;
  }
  Ok(bittern_engine_step(engine.handle, nullptr));
  EXPECT_FALSE(JsonOf(result).empty());
  bittern_result_free(result);
  bittern_sampler_free(sampler);
}

TEST(Misuse, OptionsAreCheckedWhenTheyAreSet) {
  const Options options;
  EXPECT_EQ(bittern_options_set(options.handle, "temprature", "1"), BITTERN_ERROR_NOT_FOUND);
  const std::pair<const char*, const char*> wrong[] = {
      {"temperature", "warm"}, {"temperature", "nan"},     {"temperature", ""},
      {"top_p", "1.5"},        {"top_k", "1.5"},           {"top_k", "-2"},
      {"threads", "-1"},       {"threads", "99999999999"}, {"seed", "4294967296"},
      {"kv_type", "f8"},       {"kv_type", "f16 f32"},     {"hidden", "maybe"},
      {"batch_size", "0"},     {"max_sequences", "5000"},  {"n_predict", "1e3"},
      {"kernel", ""},          {"top_p", "0,5"},           {"regex", "("},
      {"repeat_penalty", "0"}, {"grammar", "root"},        {"json_schema", "{"}};
  for (const auto& [key, value] : wrong) {
    EXPECT_EQ(bittern_options_set(options.handle, key, value), BITTERN_ERROR_ARGUMENT)
        << key << "=" << value;
    EXPECT_THAT(bittern_error_message(), HasSubstr("expected"));
  }
  EXPECT_THAT(bittern_options_describe(), HasSubstr("\"temperature\""));
  const Options too_long("context_length", "100000000");
  bittern_sequence* sequence = nullptr;
  EXPECT_EQ(bittern_sequence_create(Shared(), too_long.handle, &sequence), BITTERN_ERROR_ARGUMENT);
}

TEST(Misuse, FullContextsAndTokensOutside) {
  Sequence small("context_length", "8");
  const std::vector<int32_t> nine(9, 300);
  EXPECT_EQ(bittern_sequence_eval(small.handle, nine.data(), 9), BITTERN_ERROR_CONTEXT_FULL);
  Ok(bittern_sequence_eval(small.handle, nine.data(), 8));
  EXPECT_EQ(bittern_sequence_eval(small.handle, nine.data(), 1), BITTERN_ERROR_CONTEXT_FULL);
  bittern_result* result = nullptr;
  Ok(bittern_sequence_generate(small.handle, nullptr, nullptr, nullptr, &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("context_full"));
  bittern_result_free(result);
  int64_t vocab_size = 0;
  Ok(bittern_model_number(Shared(), "vocab_size", &vocab_size));
  for (const int32_t id : {-1, static_cast<int32_t>(vocab_size), INT32_MAX, INT32_MIN}) {
    Sequence sequence;
    EXPECT_EQ(bittern_sequence_eval(sequence.handle, &id, 1), BITTERN_ERROR_ARGUMENT);
    EXPECT_EQ(bittern_detokenize(Shared(), &id, 1, 0, &result), BITTERN_ERROR_ARGUMENT);
  }
  Sequence sequence;
  bittern_sequence* fork = nullptr;
  EXPECT_EQ(bittern_sequence_fork(sequence.handle, 1, &fork), BITTERN_ERROR_ARGUMENT);
  EXPECT_EQ(bittern_sequence_generate(sequence.handle, nullptr, nullptr, nullptr, &result),
            BITTERN_ERROR_ARGUMENT);  // there is no prompt
}

TEST(Misuse, ForksThatRunOutOfPages) {
  Sequence sequence("context_length", "512");
  const std::vector<int32_t> ids(400, 300);
  Ok(bittern_sequence_eval(sequence.handle, ids.data(), ids.size()));
  bittern_sequence* fork = nullptr;
  Ok(bittern_sequence_fork(sequence.handle, 400, &fork));
  EXPECT_EQ(bittern_sequence_eval(fork, ids.data(), 1), BITTERN_ERROR_CONTEXT_FULL);
  EXPECT_THAT(bittern_error_hint(), HasSubstr("max_sequences="));
  bittern_sequence_free(sequence.handle);  // gives its pages to the fork; freed again later
  Ok(bittern_sequence_eval(fork, ids.data(), 100));
  bittern_sequence_free(fork);
}

TEST(Misuse, CallsFromCallbacks) {
  struct State {
    bittern_sequence* sequence;
    bittern_engine* engine;
    bittern_status status = BITTERN_OK;
  };
  Sequence sequence;
  Engine engine;
  State state{sequence.handle, engine.handle};
  const auto call_back = [](void* user, const char*, size_t) {
    auto& s = *static_cast<State*>(user);
    size_t length = 0;
    s.status = s.engine != nullptr ? bittern_engine_step(s.engine, nullptr)
                                   : bittern_sequence_length(s.sequence, &length);
    return int32_t{1};
  };
  const Options options("n_predict", "50");
  Done done;
  Ok(bittern_engine_submit(
      engine.handle, Prompt().data(), Prompt().size(), options.handle,
      [](void*, const char*, size_t) { return int32_t{0}; }, Done::Callback, &done, nullptr));
  Ok(bittern_engine_run(engine.handle));
  EXPECT_EQ(done.status, BITTERN_OK);
  state.engine = nullptr;
  Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
  bittern_result* result = nullptr;
  Ok(bittern_sequence_generate(sequence.handle, options.handle, call_back, &state, &result));
  EXPECT_EQ(state.status, BITTERN_ERROR_BUSY);
  EXPECT_THAT(JsonOf(result), HasSubstr("cancelled"));
  bittern_result_free(result);
}

TEST(Misuse, CancelFromAnotherThread) {
  Sequence sequence;
  const Options endless("n_predict", "-1", "ignore_eos", "on", "temperature", "1");
  Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
  std::atomic<bool> begun = false, ended = false;
  std::thread other([&] {
    while (!begun.load()) std::this_thread::yield();
    while (!ended.load()) Ok(bittern_sequence_cancel(sequence.handle));
  });
  const auto note = [](void* user, const char*, size_t) {
    static_cast<std::atomic<bool>*>(user)->store(true);
    return int32_t{0};
  };
  bittern_result* result = nullptr;
  Ok(bittern_sequence_generate(sequence.handle, endless.handle, note, &begun, &result));
  ended.store(true);
  other.join();
  EXPECT_THAT(JsonOf(result), HasSubstr("\"finish_reason\":\"c"));  // cancelled, or context_full
  bittern_result_free(result);
}

TEST(Misuse, EightThreadsOneEngine) {
  Engine engine("max_sequences", "4", "context_length", "256");
  const Options options("n_predict", "6", "temperature", "0");
  constexpr int kThreads = 8, kRequests = 6;
  std::vector<Done> done(kThreads * kRequests);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int r = 0; r < kRequests; ++r) {
        uint64_t request = 0;
        Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), options.handle,
                                 nullptr, Done::Callback, &done[t * kRequests + r], &request));
        if (r == 3) Ok(bittern_engine_cancel(engine.handle, request));
        Ok(bittern_engine_step(engine.handle, nullptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Ok(bittern_engine_run(engine.handle));
  for (size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].calls, 1) << i;
    if (done[i].status == BITTERN_OK && done[i].json.find("cancelled") == std::string::npos) {
      EXPECT_EQ(done[i].text, done[0].text) << i;
    }
    if (i % kRequests != 3) {
      EXPECT_EQ(done[i].status, BITTERN_OK) << i;
    }
  }
  bittern_result* stats = nullptr;
  Ok(bittern_engine_stats(engine.handle, &stats));
  EXPECT_THAT(JsonOf(stats), HasSubstr("\"running\":0,\"waiting\":0"));
  bittern_result_free(stats);
}

TEST(Misuse, FreedWhileInUse) {
  bittern_sequence* sequence = nullptr;
  Ok(bittern_sequence_create(Shared(), nullptr, &sequence));
  Ok(bittern_sequence_eval(sequence, Prompt().data(), Prompt().size()));
  const auto free_it = [](void* user, const char*, size_t) {
    bittern_sequence_free(static_cast<bittern_sequence*>(user));  // a mistake, but no crash
    return int32_t{0};
  };
  const Options options("n_predict", "5", "temperature", "0");
  bittern_result* result = nullptr;
  Ok(bittern_sequence_generate(sequence, options.handle, free_it, sequence, &result));
  EXPECT_FALSE(TextOf(result).empty());
  bittern_result_free(result);
  EXPECT_EQ(bittern_sequence_truncate(sequence, 0), BITTERN_ERROR_HANDLE);
}

TEST(Misuse, EngineCancelEndsARequestOnceWithAResult) {
  Engine engine;
  Done done;
  uint64_t request = 0;
  Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), nullptr, nullptr,
                           Done::Callback, &done, &request));
  Ok(bittern_engine_cancel(engine.handle, request));
  Ok(bittern_engine_cancel(engine.handle, request + 1));
  Ok(bittern_engine_run(engine.handle));
  EXPECT_EQ(done.calls, 1);
  EXPECT_EQ(done.status, BITTERN_OK);
  EXPECT_EQ(done.text, "");
  EXPECT_THAT(done.json, HasSubstr("\"finish_reason\":\"cancelled\""));
}

TEST(Misuse, ErrorsBelongToTheirThread) {
  EXPECT_EQ(bittern_options_create(nullptr), BITTERN_ERROR_ARGUMENT);
  std::thread([] {
    EXPECT_EQ(bittern_error_status(), BITTERN_OK);
    EXPECT_STREQ(bittern_error_message(), "");
  }).join();
  EXPECT_EQ(bittern_error_status(), BITTERN_ERROR_ARGUMENT);
  EXPECT_STREQ(bittern_status_name(BITTERN_ERROR_HANDLE), "BITTERN_ERROR_HANDLE");
  EXPECT_STREQ(bittern_status_name(-5), "unknown");
  EXPECT_STREQ(bittern_status_name(1000), "unknown");
  EXPECT_EQ(bittern_version_number(), BITTERN_VERSION_NUMBER);
  EXPECT_STREQ(bittern_version(), "0.1.0");
}

}  // namespace
