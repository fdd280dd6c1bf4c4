// SPDX-License-Identifier: Apache-2.0
// Errors of the calling thread, and the functions about versions, errors and results.
#include "capi/call.hpp"

#include <algorithm>
#include <exception>
#include <vector>

namespace bittern::capi {
namespace {

// KeepError casts codes to statuses, so both must have the same numbers.
static_assert(static_cast<int>(ErrorCode::kInvalidArgument) == BITTERN_ERROR_ARGUMENT);
static_assert(static_cast<int>(ErrorCode::kNotFound) == BITTERN_ERROR_NOT_FOUND);
static_assert(static_cast<int>(ErrorCode::kIo) == BITTERN_ERROR_IO);
static_assert(static_cast<int>(ErrorCode::kCorruptFile) == BITTERN_ERROR_CORRUPT);
static_assert(static_cast<int>(ErrorCode::kUnsupported) == BITTERN_ERROR_UNSUPPORTED);
static_assert(static_cast<int>(ErrorCode::kOutOfMemory) == BITTERN_ERROR_MEMORY);
static_assert(static_cast<int>(ErrorCode::kContextFull) == BITTERN_ERROR_CONTEXT_FULL);
static_assert(static_cast<int>(ErrorCode::kCancelled) == BITTERN_ERROR_CANCELLED);
static_assert(static_cast<int>(ErrorCode::kInternal) == BITTERN_ERROR_INTERNAL);
static_assert(static_cast<int>(kBadHandle) == BITTERN_ERROR_HANDLE);
static_assert(static_cast<int>(kBusy) == BITTERN_ERROR_BUSY);

/// The error of a thread's last call that failed. A call that succeeds leaves it alone.
struct LastError {
  bittern_status status = BITTERN_OK;
  std::string message, hint;
};
thread_local LastError last_error;

}  // namespace

bittern_status KeepError(const Error& error) noexcept {
  last_error.status = static_cast<bittern_status>(error.code);
  try {
    last_error.message = error.message;
    last_error.hint = error.hint;
  } catch (...) {  // no memory for the words
    last_error.message.clear();
    last_error.hint.clear();
  }
  return last_error.status;
}

/// bad_alloc and length_error are memory that is missing; all others are defects, or a callback's.
bittern_status KeepException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return KeepError({ErrorCode::kOutOfMemory, "out of memory"});
  } catch (const std::length_error&) {
    return KeepError({ErrorCode::kOutOfMemory, "a size exceeds memory"});
  } catch (const std::exception& error) {
    return KeepError({ErrorCode::kInternal, std::string("unexpected: ") + error.what()});
  } catch (...) {
    return KeepError({ErrorCode::kInternal, "a callback threw"});
  }
}

Result<void> NeedPointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return Fail(ErrorCode::kInvalidArgument, std::string(name) + ": a pointer expected, NULL found");
}

Result<void> NeedArray(const void* pointer, std::size_t count, const char* name) {
  return count == 0 ? Result<void>() : NeedPointer(pointer, name);
}

/// A mutex that a thread locks twice would wait for itself for ever: a callback that calls back is
/// told instead.
Result<std::unique_lock<std::mutex>> CheckedMutex::Enter(const char* what) {
  if (is_inside()) {
    return Fail(kBusy, std::string(what) + " is busy: this is a callback of a call of its own");
  }
  return std::unique_lock(mutex_);
}

CheckedMutex::Inside::Inside(CheckedMutex* alone, std::unique_lock<std::mutex> lock)
    : alone_(alone), lock_(std::move(lock)) {
  alone_->owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}
/// The owner is taken away before lock_ unlocks, or it could be the next thread's.
CheckedMutex::Inside::~Inside() {
  alone_->owner_.store(std::thread::id(), std::memory_order_relaxed);
}

void Give(std::shared_ptr<ResultObject> result, bittern_result** out) {
  *out = static_cast<bittern_result*>(AddHandle(std::move(result)));
}

}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

int32_t bittern_version_number(void) { return BITTERN_VERSION_NUMBER; }
const char* bittern_version(void) { return BITTERN_VERSION; }

/// The names stand in the order of the numbers.
const char* bittern_status_name(bittern_status status) {
  static constexpr const char* kNames[] = {"BITTERN_OK",
                                           "BITTERN_ERROR_ARGUMENT",
                                           "BITTERN_ERROR_NOT_FOUND",
                                           "BITTERN_ERROR_IO",
                                           "BITTERN_ERROR_CORRUPT",
                                           "BITTERN_ERROR_UNSUPPORTED",
                                           "BITTERN_ERROR_MEMORY",
                                           "BITTERN_ERROR_CONTEXT_FULL",
                                           "BITTERN_ERROR_CANCELLED",
                                           "BITTERN_ERROR_INTERNAL",
                                           "BITTERN_ERROR_HANDLE",
                                           "BITTERN_ERROR_BUSY"};
  return status >= 0 && static_cast<std::size_t>(status) < std::size(kNames) ? kNames[status]
                                                                             : "unknown";
}

bittern_status bittern_error_status(void) { return last_error.status; }
const char* bittern_error_message(void) { return last_error.message.c_str(); }
const char* bittern_error_hint(void) { return last_error.hint.c_str(); }

bittern_status bittern_result_text(const bittern_result* result, const char** text, size_t* size) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ResultObject>(result));
    BITTERN_TRY(NeedPointer(text, "text"));
    *text = found->text.c_str();
    if (size != nullptr) *size = found->text.size();
    return {};
  });
}

bittern_status bittern_result_ids(const bittern_result* result, const int32_t** ids,
                                  size_t* count) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ResultObject>(result));
    BITTERN_TRY(NeedPointer(count, "count"));
    if (ids != nullptr) *ids = found->ids.data();
    *count = found->ids.size();
    return {};
  });
}

bittern_status bittern_result_json(const bittern_result* result, const char** json, size_t* size) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ResultObject>(result));
    BITTERN_TRY(NeedPointer(json, "json"));
    *json = found->json.c_str();
    if (size != nullptr) *size = found->json.size();
    return {};
  });
}

void bittern_result_free(bittern_result* result) { RemoveHandle(result, ResultObject::kKind); }
