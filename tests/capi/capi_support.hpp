// SPDX-License-Identifier: Apache-2.0
// Handles that free themselves and short words for the tests of the C interface. One thread, but
// for Shared(), which any may call.
#pragma once

#include <bittern/bittern.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace capi_test {

inline constexpr const char* kPrompt = "A tern is";

inline void Ok(bittern_status status) { EXPECT_EQ(status, BITTERN_OK) << bittern_error_message(); }

/// The built-in model. It is freed as the program ends: it may have a thread, which is joined then.
inline const bittern_model* Shared() {
  static const std::unique_ptr<bittern_model, decltype(&bittern_model_free)> model = [] {
    bittern_model* made = nullptr;
    Ok(bittern_model_load_builtin(nullptr, &made));
    return std::unique_ptr<bittern_model, decltype(&bittern_model_free)>(made, &bittern_model_free);
  }();
  return model.get();
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

/// Settings as Options("key", "value", "key", "value").
struct Options {
  template <class... Texts>
  explicit Options(const Texts&... texts) {
    const std::vector<std::string> all = {std::string(texts)...};
    Ok(bittern_options_create(&handle));
    for (size_t i = 0; i + 1 < all.size(); i += 2) {
      Ok(bittern_options_set(handle, all[i].c_str(), all[i + 1].c_str()));
    }
  }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options() { bittern_options_free(handle); }

  bittern_options* handle = nullptr;
};

struct Sequence {
  template <class... Texts>
  explicit Sequence(const bittern_model* model, const Texts&... texts) {
    const Options options(texts...);
    Ok(bittern_sequence_create(model, options.handle, &handle));
  }
  explicit Sequence() : Sequence(Shared()) {}
  explicit Sequence(const char* key, const std::string& value) : Sequence(Shared(), key, value) {}
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  ~Sequence() { bittern_sequence_free(handle); }

  bittern_sequence* handle = nullptr;
};

struct Engine {
  template <class... Texts>
  explicit Engine(const Texts&... texts) {
    const Options options(texts...);
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

/// The text that a sequence goes on with.
inline std::string Continue(bittern_sequence* sequence, const Options& options) {
  bittern_result* result = nullptr;
  Ok(bittern_sequence_generate(sequence, options.handle, nullptr, nullptr, &result));
  std::string text = TextOf(result);
  bittern_result_free(result);
  return text;
}

}  // namespace capi_test
