// SPDX-License-Identifier: Apache-2.0
// Threads and scratch memory of forward passes. An engine has a workbench of its own. Sessions
// borrow one during a call, because most sessions are idle most of the time. So an idle session
// costs its pages only, and no thread.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "model/model.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::runtime {

/// The sizes that a workbench is made for.
struct WorkbenchSize {
  int max_tokens = 1;     ///< of a pass
  int max_positions = 1;  ///< of a sequence
  int num_threads = 1;
  std::size_t screen_vectors = 1;
  friend bool operator==(const WorkbenchSize&, const WorkbenchSize&) = default;
};

/// Used by one pass at a time.
struct Workbench {
  WorkbenchSize size;
  ThreadPool threads;
  model::ForwardState state;

  /// Errors: kOutOfMemory, kInvalidArgument.
  [[nodiscard]] static Result<std::unique_ptr<Workbench>> Create(const model::Model& model,
                                                                 const WorkbenchSize& size);
};

/// The idle workbenches of one model. Any thread. After fork the child has none, because their
/// threads live in the parent.
class Workbenches {
 public:
  Workbenches() = default;
  Workbenches(const Workbenches&) = delete;
  Workbenches& operator=(const Workbenches&) = delete;
  ~Workbenches();

  /// One that is idle, or a new one. Errors: as Workbench::Create.
  [[nodiscard]] Result<std::unique_ptr<Workbench>> Take(const model::Model& model,
                                                        const WorkbenchSize& size);
  /// Keeps it for the next Take. Of one size as many are kept as have two threads a CPU together,
  /// at least one; further ones are destroyed.
  void GiveBack(std::unique_ptr<Workbench> bench) noexcept;
};

}  // namespace bittern::runtime
