// SPDX-License-Identifier: Apache-2.0
// The rest of the program through the C interface: receipts, scores, vectors, inspect, doctor, and
// calls of functions in a text.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "capi/capi_support.hpp"

namespace {

using namespace capi_test;  // NOLINT: the helpers of this program
using testing::HasSubstr;
using testing::Not;

std::vector<float> FloatsOf(bittern_result* result) {
  const float* floats = nullptr;
  size_t count = 0;
  Ok(bittern_result_floats(result, &floats, &count));
  std::vector<float> copy(floats, floats + count);
  bittern_result_free(result);
  return copy;
}

std::string Verdict(const std::string& receipts) {
  bittern_result* result = nullptr;
  const bittern_status status =
      bittern_verify(Shared(), receipts.data(), receipts.size(), nullptr, &result);
  if (status != BITTERN_OK) return bittern_error_message();
  std::string json = JsonOf(result);
  bittern_result_free(result);
  return json;
}

/// A receipt of a sequence, of an engine and of a body are the same, and replay; a changed one does
/// not.
TEST(Reach, ReceiptsOfAllDoors) {
  const Options options("n_predict", "8", "temperature", "1", "seed", "11", "receipt", "on");
  bittern_result* result = nullptr;
  Ok(bittern_generate(Shared(), kPrompt, std::strlen(kPrompt), options.handle, nullptr, nullptr,
                      &result));
  const std::string json = JsonOf(result);
  bittern_result_free(result);
  ASSERT_THAT(json, HasSubstr("\"receipt\":{"));
  const std::string receipt = json.substr(json.find("\"receipt\":") + 10);
  EXPECT_THAT(Verdict(json), HasSubstr("\"identical\":true"));
  std::string changed = json;
  const size_t chain = changed.find("\"chain\":\"") + 9;
  changed[chain] = changed[chain] == '0' ? '1' : '0';
  EXPECT_THAT(Verdict(changed), HasSubstr("\"identical\":false"));
  EXPECT_THAT(Verdict("{}"), HasSubstr("receipt"));

  Engine engine;
  Done done, body;
  Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), options.handle, nullptr,
                           Done::Callback, &done, nullptr));
  const std::string text =
      "{\"prompt\":\"A tern is\",\"max_tokens\":8,\"temperature\":1,\"seed\":11,\"receipt\":true,"
      "\"n\":2}";
  Ok(bittern_engine_submit_json(engine.handle, text.data(), text.size(), nullptr, nullptr,
                                Done::Callback, &body, nullptr));
  Ok(bittern_engine_run(engine.handle));
  EXPECT_THAT(done.json, HasSubstr("\"receipt\":" + receipt.substr(0, receipt.size() - 1)));
  EXPECT_THAT(Verdict(body.json), HasSubstr("\"identical\":true"));
  EXPECT_THAT(body.json, HasSubstr("\"choices\""));
}

TEST(Reach, HiddenStatesOfAllPositions) {
  Sequence all, last("hidden", "on");
  std::vector<std::vector<float>> rows;
  const auto keep = [](void* user, size_t position, const float* values, size_t count) {
    auto& kept = *static_cast<std::vector<std::vector<float>>*>(user);
    EXPECT_EQ(position, kept.size());
    kept.emplace_back(values, values + count);
    return int32_t{0};
  };
  Ok(bittern_sequence_eval_hidden(all.handle, Prompt().data(), Prompt().size(), keep, &rows));
  ASSERT_EQ(rows.size(), Prompt().size());
  for (size_t i = 0; i < Prompt().size(); ++i) {
    Ok(bittern_sequence_eval(last.handle, &Prompt()[i], 1));
    const float* hidden = nullptr;
    size_t count = 0;
    Ok(bittern_sequence_hidden(last.handle, &hidden, &count));
    EXPECT_EQ(rows[i], std::vector<float>(hidden, hidden + count)) << i;
  }
  EXPECT_EQ(LogitsOf(all.handle), LogitsOf(last.handle));  // the sequence can go on

  const auto stop = [](void*, size_t position, const float*, size_t) {
    return static_cast<int32_t>(position == 1);
  };
  Sequence stopped;
  EXPECT_EQ(
      bittern_sequence_eval_hidden(stopped.handle, Prompt().data(), Prompt().size(), stop, nullptr),
      BITTERN_ERROR_CANCELLED);

  // Pooled.
  const auto embed = [](const Options& options) {
    bittern_result* result = nullptr;
    Ok(bittern_embed(Shared(), Prompt().data(), Prompt().size(), options.handle, &result));
    return FloatsOf(result);
  };
  EXPECT_EQ(embed(Options()), rows.back());
  EXPECT_EQ(embed(Options("pooling", "first")), rows.front());
  const std::vector<float> mean = embed(Options("pooling", "mean", "batch_size", "2"));
  const std::vector<float> unit = embed(Options("pooling", "mean", "normalize", "on"));
  double squares = 0;
  for (size_t d = 0; d < mean.size(); ++d) {
    double sum = 0;
    for (const auto& row : rows) sum += static_cast<double>(row[d]);
    EXPECT_EQ(mean[d], static_cast<float>(sum / static_cast<double>(rows.size())));
    squares += static_cast<double>(unit[d]) * static_cast<double>(unit[d]);
  }
  EXPECT_NEAR(squares, 1, 1e-5);
}

TEST(Reach, ScoresAreThoseOfEval) {
  const std::string text =
      "A tern is a bird. A dog is an animal. A house is a building in which people live. The sun "
      "is a star. A horse is an animal that people ride.";
  bittern_result* result = nullptr;
  double shared = 0;
  const auto tell = [](void* user, double done) {
    *static_cast<double*>(user) = done;
    return int32_t{0};
  };
  const Options options("window", "16", "every_token", "on");
  Ok(bittern_score_text(Shared(), text.data(), text.size(), options.handle, tell, &shared,
                        &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"perplexity\":"));
  EXPECT_EQ(shared, 1);
  bittern_result_free(result);
  const auto stop = [](void*, double) { return int32_t{1}; };
  EXPECT_EQ(bittern_score_text(Shared(), text.data(), text.size(), options.handle, stop, nullptr,
                               &result),
            BITTERN_ERROR_CANCELLED);

  const std::string lines =
      "{\"query\":\"A tern is a\",\"choices\":[\" bird\",\" gd\"],\"gold\":0}\n"
      "{\"query\":\"A dog is an\",\"choices\":[\" xx\",\" animal\"],\"gold\":1}\n";
  Ok(bittern_score_choices(Shared(), lines.data(), lines.size(), nullptr, nullptr, nullptr,
                           &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"acc\":1"));
  bittern_result_free(result);
  EXPECT_EQ(bittern_score_choices(Shared(), "x", 1, nullptr, nullptr, nullptr, &result),
            BITTERN_ERROR_ARGUMENT);
}

TEST(Reach, ATraceIsThatOfTheProgram) {
  const std::string folder = testing::TempDir() + "bittern-trace";
  std::filesystem::remove_all(folder);
  bittern_result* result = nullptr;
  const auto trace = [&](const char* to, const Options& options) {
    Ok(bittern_trace(Shared(), Prompt().data(), Prompt().size(), to, options.handle, &result));
    std::string text = TextOf(result);
    bittern_result_free(result);
    return text;
  };
  const std::string text = trace(nullptr, Options());
  EXPECT_THAT(text, HasSubstr("attn_norm"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(trace(folder.c_str(), Options()), text);
  EXPECT_TRUE(std::filesystem::exists(folder + "/trace.json"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/values"));
  trace(folder.c_str(), Options("values", "on"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/values/embedding.npy"));
  EXPECT_NE(trace(nullptr, Options("kv_type", "i8")), text);
  // A file of somebody else is left alone.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/trace.json") << "kept";
  EXPECT_EQ(
      bittern_trace(Shared(), Prompt().data(), Prompt().size(), folder.c_str(), nullptr, &result),
      BITTERN_ERROR_ARGUMENT);
  EXPECT_EQ(std::filesystem::file_size(folder + "/trace.json"), 4);
  std::filesystem::remove_all(folder);
}

/// Decisions of a load come while it runs, by its thread; a listener may be exchanged and taken
/// away.
TEST(Reach, ALogListenerHearsOfDecisions) {
  struct Heard {
    std::vector<std::pair<int32_t, std::string>> said;
  } first, second;
  const auto listen = [](void* user, int32_t level, const char* text, size_t size) {
    EXPECT_EQ(std::strlen(text), size);
    static_cast<Heard*>(user)->said.emplace_back(level, text);
  };
  const auto load = [](const Options& options) {
    bittern_model* model = nullptr;
    Ok(bittern_model_load_builtin(options.handle, &model));
    bittern_model_free(model);
  };
  Ok(bittern_set_log(listen, &first));
  load(Options());
  EXPECT_FALSE(first.said.empty());
  for (const auto& [level, text] : first.said) EXPECT_EQ(level, BITTERN_LOG_INFO) << text;
  Ok(bittern_set_log(listen, &second));
  const size_t before = first.said.size();
  load(Options());
  EXPECT_EQ(first.said.size(), before);
  const Options wide("window", "100000");
  bittern_result* result = nullptr;
  Ok(bittern_score_text(Shared(), kPrompt, std::strlen(kPrompt), wide.handle, nullptr, nullptr,
                        &result));
  bittern_result_free(result);
  EXPECT_THAT(second.said,
              testing::Contains(testing::Pair(BITTERN_LOG_WARNING, HasSubstr("window=100000"))));
  Ok(bittern_set_log(nullptr, nullptr));
  const size_t all = second.said.size();
  load(Options());
  EXPECT_EQ(second.said.size(), all);
}

TEST(Reach, InspectAndDoctor) {
  bittern_result* result = nullptr;
  Ok(bittern_inspect(BITTERN_POCKET, nullptr, &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"tensors\""));
  bittern_result_free(result);
  Ok(bittern_doctor(BITTERN_POCKET, nullptr, &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"verdict\":\"healthy\""));
  bittern_result_free(result);
  result = nullptr;
  EXPECT_EQ(bittern_inspect("/no/such/file", nullptr, &result), BITTERN_ERROR_NOT_FOUND);
  EXPECT_THAT(bittern_error_message(), HasSubstr("/no/such/file"));
  EXPECT_EQ(result, nullptr);
}

TEST(Reach, CallsInAText) {
  const std::string text =
      "I look it up.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}\n"
      "</tool_call>";
  bittern_result* result = nullptr;
  Ok(bittern_parse_answer(Shared(), text.data(), text.size(), &result));
  EXPECT_THAT(JsonOf(result), HasSubstr("\"name\":\"weather\""));
  EXPECT_THAT(TextOf(result), HasSubstr("I look it up."));
  EXPECT_THAT(TextOf(result), Not(HasSubstr("tool_call")));
  bittern_result_free(result);
  Ok(bittern_parse_answer(Shared(), "plain", 5, &result));
  EXPECT_EQ(TextOf(result), "plain");
  EXPECT_EQ(JsonOf(result), "{\"tool_calls\":[]}");
  bittern_result_free(result);
}

}  // namespace
