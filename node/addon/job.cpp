// SPDX-License-Identifier: Apache-2.0
// The thread of a job puts texts, shares and its end under the job's mutex; the loop takes them.
#include "job.hpp"

#include "environment.hpp"

namespace bittern::node {

std::int32_t Job::OnText(void* user, const char* text, std::size_t size) {
  return static_cast<Job*>(user)->PutText(text, size) ? 0 : 1;
}

std::int32_t Job::OnProgress(void* user, double done) {
  return static_cast<Job*>(user)->PutProgress(done) ? 0 : 1;
}

bool Job::PutText(const char* text, std::size_t size) noexcept {
  if (listener != nullptr) {
    Result part;
    const std::int32_t* ids = nullptr;
    const char* json = nullptr;
    std::size_t count = 0;
    if (bittern_text_part(part.out()) != BITTERN_OK ||
        bittern_result_ids(part.get(), &ids, &count) != BITTERN_OK ||
        bittern_result_json(part.get(), &json, nullptr) != BITTERN_OK) {
      return false;  // no memory
    }
    const std::lock_guard lock(mutex_);
    try {
      text_.append(text, size);
      ids_.insert(ids_.end(), ids, ids + count);
      if (!parts_.empty()) parts_ += ',';
      parts_ += json;
    } catch (...) {  // no memory
      return false;
    }
    constexpr std::chrono::milliseconds kLeast(4);
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ >= kLeast) {
      told_ = now;
      Signal();
    }
  }
  return !cancelled();
}

bool Job::PutProgress(double done) noexcept {
  if (listener != nullptr) {
    const std::lock_guard lock(mutex_);
    progress_ = done;
    Signal();
  }
  return !cancelled();
}

bittern_status Job::Cancelled() {
  const std::lock_guard lock(mutex_);
  message_ = "cancelled";
  return BITTERN_ERROR_CANCELLED;
}

void Job::End(bittern_status status) noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  status_ = status;
  if (status != BITTERN_OK && message_.empty()) {
    try {
      message_ = bittern_error_message();
      hint_ = bittern_error_hint();
    } catch (...) {  // no memory for the words
      message_.clear();
      hint_.clear();
    }
  }
  Signal();
}

void Job::Run() noexcept {
  bittern_status status = BITTERN_ERROR_MEMORY;
  try {
    status = work(*this);
  } catch (...) {  // of this program's own containers
    const std::lock_guard lock(mutex_);
    ended_ = true;
    status_ = BITTERN_ERROR_MEMORY;
    Signal();
    thread_ended_.store(true);
    return;
  }
  if (status != BITTERN_OK || !ends_later) End(status);
  thread_ended_.store(true);
  const std::lock_guard lock(mutex_);
  if (heavy) Signal();  // its place is free
}

bool Job::Ended() noexcept {
  const std::lock_guard lock(mutex_);
  return ended_ && thread_ended_.load();
}

/// At most one signal is on its way; the loop takes all there is.
void Job::Signal() noexcept {
  if (signalled_) return;
  signalled_ = true;
  environment_->Wake(number_);
}

}  // namespace bittern::node
