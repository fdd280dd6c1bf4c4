// SPDX-License-Identifier: Apache-2.0
// A table of live objects by their numbers. What belongs to the parent of this process stays in it,
// so that it is told apart and never destroyed.
#include "capi/handles.hpp"

#include <mutex>
#include <string>
#include <unordered_map>

#include "base/threads/process_fork.hpp"

namespace bittern::capi {
namespace {

/// The live objects by their numbers. Under ProcessMutex<Table>.
struct Table {
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects;
  std::uintptr_t next = 1;
};

/// Never destroyed: other threads may still call while the process ends.
Table& TheTable() {
  static Table* const table = new Table;
  return *table;
}

/// Handles end in 8, so that none looks like a small number or an aligned pointer.
constexpr std::uintptr_t kStep = 16, kEnd = 8;

std::uintptr_t NumberOf(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}

}  // namespace

Object::Object(int kind, bool of_process) noexcept
    : kind_(kind), generation_(of_process ? ProcessGeneration() : -1) {}

bool Object::is_of_parent() const noexcept {
  return generation_ >= 0 && generation_ != ProcessGeneration();
}

void* AddHandle(std::shared_ptr<Object> object) {
  Table& table = TheTable();
  const std::lock_guard lock(ProcessMutex<Table>());
  const std::uintptr_t number = table.next * kStep + kEnd;
  table.objects.emplace(number, std::move(object));
  ++table.next;
  return reinterpret_cast<void*>(number);
}

std::shared_ptr<Object> RemoveHandle(const void* handle, int kind) noexcept {
  Table& table = TheTable();
  const std::lock_guard lock(ProcessMutex<Table>());
  const auto found = table.objects.find(NumberOf(handle));
  if (found == table.objects.end() || found->second->kind() != kind) return nullptr;
  if (found->second->is_of_parent()) return nullptr;  // it stays: to destroy it could wait for ever
  std::shared_ptr<Object> object = std::move(found->second);
  table.objects.erase(found);
  return object;  // destroyed by the caller, without the lock
}

/// The pointer that it returns keeps the object alive until the call ends.
Result<std::shared_ptr<Object>> FindHandle(const void* handle, int kind, const char* what) {
  if (handle == nullptr) return Fail(kBadHandle, std::string(what) + " expected, NULL found");
  Table& table = TheTable();
  const std::lock_guard lock(ProcessMutex<Table>());
  const auto found = table.objects.find(NumberOf(handle));
  if (found == table.objects.end()) {
    return Fail(kBadHandle,
                std::string(what) + " expected, a handle found that was freed or is none");
  }
  if (found->second->kind() != kind) {
    return Fail(kBadHandle, std::string(what) + " expected, a handle of another kind found");
  }
  if (found->second->is_of_parent()) {
    return Fail(
        ErrorCode::kUnsupported,
        std::string(what) + " of this process expected, one found that was made before fork()",
        "models, options and results work in both processes; make a new one of the model");
  }
  return found->second;
}

}  // namespace bittern::capi
