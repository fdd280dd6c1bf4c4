// SPDX-License-Identifier: Apache-2.0
#include "serve/core/weight_hash.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "base/threads/thread_pool.hpp"
#include "model/load/fingerprint.hpp"

namespace bittern::serve {
namespace {

constexpr std::chrono::milliseconds kRest{10};

/// A thread of its own must not throw.
Result<std::string> HashOfWeights(const model::Model& model, int num_threads,
                                  const std::function<bool()>& go_on) {
  try {
    auto pool = BITTERN_TRY(ThreadPool::Create(num_threads));
    auto print = BITTERN_TRY(model::FingerprintOf(model, pool, go_on));
    return std::move(print.hash);
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kOutOfMemory, "not enough memory to hash the weights");
  }
}

}  // namespace

WeightHash::WeightHash(std::shared_ptr<const runtime::LoadedModel> model, int num_threads,
                       std::function<bool()> busy)
    : busy_(std::move(busy)),
      thread_([this, model = std::move(model), num_threads] { Run(*model, num_threads); }) {}

void WeightHash::Run(const runtime::LoadedModel& model, int num_threads) {
  auto hash = HashOfWeights(model.model, num_threads, [this] { return GoOn(); });
  {
    const std::scoped_lock lock(mutex_);
    result_.emplace(std::move(hash));
  }
  wake_.notify_all();
}

/// The rest ends early when Wait or Stop is called.
bool WeightHash::GoOn() {
  std::unique_lock lock(mutex_);
  if (!awaited_ && !stopping_) {
    lock.unlock();
    const bool busy = busy_();
    lock.lock();
    if (busy) wake_.wait_for(lock, kRest, [this] { return awaited_ || stopping_; });
  }
  return !stopping_;
}

const Result<std::string>* WeightHash::Known() const {
  const std::scoped_lock lock(mutex_);
  return result_ ? &*result_ : nullptr;
}

const Result<std::string>& WeightHash::Wait() {
  std::unique_lock lock(mutex_);
  awaited_ = true;
  wake_.notify_all();
  wake_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

void WeightHash::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace bittern::serve
