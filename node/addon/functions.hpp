// SPDX-License-Identifier: Apache-2.0
// The functions of the addon that lib/ calls. They take and give plain values; whatever takes
// longer than a moment returns [promise, number], and cancel(number) ends it.
#pragma once

#include <span>

#include "values.hpp"

namespace bittern::node {

/// Null where an exception is pending.
using Function = napi_value (*)(Arguments& arguments, Environment& environment);

struct Row {
  const char* name;
  Function function;
};

std::span<const Row> ModelFunctions();
std::span<const Row> SequenceFunctions();
std::span<const Row> EngineFunctions();
std::span<const Row> LogFunctions();

/// The ids of a prompt; a text's begin with BOS where the model wants one. A job's thread.
bittern_status IdsOfPrompt(const bittern_model* model, const Prompt& prompt,
                           std::vector<std::int32_t>* ids);

/// As a C array: never a null pointer.
inline const std::int32_t* Data(const std::vector<std::int32_t>& ids) {
  static constexpr std::int32_t kNone = 0;
  return ids.empty() ? &kNone : ids.data();
}

inline napi_value Undefined(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

/// `status` of a call by the loop: undefined, or its error thrown.
inline napi_value Done(napi_env env, bittern_status status) {
  return status == BITTERN_OK ? Undefined(env) : ThrowLast(env);
}

}  // namespace bittern::node
