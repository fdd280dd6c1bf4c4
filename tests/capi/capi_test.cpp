// SPDX-License-Identifier: Apache-2.0
// The C interface as another program sees it: linked with the shared library alone. What each
// function gives, and that the ways of giving it texts, states and requests agree.
#include <bittern/bittern.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "capi/capi_support.hpp"

namespace {

using namespace capi_test;  // NOLINT: the helpers of this program
using testing::HasSubstr;

const std::string kFile = BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf";

TEST(Capi, TheWaysToMakeATextAgree) {
  const std::string expected = " a small slender gull with narrow wings and a forked tail.";
  const Options greedy("n_predict", "20", "temperature", "0");
  std::string streamed;
  bittern_result* result = nullptr;
  Ok(bittern_generate(Shared(), kPrompt, std::strlen(kPrompt), greedy.handle, AppendText, &streamed,
                      &result));
  EXPECT_EQ(TextOf(result), expected);
  EXPECT_EQ(streamed, expected);
  EXPECT_THAT(JsonOf(result), HasSubstr("\"finish_reason\":\"end_of_text\""));
  const std::vector<int32_t> ids = IdsOf(result);
  bittern_result_free(result);

  Sequence sequence;
  Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
  Ok(bittern_sequence_generate(sequence.handle, greedy.handle, nullptr, nullptr, &result));
  EXPECT_EQ(TextOf(result), expected);
  EXPECT_EQ(IdsOf(result), ids);
  bittern_result_free(result);

  Engine engine;
  Done done;
  uint64_t request = 0;
  Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), greedy.handle, nullptr,
                           Done::Callback, &done, &request));
  Ok(bittern_engine_run(engine.handle));
  EXPECT_EQ(done.text, expected);
  EXPECT_EQ(done.request, request);
}

struct SamplerKey {
  const char *key, *good, *wrong;
};
/// Every setting of the draw.
const SamplerKey kSamplerKeys[] = {{"seed", "4294967295", "-2"},
                                   {"temperature", "-1", "warm"},
                                   {"top_p", "0.5", "1.01"},
                                   {"min_p", "0.1", "-0.1"},
                                   {"repeat_penalty", "1.1", "0"},
                                   {"frequency_penalty", "0.5", "nan"},
                                   {"presence_penalty", "-0.5", "1e39"},
                                   {"typical_p", "0.9", ""},
                                   {"top_n_sigma", "1", "1,5"},
                                   {"xtc_probability", "0.5", "x"},
                                   {"xtc_threshold", "0.2", "0.2 "},
                                   {"dynatemp_range", "0.5", "-"},
                                   {"dynatemp_exponent", "2", "inf"},
                                   {"dry_multiplier", "0.8", "on"},
                                   {"dry_base", "1", "0.99"},
                                   {"mirostat_tau", "4", "four"},
                                   {"mirostat_eta", "0.2", "0.2f"},
                                   {"adaptive_target", "0.5", "--1"},
                                   {"adaptive_decay", "0.5", "1"},
                                   {"top_k", "-1", "-2"},
                                   {"repeat_last_n", "0", "1.5"},
                                   {"dry_allowed_length", "3", "-1"},
                                   {"dry_penalty_last_n", "-1", "-2"},
                                   {"mirostat", "2", "3"},
                                   {"min_keep", "1", "2147483648"},
                                   {"dry_sequence_breakers", "none", nullptr},
                                   {"logit_bias", "300-inf", "300"},
                                   {"samplers", "top_k;temp", "top_k,temp"}};

TEST(Capi, EveryOptionOfTheSamplerIsASetting) {
  EXPECT_EQ(std::size(kSamplerKeys), 28u);
  for (const SamplerKey& row : kSamplerKeys) {
    EXPECT_THAT(bittern_options_describe(), HasSubstr("\"key\": \"" + std::string(row.key) + "\""));
    const Options options(row.key, row.good);
    bittern_sampler* sampler = nullptr;
    Ok(bittern_sampler_create(options.handle, &sampler));
    bittern_sampler_free(sampler);
    if (row.wrong == nullptr) continue;  // any text will do
    EXPECT_EQ(bittern_options_set(options.handle, row.key, row.wrong), BITTERN_ERROR_ARGUMENT);
    EXPECT_THAT(bittern_error_message(), testing::StartsWith(row.key + std::string(": ")));
    EXPECT_THAT(bittern_error_message(), HasSubstr("expected"));
  }
}

int32_t Sampled(const Options& options, const std::vector<float>& logits) {
  bittern_sampler* sampler = nullptr;
  Ok(bittern_sampler_create(options.handle, &sampler));
  int32_t id = -1;
  Ok(bittern_sampler_sample(sampler, logits.data(), logits.size(), &id));
  bittern_sampler_free(sampler);
  return id;
}

TEST(Capi, BiasesAddUp) {
  const std::vector<float> logits = {1, 5, 4, 3};
  EXPECT_EQ(Sampled(Options("temperature", "0"), logits), 1);
  const Options forbidden("temperature", "0", "logit_bias", "1-inf", "logit_bias", "3+1.5");
  EXPECT_EQ(Sampled(forbidden, logits), 3);
}

TEST(Capi, TextsObeyWhatTheyAreToldToBe) {
  const std::pair<const char*, const char*> told[] = {{"grammar", "root ::= \" [true]\""},
                                                      {"regex", " \\[true\\]"},
                                                      {"json_schema", "{\"const\":[true]}"}};
  for (const auto& [key, value] : told) {
    const Options options("n_predict", "20", "temperature", "1", "seed", "3", key, value);
    bittern_result* result = nullptr;
    Ok(bittern_generate(Shared(), kPrompt, std::strlen(kPrompt), options.handle, nullptr, nullptr,
                        &result));
    EXPECT_THAT(TextOf(result), HasSubstr("[true]")) << key;
    bittern_result_free(result);
    // One at a time; an empty one is none.
    const char* const other = std::strcmp(key, "regex") == 0 ? "grammar" : "regex";
    EXPECT_EQ(bittern_options_set(options.handle, other, "root ::= \"x\""), BITTERN_ERROR_ARGUMENT);
    EXPECT_THAT(bittern_error_message(), HasSubstr(" is set"));
    Ok(bittern_options_set(options.handle, key, ""));
    Ok(bittern_options_set(options.handle, other, "root ::= \"x\""));
  }
}

TEST(Capi, ForksTruncationAndStatesKeepEveryBit) {
  Sequence sequence("max_sequences", "3");
  const std::vector<int32_t> prompt = Prompt();
  Ok(bittern_sequence_eval(sequence.handle, prompt.data(), prompt.size()));
  const std::vector<float> logits = LogitsOf(sequence.handle);
  ASSERT_FALSE(logits.empty());

  bittern_sequence* fork = nullptr;
  Ok(bittern_sequence_fork(sequence.handle, prompt.size() - 1, &fork));
  Ok(bittern_sequence_eval(fork, &prompt.back(), 1));
  EXPECT_EQ(LogitsOf(fork), logits);
  const int32_t other = 300;
  Ok(bittern_sequence_eval(fork, &other, 1));
  EXPECT_NE(LogitsOf(fork), logits);
  EXPECT_EQ(LogitsOf(sequence.handle), logits);  // the fork wrote into pages of its own

  bittern_result* state = nullptr;
  Ok(bittern_sequence_save(fork, &state));
  const std::vector<float> later = LogitsOf(fork);
  bittern_sequence_free(fork);
  Sequence restored;
  const std::string bytes = TextOf(state);
  bittern_result_free(state);
  Ok(bittern_sequence_restore(restored.handle, bytes.data(), bytes.size()));
  Ok(bittern_sequence_truncate(restored.handle, prompt.size()));
  Ok(bittern_sequence_eval(restored.handle, &other, 1));
  EXPECT_EQ(LogitsOf(restored.handle), later);

  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  for (const std::string& bad : {damaged, bytes.substr(0, bytes.size() - 1), std::string("x"),
                                 std::string("BTRNSTA1"), std::string()}) {
    EXPECT_EQ(bittern_sequence_restore(restored.handle, bad.data(), bad.size()),
              BITTERN_ERROR_CORRUPT);
  }
  EXPECT_EQ(LogitsOf(restored.handle), later);  // a refused state changes nothing
  Sequence other_type("kv_type", "f32");
  EXPECT_EQ(bittern_sequence_restore(other_type.handle, bytes.data(), bytes.size()),
            BITTERN_ERROR_ARGUMENT);
}

TEST(Capi, SetTokensKeepsWhatAgrees) {
  Sequence sequence, fresh;
  std::vector<int32_t> ids = Prompt();
  Ok(bittern_sequence_set_tokens(sequence.handle, ids.data(), ids.size()));
  ids.push_back(300);
  ids[2] = 301;
  Ok(bittern_sequence_set_tokens(sequence.handle, ids.data(), ids.size()));
  Ok(bittern_sequence_eval(fresh.handle, ids.data(), ids.size()));
  EXPECT_EQ(LogitsOf(sequence.handle), LogitsOf(fresh.handle));
  Ok(bittern_sequence_set_tokens(sequence.handle, ids.data(), 3));
  size_t length = 0;
  Ok(bittern_sequence_length(sequence.handle, &length));
  EXPECT_EQ(length, 3u);
  const int32_t bad = -1;
  EXPECT_EQ(bittern_sequence_set_tokens(sequence.handle, &bad, 1), BITTERN_ERROR_ARGUMENT);
  Ok(bittern_sequence_length(sequence.handle, &length));
  EXPECT_EQ(length, 3u);
  Ok(bittern_sequence_set_tokens(sequence.handle, nullptr, 0));
  Ok(bittern_sequence_length(sequence.handle, &length));
  EXPECT_EQ(length, 0u);
}

TEST(Capi, LogitsOfAllPositionsAndHiddenStates) {
  Sequence all;
  Sequence last("hidden", "on");
  const std::vector<int32_t> prompt = Prompt();
  std::vector<std::vector<float>> rows;
  const auto keep = [](void* user, size_t, const float* logits, size_t count) {
    static_cast<std::vector<std::vector<float>>*>(user)->emplace_back(logits, logits + count);
    return int32_t{0};
  };
  Ok(bittern_sequence_eval_all(all.handle, prompt.data(), prompt.size(), keep, &rows));
  ASSERT_EQ(rows.size(), prompt.size());
  Ok(bittern_sequence_eval(last.handle, prompt.data(), prompt.size()));
  EXPECT_EQ(LogitsOf(last.handle), rows.back());
  const float* hidden = nullptr;
  size_t count = 0;
  Ok(bittern_sequence_hidden(last.handle, &hidden, &count));
  int64_t hidden_size = 0;
  Ok(bittern_model_number(Shared(), "hidden_size", &hidden_size));
  ASSERT_EQ(static_cast<int64_t>(count), hidden_size);
  const std::vector<float> first(hidden, hidden + count);
  Ok(bittern_sequence_truncate(last.handle, prompt.size() - 1));
  Ok(bittern_sequence_hidden(last.handle, &hidden, &count));  // reads the new last token again
  EXPECT_NE(std::vector<float>(hidden, hidden + count), first);
  Ok(bittern_sequence_eval(last.handle, &prompt.back(), 1));
  Ok(bittern_sequence_hidden(last.handle, &hidden, &count));
  EXPECT_EQ(std::vector<float>(hidden, hidden + count), first);
  EXPECT_EQ(bittern_sequence_hidden(all.handle, &hidden, &count), BITTERN_ERROR_ARGUMENT);

  const auto stop = [](void*, size_t position, const float*, size_t) {
    return static_cast<int32_t>(position == 2);
  };
  Sequence stopped;
  EXPECT_EQ(bittern_sequence_eval_all(stopped.handle, prompt.data(), prompt.size(), stop, nullptr),
            BITTERN_ERROR_CANCELLED);
  size_t length = 0;
  Ok(bittern_sequence_length(stopped.handle, &length));
  EXPECT_EQ(length, 2u);
}

TEST(Capi, TokensTextsAndConversations) {
  bittern_result* result = nullptr;
  Ok(bittern_detokenize(Shared(), Prompt().data(), Prompt().size(), 0, &result));
  EXPECT_EQ(TextOf(result), kPrompt);
  bittern_result_free(result);
  const std::string messages = R"([{"role":"user","content":"What is a tern?"}])";
  Ok(bittern_apply_template(Shared(), messages.data(), messages.size(), nullptr, &result));
  EXPECT_THAT(TextOf(result), HasSubstr("what is a tern?"));  // the template writes small letters
  EXPECT_FALSE(IdsOf(result).empty());
  bittern_result_free(result);
  EXPECT_EQ(bittern_apply_template(Shared(), "[", 1, nullptr, &result), BITTERN_ERROR_ARGUMENT);
  int64_t eos = 0;
  Ok(bittern_model_number(Shared(), "eos_id", &eos));
  int32_t is_end = 0;
  Ok(bittern_token_is_end(Shared(), static_cast<int32_t>(eos), &is_end));
  EXPECT_EQ(is_end, 1);
  const char* bytes = nullptr;
  size_t size = 0;
  Ok(bittern_token_bytes(Shared(), Prompt().back(), &bytes, &size));
  EXPECT_EQ(std::string(bytes, size), " is");
}

TEST(Capi, WhatIsKnownAboutAModel) {
  size_t count = 0;
  Ok(bittern_model_metadata_count(Shared(), &count));
  ASSERT_GT(count, 10u);
  const char* key = nullptr;
  for (size_t i = 0; i < count; ++i) {
    Ok(bittern_model_metadata_key(Shared(), i, &key));
    bittern_result* value = nullptr;
    Ok(bittern_model_metadata(Shared(), key, &value));
    EXPECT_THAT(JsonOf(value), HasSubstr("\"value\":")) << key;
    bittern_result_free(value);
  }
  bittern_result* result = nullptr;
  Ok(bittern_model_metadata(Shared(), "general.architecture", &result));
  EXPECT_EQ(TextOf(result), "bitnet-b1.58");
  bittern_result_free(result);
  EXPECT_EQ(bittern_model_metadata(Shared(), "no.such.key", &result), BITTERN_ERROR_NOT_FOUND);
  Ok(bittern_model_info(Shared(), &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"path\":\"built-in pocket"));
  bittern_result_free(result);
}

TEST(Capi, ModelsFromFilesAndMemory) {
  std::ifstream in(kFile, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  bittern_model* model = nullptr;
  double last = 0;
  const auto watch = [](void* user, double done) {
    *static_cast<double*>(user) = done;
    return int32_t{0};
  };
  Ok(bittern_model_load_memory(bytes.data(), bytes.size(), "m", nullptr, watch, &last, &model));
  EXPECT_EQ(last, 1);
  Sequence of_memory(model);
  bittern_model_free(model);  // the sequence keeps what it needs
  Ok(bittern_model_load(kFile.c_str(), nullptr, nullptr, nullptr, &model));
  Sequence of_file(model);
  bittern_model_free(model);
  for (const Sequence* sequence : {&of_memory, &of_file}) {
    Ok(bittern_sequence_eval(sequence->handle, Prompt().data(), 3));
  }
  EXPECT_EQ(LogitsOf(of_memory.handle), LogitsOf(of_file.handle));

  bittern_model* untouched = nullptr;
  EXPECT_EQ(bittern_model_load("/no/such/file", nullptr, nullptr, nullptr, &untouched),
            BITTERN_ERROR_NOT_FOUND);
  EXPECT_THAT(bittern_error_message(), HasSubstr("/no/such/file"));
  for (const size_t size : {size_t{0}, size_t{7}, size_t{1000}, bytes.size() / 2}) {
    EXPECT_NE(bittern_model_load_memory(bytes.data(), size, nullptr, nullptr, nullptr, nullptr,
                                        &untouched),
              BITTERN_OK);
  }
  const auto cancel = [](void*, double) { return int32_t{1}; };
  EXPECT_EQ(bittern_model_load(kFile.c_str(), nullptr, cancel, nullptr, &untouched),
            BITTERN_ERROR_CANCELLED);
  const Options wrong("override_kv", "bitnet-b1.58.block_count=int:99");
  EXPECT_EQ(bittern_model_load(kFile.c_str(), wrong.handle, nullptr, nullptr, &untouched),
            BITTERN_ERROR_ARGUMENT);
  EXPECT_THAT(bittern_error_hint(), HasSubstr("override_kv=bitnet-b1.58.block_count=int:N"));
  EXPECT_EQ(untouched, nullptr);
}

TEST(Capi, SamplersChooseAsGenerateDoes) {
  const Options drawn("temperature", "1", "seed", "7", "n_predict", "8", "top_k", "40", "top_p",
                      "1", "min_p", "0", "ignore_eos", "on");
  Sequence sequence, stepped;
  Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
  bittern_result* result = nullptr;
  Ok(bittern_sequence_generate(sequence.handle, drawn.handle, nullptr, nullptr, &result));
  const std::vector<int32_t> expected = IdsOf(result);
  bittern_result_free(result);
  bittern_sampler* sampler = nullptr;
  Ok(bittern_sampler_create(drawn.handle, &sampler));
  for (const int32_t id : Prompt()) Ok(bittern_sampler_accept(sampler, id));
  std::vector<int32_t> ids;
  Ok(bittern_sequence_eval(stepped.handle, Prompt().data(), Prompt().size()));
  for (int i = 0; i < 8; ++i) {
    const std::vector<float> logits = LogitsOf(stepped.handle);
    int32_t id = -1;
    Ok(bittern_sampler_sample(sampler, logits.data(), logits.size(), &id));
    Ok(bittern_sampler_accept(sampler, id));
    ids.push_back(id);
    Ok(bittern_sequence_eval(stepped.handle, &id, 1));
  }
  EXPECT_EQ(ids, expected);
  const std::vector<float> none(8, NAN);
  int32_t id = -1;
  EXPECT_EQ(bittern_sampler_sample(sampler, none.data(), none.size(), &id), BITTERN_ERROR_ARGUMENT);
  EXPECT_EQ(id, -1);
  bittern_sampler_free(sampler);
}

TEST(Capi, CertificateAndConversion) {
  bittern_model* model = nullptr;
  Ok(bittern_model_load(kFile.c_str(), nullptr, nullptr, nullptr, &model));
  bittern_result* result = nullptr;
  Ok(bittern_certify(model, nullptr, nullptr, nullptr, &result));
  std::ifstream lines(BITTERN_SOURCE_DIR "/models/certificates.txt");
  const std::string known((std::istreambuf_iterator<char>(lines)), {});
  const std::string line = TextOf(result);
  EXPECT_THAT(known, HasSubstr(line.substr(line.find("model="))));
  bittern_result_free(result);
  const auto cancel = [](void*, double) { return int32_t{1}; };
  EXPECT_EQ(bittern_certify(model, nullptr, cancel, nullptr, &result), BITTERN_ERROR_CANCELLED);
  bittern_model_free(model);

  const auto out = std::filesystem::temp_directory_path() /
                   ("bittern-capi-" + std::to_string(getpid()) + ".gguf");
  const Options to("to", "tq2_0", "prove", "on");
  EXPECT_EQ(bittern_convert(kFile.c_str(), out.c_str(), to.handle, cancel, nullptr, &result),
            BITTERN_ERROR_CANCELLED);
  EXPECT_FALSE(std::filesystem::exists(out));
  Ok(bittern_convert(kFile.c_str(), out.c_str(), to.handle, nullptr, nullptr, &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"ternary_tensors\":"));
  bittern_result_free(result);
  EXPECT_EQ(bittern_convert(kFile.c_str(), out.c_str(), to.handle, nullptr, nullptr, &result),
            BITTERN_ERROR_ARGUMENT);  // it exists
  EXPECT_EQ(bittern_convert(kFile.c_str(), out.c_str(), nullptr, nullptr, nullptr, &result),
            BITTERN_ERROR_ARGUMENT);  // to what?
  std::filesystem::remove(out);
}

TEST(Capi, NothingIsWrittenOrMeasuredWhenLoading) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("bittern-layouts-" + std::to_string(getpid()) + ".json");
  const Options options("layout_cache", file.string(), "isa", "scalar");
  bittern_model* model = nullptr;
  Ok(bittern_model_load_builtin(options.handle, &model));
  EXPECT_FALSE(std::filesystem::exists(file));  // too small to be measured
  bittern_result* info = nullptr;
  Ok(bittern_model_info(model, &info));
  EXPECT_THAT(JsonOf(info), HasSubstr("\"isa\":\"scalar\""));
  bittern_result_free(info);
  bittern_model_free(model);
  const Options wrong("isa", "mmx");
  EXPECT_EQ(bittern_model_load_builtin(wrong.handle, &model), BITTERN_ERROR_ARGUMENT);
  EXPECT_THAT(bittern_error_message(), HasSubstr("isa=mmx"));
}

}  // namespace
