// SPDX-License-Identifier: Apache-2.0
// The hash of a model's weights, computed while a server already answers.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::serve {

/// model::Fingerprint::hash, from threads of its own. While `busy()` says that requests run, each
/// of them rests 10 ms before every 32 rows: the threads that compute answers wait for each other,
/// so each disturbance costs all of them. After the first call of Wait they rest no more. Any
/// thread.
class WeightHash {
 public:
  /// Begins at once. `busy` is called by the threads and must not throw.
  WeightHash(std::shared_ptr<const runtime::LoadedModel> model, int num_threads,
             std::function<bool()> busy);
  WeightHash(const WeightHash&) = delete;
  WeightHash& operator=(const WeightHash&) = delete;
  /// Stop().
  ~WeightHash() { Stop(); }

  /// Null: not known yet. Does not wait.
  [[nodiscard]] const Result<std::string>* Known() const;
  /// Waits for it. Errors as model::FingerprintOf; kCancelled after Stop.
  [[nodiscard]] const Result<std::string>& Wait();
  /// Gives up what is not known yet. By the owner.
  void Stop();

 private:
  void Run(const runtime::LoadedModel& model, int num_threads);
  bool GoOn();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::function<bool()> busy_;
  bool stopping_ = false, awaited_ = false;
  std::optional<Result<std::string>> result_ = {};  // does not change once it is there
  std::thread thread_;
};

}  // namespace bittern::serve
