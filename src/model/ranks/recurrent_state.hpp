// SPDX-License-Identifier: Apache-2.0
// The recurrent state of a sequence, and the log in which changes of states and pages are noted for
// the other ranks that have a pool alike (rank_leader.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory/aligned_buffer.hpp"

namespace bittern::model {

/// The changes that callers make to a pool's pages and states between forward passes, in order.
struct PageLog {
  struct Copy {
    std::uint32_t from, to;
    std::int32_t positions;
  };
  /// State `to` becomes a copy of `from`; of zeros where that is 0. To 0: `from` is no more.
  struct StateChange {
    std::uint64_t from, to;
  };
  std::uint64_t id = 0;  ///< of the pool, never used again
  std::vector<Copy> copies = {};
  std::vector<StateChange> states = {};
};

/// The floats of one state. With a log, its begin, its copies and its end are noted there. Not
/// thread-safe, as its pool is not.
class RecurrentState {
 public:
  /// Zeros; null where there is no memory. log: null, or noted in it.
  [[nodiscard]] static std::shared_ptr<RecurrentState> Create(std::size_t size,
                                                              const std::shared_ptr<PageLog>& log);
  RecurrentState(const RecurrentState&) = delete;
  RecurrentState& operator=(const RecurrentState&) = delete;
  ~RecurrentState();

  /// Another one with the same values; null where there is no memory.
  [[nodiscard]] std::shared_ptr<RecurrentState> Copy() const;
  /// Takes the values of another one of the same size.
  void Assign(const RecurrentState& other) noexcept;

  [[nodiscard]] std::span<float> values() noexcept { return values_.span(); }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_.span(); }
  /// Its number in the log, never used again; 0 without a log.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

 private:
  RecurrentState(AlignedBuffer<float> values, const std::shared_ptr<PageLog>& log);
  void Note(std::uint64_t from, std::uint64_t to) const;

  AlignedBuffer<float> values_;
  std::weak_ptr<PageLog> log_;
  std::uint64_t id_ = 0;
};

}  // namespace bittern::model
