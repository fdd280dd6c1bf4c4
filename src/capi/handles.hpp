// SPDX-License-Identifier: Apache-2.0
// Handles of the C interface. A handle is a number dressed as a pointer, found in one table of the
// process. Numbers are never used again, so a handle that was freed, made up or of another kind is
// told apart without touching memory. A call holds what it found until it ends, so another thread
// may free the handle meanwhile. Any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"

namespace bittern::capi {

/// Codes of the C interface beside those of ErrorCode.
inline constexpr ErrorCode kBadHandle{10};
inline constexpr ErrorCode kBusy{11};

/// The object behind a handle. Kinds are told apart by a number that each class has.
class Object {
 public:
  /// `of_process`: a child process (fork) may not use it, since a thread of the parent may hold its
  /// locks, or be needed for its work.
  explicit Object(int kind, bool of_process = false) noexcept;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  [[nodiscard]] int kind() const noexcept { return kind_; }
  /// It was made by the parent of this process and may not be used here, nor destroyed.
  [[nodiscard]] bool is_of_parent() const noexcept;

 private:
  int kind_;
  int generation_;  // of the process that made it; -1: any process may use it
};

/// Puts an object into the table. Throws std::bad_alloc.
[[nodiscard]] void* AddHandle(std::shared_ptr<Object> object);
/// Takes a handle out of the table; null for one that is not there, of another kind or of the
/// parent process.
std::shared_ptr<Object> RemoveHandle(const void* handle, int kind) noexcept;
/// Errors: kBadHandle says what is wrong, kUnsupported: it is of the parent process; `what` names
/// the kind.
[[nodiscard]] Result<std::shared_ptr<Object>> FindHandle(const void* handle, int kind,
                                                         const char* what);

/// The object of class T (with T::kKind and T::kWhat) that a handle stands for.
template <class T>
[[nodiscard]] Result<std::shared_ptr<T>> Find(const void* handle) {
  auto object = BITTERN_TRY(FindHandle(handle, T::kKind, T::kWhat));
  return std::static_pointer_cast<T>(std::move(object));
}

}  // namespace bittern::capi
