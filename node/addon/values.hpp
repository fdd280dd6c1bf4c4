// SPDX-License-Identifier: Apache-2.0
// Values of JavaScript to those of C++ and back. All calls by the loop. What can fail returns false
// or null with an exception pending. lib/ gives the right types: a TypeError here means that
// somebody has called the addon without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "environment.hpp"

namespace bittern::node {

/// A set of settings, freed with its holder; shared with the job that uses it.
class Options {
 public:
  Options() = default;
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options() { bittern_options_free(options_); }
  bittern_options** out() noexcept { return &options_; }
  [[nodiscard]] bittern_options* get() const noexcept { return options_; }

 private:
  bittern_options* options_ = nullptr;
};

/// The beginning of a text: a text, ids, or nothing.
struct Prompt {
  bool is_text = false;
  std::string text;
  std::vector<std::int32_t> ids;
};

/// The arguments of a call.
class Arguments {
 public:
  static constexpr std::size_t kMost = 6;

  Arguments(napi_env env, napi_callback_info info);
  [[nodiscard]] napi_env env() const noexcept { return env_; }

  /// True for undefined, null and what is missing.
  [[nodiscard]] bool IsNothing(std::size_t index) const;
  [[nodiscard]] bool Text(std::size_t index, std::string* text) const;
  /// A string as UTF-8, or the bytes of a Uint8Array.
  [[nodiscard]] bool Bytes(std::size_t index, std::string* bytes) const;
  [[nodiscard]] bool Number(std::size_t index, double* number) const;
  [[nodiscard]] bool Ids(std::size_t index, std::vector<std::int32_t>* ids) const;
  [[nodiscard]] bool Floats(std::size_t index, const float** floats, std::size_t* count) const;
  /// A string or a Uint8Array of UTF-8, an Int32Array, or nothing.
  [[nodiscard]] bool Take(std::size_t index, Prompt* prompt) const;
  /// An array of keys and values in turn. Throws the library's error for a wrong one.
  [[nodiscard]] bool Settings(std::size_t index, std::shared_ptr<Options>* options) const;
  /// A handle made by NewHandle(), which may have been freed: the library tells.
  template <class T>
  [[nodiscard]] bool Handle(std::size_t index, Kind kind, T** handle) const {
    void* found = nullptr;
    if (!HandleOf(index, kind, &found)) return false;
    *handle = static_cast<T*>(found);
    return true;
  }
  /// Keeps the argument alive as long as the job.
  [[nodiscard]] bool Keep(std::size_t index, Job* job) const;
  /// A function, or null for nothing.
  [[nodiscard]] bool Function(std::size_t index, napi_value* function) const;
  /// A function for the job to call, or nothing.
  [[nodiscard]] bool Listener(std::size_t index, Job* job) const;
  /// Frees the handle now.
  [[nodiscard]] bool Close(std::size_t index) const;

 private:
  [[nodiscard]] bool HandleOf(std::size_t index, Kind kind, void** handle) const;
  [[nodiscard]] bool Wrong(std::size_t index, const char* expected) const;

  napi_env env_;
  napi_value values_[kMost] = {};
};

/// An object that frees the handle when it is collected. Frees it now where it returns null.
napi_value NewHandle(napi_env env, Kind kind, void* handle);

napi_value NewText(napi_env env, const char* text, std::size_t size);
napi_value NewIds(napi_env env, const std::int32_t* ids, std::size_t count);
napi_value NewFloats(napi_env env, const float* floats, std::size_t count);
napi_value NewBytes(napi_env env, const char* bytes, std::size_t size);

/// The parts of a result.
napi_value TextOf(napi_env env, const Result& result);
napi_value IdsOf(napi_env env, const Result& result);
napi_value JsonOf(napi_env env, const Result& result);
/// {text, ids, json}
napi_value AllOf(napi_env env, const Result& result);

/// Throws the error of the thread's last call. Always null.
napi_value ThrowLast(napi_env env);

}  // namespace bittern::node
