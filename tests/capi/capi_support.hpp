// SPDX-License-Identifier: Apache-2.0
// Handles that free themselves and short words for the tests of the C interface. One thread, but
// for Shared(), which any may call.
#pragma once

#include <bittern/bittern.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace capi_test {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline constexpr const char* kPrompt = "A tern is";

inline void Ok(bittern_status status) { EXPECT_EQ(status, BITTERN_OK) << bittern_error_message(); }

/// The built-in model.
inline const bittern_model* Shared() {
  static bittern_model* const model = [] {
    bittern_model* made = nullptr;
    Ok(bittern_model_load_builtin(nullptr, &made));
    return made;
  }();
  return model;
}

inline std::string TextOf(const bittern_result* result) {
  const char* text = nullptr;
  size_t size = 0;
  Ok(bittern_result_text(result, &text, &size));
  return text == nullptr ? "" : std::string(text, size);
}

inline std::string JsonOf(const bittern_result* result) {
  const char* json = "";
  Ok(bittern_result_json(result, &json, nullptr));
  return json;
}

inline std::vector<int32_t> IdsOf(const bittern_result* result) {
  const int32_t* ids = nullptr;
  size_t count = 0;
  Ok(bittern_result_ids(result, &ids, &count));
  return {ids, ids + count};
}

/// The ids of kPrompt.
inline const std::vector<int32_t>& Prompt() {
  static const auto* const ids = [] {
    bittern_result* result = nullptr;
    Ok(bittern_tokenize(Shared(), kPrompt, std::strlen(kPrompt), BITTERN_TOKENIZE_BOS, &result));
    auto* made = new std::vector<int32_t>(IdsOf(result));
    bittern_result_free(result);
    return made;
  }();
  return *ids;
}

inline std::vector<float> LogitsOf(const bittern_sequence* sequence) {
  const float* logits = nullptr;
  size_t count = 0;
  Ok(bittern_sequence_logits(sequence, &logits, &count));
  return {logits, logits + count};
}

inline int32_t AppendText(void* user, const char* text, size_t size) {
  static_cast<std::string*>(user)->append(text, size);
  return 0;
}

struct Options {
  explicit Options(const Settings& settings) {
    Ok(bittern_options_create(&handle));
    for (const auto& [key, value] : settings) {
      Ok(bittern_options_set(handle, key.c_str(), value.c_str()));
    }
  }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options() { bittern_options_free(handle); }

  bittern_options* handle = nullptr;
};

struct Sequence {
  explicit Sequence(const Settings& settings = {}) : Sequence(Shared(), settings) {}
  Sequence(const bittern_model* model, const Settings& settings) {
    const Options options(settings);
    Ok(bittern_sequence_create(model, options.handle, &handle));
  }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  ~Sequence() { bittern_sequence_free(handle); }

  bittern_sequence* handle = nullptr;
};

struct Engine {
  explicit Engine(const Settings& settings = {}) {
    const Options options(settings);
    Ok(bittern_engine_create(Shared(), options.handle, &handle));
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { bittern_engine_free(handle); }

  bittern_engine* handle = nullptr;
};

/// How a request ended.
struct Done {
  static void Callback(void* user, uint64_t request, bittern_status status,
                       bittern_result* result) {
    Done& done = *static_cast<Done*>(user);
    ++done.calls;
    done.request = request;
    done.status = status;
    if (status == BITTERN_OK) {
      done.text = TextOf(result);
      done.json = JsonOf(result);
      bittern_result_free(result);
    }
  }

  int calls = 0;
  uint64_t request = 0;
  bittern_status status = -1;
  std::string text, json;
};

}  // namespace capi_test
