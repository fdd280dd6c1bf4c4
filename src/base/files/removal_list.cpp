// SPDX-License-Identifier: Apache-2.0
#include "base/files/removal_list.hpp"

#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>

#include "base/files/atomic_file.hpp"
#include "base/os/file.hpp"
#include "base/threads/process_fork.hpp"

namespace bittern {
namespace internal {

struct Place {
  std::atomic<bool> listed{false};  ///< the rest may be read
  bool taken = false;
  ListedName::Kind kind = ListedName::Kind::kFile;
  Place* folder = nullptr;  ///< gives the place back, where it is not a ListedName's own
  char name[4096];
};

namespace {

static_assert(std::atomic<bool>::is_always_lock_free);
/// A folder with all its files, and a few more; memory that is never given back.
Place places[64];  // changed under ProcessMutex<Place>, which the handler never takes

/// Needs the mutex. Null: the list is full, or the name too long.
Place* Add(std::string_view name, ListedName::Kind kind, Place* folder) {
  if (name.size() >= sizeof(Place::name)) return nullptr;
  for (Place& place : places) {
    if (place.taken) continue;
    place.taken = true;
    place.kind = kind;
    place.folder = folder;
    std::memcpy(place.name, name.data(), name.size());
    place.name[name.size()] = '\0';
    place.listed.store(true, std::memory_order_release);
    return &place;
  }
  return nullptr;
}

/// Needs the mutex.
void Drop(Place& place) {
  place.listed.store(false, std::memory_order_release);
  place.taken = false;
  place.folder = nullptr;
}

/// Called by a signal handler: no lock and no memory, only atomics and `remove`.
void RemoveListed(ListedName::Kind kind, int (*remove)(const char*) noexcept) noexcept {
  for (const Place& place : places) {
    if (place.listed.load(std::memory_order_acquire) && place.kind == kind) remove(place.name);
  }
}

}  // namespace

ListedName::ListedName(const std::string& name, Kind kind) {
  const std::lock_guard lock(ProcessMutex<Place>());
  place_ = Add(name, kind, nullptr);
}

ListedName::~ListedName() {
  if (place_ == nullptr) return;
  const std::lock_guard lock(ProcessMutex<Place>());
  for (Place& place : places) {
    if (place.folder == place_) Drop(place);
  }
  Drop(*place_);
}

/// The file takes a place of its own, which the folder's ListedName gives back.
void MoveIntoFolder(const std::string& path) {
  const std::string_view parent = std::string_view(path).substr(0, path.find_last_of("/\\"));
  if (parent.size() == path.size()) return;
  const std::lock_guard lock(ProcessMutex<Place>());
  for (Place& place : places) {
    if (!place.taken || place.kind != ListedName::Kind::kFolder || parent != place.name) continue;
    Add(path, ListedName::Kind::kFile, &place);
    return;
  }
}

}  // namespace internal

void RemoveTemporaryFiles() noexcept {
  using Kind = internal::ListedName::Kind;
  internal::RemoveListed(Kind::kFile, os::RemoveFile);
  internal::RemoveListed(Kind::kFolder, os::RemoveEmptyFolder);  // they are empty now
}

}  // namespace bittern
