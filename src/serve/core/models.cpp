// SPDX-License-Identifier: Apache-2.0
// One mutex guards the table, the leases and the queue of waiters. One worker thread loads and
// drops: each step of its work takes the mutex, decides, and releases it while a file is read.
#include "serve/core/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bittern::serve {
namespace {

/// The error as clients may hear it: without the place of the file, and without its bytes, which
/// need not be a model's. The maker logs the whole text.
Error ForClients(std::string_view name, const Error& error) {
  std::string_view why = "it could not be loaded";
  if (error.code == ErrorCode::kCorruptFile) why = "its file is damaged, or no model";
  if (error.code == ErrorCode::kUnsupported) why = "it needs what this program does not have";
  if (error.code == ErrorCode::kOutOfMemory) why = "there is not enough memory";
  if (error.code == ErrorCode::kIo) why = "its file cannot be read";
  if (error.code == ErrorCode::kNotFound) why = "its file is gone";
  return {error.code, fmt::format("model: \"{}\": {}; the server's log says more", name, why)};
}

}  // namespace

Models::Models(std::vector<ModelFile> files, Maker maker, const ModelsOptions& options)
    : options_(options), maker_(std::move(maker)) {
  for (ModelFile& file : files) entries_.push_back({.file = std::move(file)});
}

Models::~Models() {
  loader_->Stop();
  for (Entry& entry : entries_) entry.service.reset();  // requests that it drops release it
}

Models::Entry* Models::Find(const std::string& name) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.file.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

/// The lease has a deleter of its own: the model is not destroyed but given back.
Models::Lease Models::LeaseOf(Entry* entry) {
  ++entry->users;
  entry->last_used = ++uses_;
  return {entry->service.get(), [this, entry](Service*) { Release(entry); }};
}

/// Wakes the loading thread where a model that became idle may make room.
void Models::Release(Entry* entry) {
  const std::scoped_lock lock(mutex_);
  --entry->users;
  if (entry->users == 0 && (entry->unloading || !queue_.empty())) {
    loader_->Post([this] { Work(); });
  }
}

void Models::Use(const std::string& name, std::shared_ptr<const std::atomic<bool>> gone,
                 Ready ready) {
  Wait(name, options_.autoload, std::move(gone), std::move(ready));
}

void Models::Load(const std::string& name, std::shared_ptr<const std::atomic<bool>> gone,
                  Ready ready) {
  Wait(name, true, std::move(gone), std::move(ready));
}

/// Answers now, or puts the request into the queue. The victim takes no new requests, so that it
/// becomes idle. `ready` is called without the lock: it may call this object.
void Models::Wait(const std::string& name, bool load, std::shared_ptr<const std::atomic<bool>> gone,
                  Ready ready) {
  std::unique_lock lock(mutex_);
  Entry* const entry = Find(name);
  Result<Lease> answer = Lease();
  if (entry == nullptr) {
    answer = Fail(ErrorCode::kNotFound, fmt::format("model: there is no \"{}\" here", name));
  } else if (entry->service != nullptr && !entry->unloading && entry != victim_) {
    answer = LeaseOf(entry);
  } else if (!load && entry->service == nullptr) {
    answer = Fail(ErrorCode::kInvalidArgument,
                  fmt::format("model: \"{}\" is not loaded; POST /models/load loads it", name));
  } else if (queue_.size() >= options_.most_waiting) {
    answer = Fail(ErrorCode::kOutOfMemory, "too many requests wait for models; try again later");
  } else {
    queue_.push_back({entry, std::move(gone), std::move(ready)});
    loader_->Post([this] { Work(); });
    return;
  }
  lock.unlock();
  ready(std::move(answer));
}

Result<Models::Lease> Models::UseLoaded(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  Entry* const entry = Find(name);
  if (entry == nullptr) {
    return Fail(ErrorCode::kNotFound, fmt::format("model: there is no \"{}\" here", name));
  }
  if (entry->service == nullptr || entry->unloading) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("model: \"{}\" is not loaded, and a GET loads none; POST /models/load "
                            "or a request for an answer does",
                            name));
  }
  ++entry->users;
  return Lease(entry->service.get(), [this, entry](Service*) { Release(entry); });
}

/// The folder is read without the lock. An entry stays where a lease, a waiter or the loading
/// thread may point to it.
void Models::Refresh() {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::scoped_lock lock(mutex_);
    if (!finder_ || now - refreshed_ < std::chrono::seconds(1)) return;
    refreshed_ = now;
  }
  auto found = finder_();
  if (!found.has_value()) return;  // the folder cannot be read just now
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [&](Entry& entry) {
    const auto is_it = [&](const ModelFile& file) { return file.name == entry.file.name; };
    const auto file = std::ranges::find_if(*found, is_it);
    if (file != found->end()) {
      if (entry.service == nullptr && !entry.loading) entry.file = *file;
      found->erase(file);
      return false;
    }
    const bool waited =
        std::ranges::any_of(queue_, [&](const Waiter& waiter) { return waiter.entry == &entry; });
    if (entry.service == nullptr) return !entry.loading && !waited && entry.users == 0;
    entry.unloading = true;
    loader_->Post([this] { Work(); });
    return false;
  });
  for (ModelFile& file : *found) entries_.push_back({.file = std::move(file)});
  entries_.sort([](const Entry& a, const Entry& b) { return a.file.name < b.file.name; });
}

/// Marks the model; the loading thread drops it when its last request is over.
Result<void> Models::Unload(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  Entry* const entry = Find(name);
  if (entry == nullptr) {
    return Fail(ErrorCode::kNotFound, fmt::format("model: there is no \"{}\" here", name));
  }
  if (entry->service != nullptr) entry->unloading = true;
  loader_->Post([this] { Work(); });
  return {};
}

/// A model that is being unloaded counts as loaded until it is gone.
std::vector<ModelStatus> Models::status() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ModelStatus> all;
  for (const Entry& entry : entries_) {
    const ModelState state = entry.service != nullptr ? ModelState::kLoaded
                             : entry.loading          ? ModelState::kLoading
                                                      : ModelState::kUnloaded;
    all.push_back({entry.file.name, entry.file.bytes, state, entry.failure});
  }
  return all;
}

std::uint64_t Models::loads() const {
  const std::scoped_lock lock(mutex_);
  return loads_;
}

Models::Entry* Models::Oldest(bool idle) {
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    if (entry.service == nullptr || (idle && entry.users > 0)) continue;
    if (oldest == nullptr || entry.last_used < oldest->last_used) oldest = &entry;
  }
  return oldest;
}

/// Counts what is loaded now, and `entry` beside it.
bool Models::HasRoomFor(const Entry& entry) const {
  int loaded = 0;
  std::uint64_t bytes = entry.file.bytes;
  for (const Entry& other : entries_) {
    if (other.service == nullptr) continue;
    ++loaded;
    bytes += other.file.bytes;
  }
  return loaded < options_.most_loaded &&
         (options_.most_bytes == 0 || bytes <= options_.most_bytes);
}

std::vector<Models::Waiter> Models::TakeWaiters(const Entry* entry) {
  std::vector<Waiter> taken;
  std::erase_if(queue_, [&](Waiter& waiter) {
    if (waiter.entry != entry) return false;
    taken.push_back(std::move(waiter));
    return true;
  });
  return taken;
}

void Models::Work() {
  while (Step()) {
  }
}

/// In this order: drop a model that shall go and is idle; forget waiters whose clients are gone;
/// make room for the first waiter; load its model. Only the first waiter counts, so none starves.
bool Models::Step() {
  std::unique_ptr<Service> out;  // is destroyed, which may take a while, without the lock
  std::vector<Waiter> over;
  std::unique_lock lock(mutex_);
  victim_ = nullptr;
  for (Entry& entry : entries_) {
    if (!entry.unloading || entry.users > 0) continue;
    entry.unloading = false;
    out = std::move(entry.service);
    return true;
  }
  while (!queue_.empty() && queue_.front().gone->load()) {
    over.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (queue_.empty()) return false;
  Entry* const entry = queue_.front().entry;
  if (entry->service != nullptr && entry->unloading) return false;  // when its last request is over
  const bool fits = options_.most_bytes == 0 || entry->file.bytes <= options_.most_bytes;
  if (entry->service == nullptr && fits && !HasRoomFor(*entry)) {
    Entry* const idle = Oldest(true);
    if (idle == nullptr) {
      victim_ = Oldest(false);
      return false;
    }
    out = std::move(idle->service);
    return true;
  }
  lock.unlock();
  LoadNow(entry);
  return true;
}

/// Loads a model, unless it is there already, and answers all who wait for it. The lock is free
/// while files are read and while callbacks run. A failure is told to them and kept for status().
void Models::LoadNow(Entry* entry) {
  std::unique_lock lock(mutex_);
  std::optional<Error> failure;
  if (options_.most_bytes > 0 && entry->file.bytes > options_.most_bytes) {
    failure =
        Error{ErrorCode::kOutOfMemory,
              fmt::format("model: \"{}\" takes {} MiB, all models together may take {}",
                          entry->file.name, entry->file.bytes >> 20, options_.most_bytes >> 20)};
  } else if (entry->service == nullptr) {
    entry->loading = true;
    lock.unlock();
    auto made = maker_(entry->file);
    lock.lock();
    entry->loading = false;
    ++loads_;
    if (made.has_value()) {
      entry->service = *std::move(made);
    } else {
      failure = ForClients(entry->file.name, made.error());
    }
  }
  entry->failure = failure ? failure->message : std::string();
  std::vector<std::pair<Ready, Result<Lease>>> answers;
  for (Waiter& waiter : TakeWaiters(entry)) {
    Result<Lease> answer = Lease();
    if (failure) {
      answer = tl::unexpected(*failure);
    } else {
      answer = LeaseOf(entry);
    }
    answers.emplace_back(std::move(waiter.ready), std::move(answer));
  }
  lock.unlock();
  for (auto& [ready, answer] : answers) ready(std::move(answer));
}

}  // namespace bittern::serve
