// SPDX-License-Identifier: Apache-2.0
// Test memory that ends at an unmapped page: the first byte read or written past it crashes.
#pragma once

#include <cstddef>

#include "base/os/memory.hpp"

namespace bittern {

/// T[size] whose last element touches a guard page. Aborts the test if mapping fails.
template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t size) : size_(size) {
    const auto page = os::PageSize();
    const std::size_t usable = (size * sizeof(T) + page - 1) / page * page;
    mapped_ = usable + page;
    base_ = static_cast<std::byte*>(os::TakePages(mapped_));
    if (base_ == nullptr || !os::SetAccess(base_ + usable, page, false)) __builtin_trap();
    data_ = reinterpret_cast<T*>(base_ + usable - size * sizeof(T));
  }
  ~GuardedBuffer() { os::GivePages(base_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }

 private:
  std::size_t size_, mapped_;
  std::byte* base_;
  T* data_;
};

}  // namespace bittern
