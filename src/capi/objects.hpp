// SPDX-License-Identifier: Apache-2.0
// The objects behind handles that several files here use.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "base/threads/process_fork.hpp"
#include "capi/call.hpp"
#include "proof/receipt/receipt.hpp"
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

  /// The fingerprint of the weights, which receipts name. The first call reads them all. Errors:
  /// those of model::FingerprintOf.
  [[nodiscard]] Result<std::string> Hash() const;

  AlignedBuffer<std::byte> memory;  ///< of bittern_model_load_memory; outlives `loaded`
  std::shared_ptr<const runtime::LoadedModel> loaded;
  /// Set once the choice of a chat template was logged.
  mutable std::atomic<bool> chat_logged = false;
  /// Threads and scratch memory. A sequence of this model borrows them during a call.
  std::shared_ptr<runtime::Workbenches> benches = std::make_shared<runtime::Workbenches>();

 private:
  /// Locked while the weights are read.
  struct KeptHash {
    std::mutex mutex;
    std::string hash;
  };
  mutable OfProcess<KeptHash> hash_;
};

/// As spans of what C callers give; no elements where the pointer is NULL.
inline std::span<const runtime::TokenId> IdSpan(const std::int32_t* ids, std::size_t count) {
  return {ids, count};
}

/// Text, ids and {"finish_reason", ...} of a generation; `logprobs`: with "logprobs"; `receipt`: a
/// JSON text, or empty.
[[nodiscard]] std::shared_ptr<ResultObject> ResultOf(const runtime::GenerateResult& generated,
                                                     const runtime::LoadedModel& model,
                                                     bool logprobs, const std::string& receipt);

/// All of a receipt that is known before the answer.
[[nodiscard]] Result<proof::Receipt> BeginReceipt(const ModelObject& model,
                                                  std::span<const runtime::TokenId> prompt,
                                                  const runtime::GenerateOptions& options,
                                                  model::KvType kv_type, int context_length);

}  // namespace bittern::capi
