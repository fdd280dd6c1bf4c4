// SPDX-License-Identifier: Apache-2.0
// Several models behind one server. A model is loaded when a request asks for it, within a budget
// of memory. Where there is no room, the least recently used model is dropped. A model that answers
// requests is never dropped; but while another model waits for its place it takes no new requests,
// so every wait ends. Requests for models that are not loaded wait in the order they came.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "serve/core/service.hpp"
#include "serve/core/worker.hpp"

namespace bittern::serve {

/// A model that can be loaded.
struct ModelFile {
  std::string name, path;
  std::uint64_t bytes = 0;  ///< that it takes when loaded
};

struct ModelsOptions {
  int most_loaded = 4;           ///< at the same time; >= 1
  std::uint64_t most_bytes = 0;  ///< of all that are loaded; 0: any
  std::size_t most_waiting = 256;
  std::string version = {};  ///< of the program
  bool autoload = true;  ///< false: Use fails where the model is not loaded, Load must be called
};

enum class ModelState { kUnloaded, kLoading, kLoaded };

/// A model as /v1/models tells of it.
struct ModelStatus {
  std::string name;
  std::uint64_t bytes = 0;
  ModelState state = ModelState::kUnloaded;
  std::string failure = {};  ///< why it could not be loaded the last time
};

/// Any thread. Models are loaded and dropped by a thread of its own.
class Models {
 public:
  using Maker = std::function<Result<std::unique_ptr<Service>>(const ModelFile&)>;
  /// Gives the model up when it is destroyed.
  using Lease = std::shared_ptr<Service>;
  using Finder = std::function<Result<std::vector<ModelFile>>()>;
  using Ready = std::function<void(Result<Lease>)>;

  Models(std::vector<ModelFile> files, Maker maker, const ModelsOptions& options);
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;
  /// No lease may be left.
  ~Models();

  /// Calls `ready` once, at once or by the loading thread; not at all where `gone` is set before
  /// the model's turn. Errors: kNotFound (no such model), kInvalidArgument (it is not loaded and
  /// nothing loads by itself), kOutOfMemory (too many wait; larger than the budget), and those of
  /// loading.
  void Use(const std::string& name, std::shared_ptr<const std::atomic<bool>> gone, Ready ready);
  /// As Use, whatever `autoload` says.
  void Load(const std::string& name, std::shared_ptr<const std::atomic<bool>> gone, Ready ready);
  /// As Use, but loads and drops nothing, and counts as no use. Error kNotFound also where the
  /// model is not loaded.
  [[nodiscard]] Result<Lease> UseLoaded(const std::string& name);
  /// Sets what Refresh asks for the models that there are. Before anything else.
  void SetFinder(Finder finder) { finder_ = std::move(finder); }
  /// Takes models that were added, and forgets those that are gone and idle; what is loaded and
  /// gone is dropped. Reads the folder, at most once a second.
  void Refresh();
  /// Drops a model as soon as no request uses it. Error kNotFound: no such model.
  [[nodiscard]] Result<void> Unload(const std::string& name);

  /// Loads nothing more; the callbacks of waiting requests are not called. By the owner.
  void Stop() { loader_->Stop(); }

  [[nodiscard]] std::vector<ModelStatus> status() const;
  [[nodiscard]] const ModelsOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t loads() const;  ///< since the start

 private:
  /// A model and its state. All under the lock.
  struct Entry {
    ModelFile file;
    std::unique_ptr<Service> service = {};
    int users = 0;
    std::uint64_t last_used = 0;  // a count of uses, not a time
    bool loading = false, unloading = false;
    std::string failure = {};
  };
  /// A request that waits for its model.
  struct Waiter {
    Entry* entry;
    std::shared_ptr<const std::atomic<bool>> gone;
    Ready ready;
  };

  void Wait(const std::string& name, bool load, std::shared_ptr<const std::atomic<bool>> gone,
            Ready ready);
  [[nodiscard]] Entry* Find(const std::string& name);
  [[nodiscard]] Lease LeaseOf(Entry* entry);  // under the lock
  void Release(Entry* entry);
  /// By the loading thread: serves the waiting requests, as far as there is room.
  void Work();
  /// One step of Work; false: nothing can be done now.
  [[nodiscard]] bool Step();
  void LoadNow(Entry* entry);
  /// The loaded model that was used longest ago, idle or any; null: none. Under the lock.
  [[nodiscard]] Entry* Oldest(bool idle);
  [[nodiscard]] bool HasRoomFor(const Entry& entry) const;  // under the lock
  /// Takes the waiters of a model out of the queue. Under the lock.
  [[nodiscard]] std::vector<Waiter> TakeWaiters(const Entry* entry);

  ModelsOptions options_;
  Maker maker_;
  Finder finder_ = {};
  std::chrono::steady_clock::time_point refreshed_ = {};
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
  std::deque<Waiter> queue_ = {};
  Entry* victim_ = nullptr;  // goes when it is idle, for the first in the queue
  std::uint64_t uses_ = 0, loads_ = 0;
  std::unique_ptr<Worker> loader_ = std::make_unique<Worker>();
};

}  // namespace bittern::serve
