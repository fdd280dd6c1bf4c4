// SPDX-License-Identifier: Apache-2.0
// The objects behind handles that several files here use.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "capi/call.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/workbench.hpp"

namespace bittern::capi {

/// A model; immutable, so any number of threads.
class ModelObject : public Object {
 public:
  static constexpr int kKind = 3;
  static constexpr const char* kWhat = "a model";
  ModelObject() : Object(kKind) {}

  AlignedBuffer<std::byte> memory;  ///< of bittern_model_load_memory; outlives `loaded`
  std::shared_ptr<const runtime::LoadedModel> loaded;
  /// For the sequences of this model: threads and scratch memory are theirs during a call only.
  std::shared_ptr<runtime::Workbenches> benches = std::make_shared<runtime::Workbenches>();
};

/// As spans of what C callers give; no elements where the pointer is NULL.
inline std::span<const runtime::TokenId> IdSpan(const std::int32_t* ids, std::size_t count) {
  return {ids, count};
}

/// Text, ids and {"finish_reason", ...} of a generation; `logprobs`: with "logprobs".
[[nodiscard]] std::shared_ptr<ResultObject> ResultOf(const runtime::GenerateResult& generated,
                                                     const runtime::LoadedModel& model,
                                                     bool logprobs);

}  // namespace bittern::capi
