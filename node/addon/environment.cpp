// SPDX-License-Identifier: Apache-2.0
// One thread-safe function wakes the loop for all jobs; the loop then takes from each job what
// it has to tell. Handles are freed by a thread of their own, since freeing one may wait for a
// call that runs.
#include "environment.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "values.hpp"

namespace bittern::node {

void FreeHandle(Kind kind, void* handle) noexcept {
  switch (kind) {
    case Kind::kModel:
      return bittern_model_free(static_cast<bittern_model*>(handle));
    case Kind::kSequence:
      return bittern_sequence_free(static_cast<bittern_sequence*>(handle));
    case Kind::kSampler:
      return bittern_sampler_free(static_cast<bittern_sampler*>(handle));
    case Kind::kEngine:
      return bittern_engine_free(static_cast<bittern_engine*>(handle));
  }
}

Reaper::~Reaper() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Reaper::Free(Kind kind, void* handle) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread(&Reaper::Run, this);
    queue_.emplace_back(kind, handle);
    wake_.notify_one();
  } catch (...) {  // no memory, no thread: here, then
    FreeHandle(kind, handle);
  }
}

void Reaper::Run() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto [kind, handle] = queue_.front();
    queue_.pop_front();
    lock.unlock();
    FreeHandle(kind, handle);
    lock.lock();
  }
}

bool Environment::Create(napi_env env) {
  auto made = std::make_unique<Environment>(env);
  made->reaper_ = std::make_shared<Reaper>();
  napi_value name = nullptr;
  // One function for all jobs. Its finalizer runs when the environment ends, and nothing that
  // threads use goes before it returns.
  const bool ok = napi_create_string_utf8(env, "bittern", NAPI_AUTO_LENGTH, &name) == napi_ok &&
                  napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, made.get(),
                                                  &Environment::OnClose, made.get(),
                                                  &Environment::OnWake, &made->wake_) == napi_ok &&
                  napi_unref_threadsafe_function(env, made->wake_) == napi_ok &&
                  napi_set_instance_data(
                      env, made.get(),
                      [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); },
                      nullptr) == napi_ok;
  if (!ok) return false;
  static_cast<void>(made.release());
  return true;
}

Environment* Environment::Of(napi_env env) {
  void* data = nullptr;
  return napi_get_instance_data(env, &data) == napi_ok ? static_cast<Environment*>(data) : nullptr;
}

Environment::~Environment() { StopAll(); }

napi_value Environment::Start(std::unique_ptr<Job> job) {
  if (reaper_ == nullptr) return nullptr;  // the environment ends
  Job* const started = job.get();
  started->environment_ = this;
  started->number_ = next_++;
  napi_value promise = nullptr, number = nullptr, pair = nullptr;
  if (napi_create_promise(env_, &started->deferred_, &promise) != napi_ok ||
      napi_create_double(env_, static_cast<double>(started->number_), &number) != napi_ok ||
      napi_create_array_with_length(env_, 2, &pair) != napi_ok ||
      napi_set_element(env_, pair, 0, promise) != napi_ok ||
      napi_set_element(env_, pair, 1, number) != napi_ok) {
    return nullptr;
  }
  jobs_.emplace(started->number_, std::move(job));
  if (jobs_.size() == 1) napi_ref_threadsafe_function(env_, wake_);
  if (started->heavy) {
    waiting_.push_back(started);
    BeginWaiting();
  } else {
    Begin(started);
  }
  return pair;
}

void Environment::Begin(Job* job) {
  try {
    job->thread_ = std::thread(&Job::Run, job);
  } catch (const std::exception&) {
    const std::lock_guard lock(job->mutex_);
    job->thread_ended_.store(true);
    job->ended_ = true;
    job->status_ = BITTERN_ERROR_MEMORY;
    job->message_ = "no thread can be started";
    job->Signal();
  }
}

/// Begins as many of the jobs that wait as may run.
void Environment::BeginWaiting() {
  while (!waiting_.empty() && heavy_ < kMostHeavy) {
    Job* const job = waiting_.front();
    waiting_.pop_front();
    ++heavy_;
    job->has_place_ = true;
    Begin(job);
  }
}

/// Ends a job that has not begun, as cancelled.
void Environment::EndWaiting(Job* job) {
  std::erase(waiting_, job);
  job->thread_ended_.store(true);
  job->End(job->Cancelled());
}

void Environment::LeavePlace(Job* job) {
  if (!std::exchange(job->has_place_, false)) return;
  --heavy_;
  BeginWaiting();
}

void Environment::Cancel(std::uint64_t number) {
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  job.cancelled_.store(true);
  if (job.cancel) job.cancel();
  if (std::ranges::find(waiting_, &job) != waiting_.end()) EndWaiting(&job);
}

void Environment::Wake(std::uint64_t number) noexcept {
  // Fails where the environment ends; OnClose() then waits for the caller's thread.
  napi_call_threadsafe_function(wake_, reinterpret_cast<void*>(number), napi_tsfn_nonblocking);
}

void Environment::OnWake(napi_env env, napi_value, void* context, void* data) {
  if (env == nullptr) return;  // the environment ends
  auto& environment = *static_cast<Environment*>(context);
  const auto found = environment.jobs_.find(reinterpret_cast<std::uintptr_t>(data));
  if (found != environment.jobs_.end()) environment.Look(found->second.get());
}

void Environment::OnClose(napi_env, void* data, void*) {
  static_cast<Environment*>(data)->StopAll();
}

/// Takes what a job has to tell.
void Environment::Look(Job* job) {
  Told told;
  bool ended = false;
  {
    const std::lock_guard lock(job->mutex_);
    job->signalled_ = false;
    told.text.swap(job->text_);
    told.ids.swap(job->ids_);
    told.parts.swap(job->parts_);
    std::swap(told.progress, job->progress_);
    ended = job->ended_;
  }
  if (job->listener != nullptr) Tell(job, told);
  if (job->thread_ended_.load()) LeavePlace(job);
  if (ended) Settle(job);
}

/// The listener gets (text, ids, parts), or the share of progress.
void Environment::Tell(Job* job, const Told& told) {
  napi_value listener = nullptr, undefined = nullptr, value = nullptr, answer = nullptr;
  if (napi_get_reference_value(env_, job->listener, &listener) != napi_ok ||
      napi_get_undefined(env_, &undefined) != napi_ok) {
    return;
  }
  if (!told.text.empty()) {
    napi_value values[] = {NewText(env_, told.text.data(), told.text.size()),
                           NewIds(env_, told.ids.data(), told.ids.size()),
                           NewText(env_, told.parts.data(), told.parts.size())};
    if (std::ranges::find(values, nullptr) == std::end(values)) {
      napi_call_function(env_, undefined, listener, std::size(values), values, &answer);
    }
  }
  if (told.progress >= 0 && napi_create_double(env_, told.progress, &value) == napi_ok) {
    napi_call_function(env_, undefined, listener, 1, &value, &answer);
  }
  bool pending = false;
  if (napi_is_exception_pending(env_, &pending) == napi_ok && pending) {
    napi_get_and_clear_last_exception(env_, &value);  // the listeners of lib/ throw nothing
  }
}

void Environment::Settle(Job* job) {
  if (job->thread_.joinable()) job->thread_.join();
  const auto found = jobs_.find(job->number_);
  const std::unique_ptr<Job> owned = std::move(found->second);
  jobs_.erase(found);
  LeavePlace(job);
  if (jobs_.empty()) napi_unref_threadsafe_function(env_, wake_);

  napi_value value = nullptr;
  if (job->status_ == BITTERN_OK) value = job->value(env_, *job);
  if (job->status_ == BITTERN_OK && value != nullptr) {
    napi_resolve_deferred(env_, job->deferred_, value);
  } else {
    bool pending = false;
    napi_is_exception_pending(env_, &pending);
    if (pending) {
      napi_get_and_clear_last_exception(env_, &value);
    } else {
      value = MakeError(env_, job->status_ == BITTERN_OK ? BITTERN_ERROR_MEMORY : job->status_,
                        job->message_.empty() ? "out of memory" : job->message_, job->hint_);
    }
    if (value != nullptr) napi_reject_deferred(env_, job->deferred_, value);
  }
  if (job->listener != nullptr) napi_delete_reference(env_, job->listener);
  for (napi_ref reference : job->kept) napi_delete_reference(env_, reference);
}

/// Cancels all jobs and waits for their ends. A cancel that comes before the call that it is meant
/// for has no effect, so it is said again.
void Environment::StopAll() noexcept {
  while (!waiting_.empty()) EndWaiting(waiting_.front());
  for (auto& [number, job] : jobs_) {
    while (!job->Ended()) {
      for (auto& [other, running] : jobs_) {
        running->cancelled_.store(true);
        if (running->cancel) running->cancel();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (job->thread_.joinable()) job->thread_.join();
  }
  jobs_.clear();
  reaper_.reset();
}

}  // namespace bittern::node
