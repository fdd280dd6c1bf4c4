// SPDX-License-Identifier: Apache-2.0
// How many threads to use beside others: one that has to share its CPU holds up all the others at
// every barrier, so a team without it can be faster. Decided by trying (docs/design/0003).
#pragma once

#include <cstdint>
#include <optional>

namespace bittern {

/// A thread counts as held up in a pass when it had a CPU for less than this share of the time that
/// it did not sleep. Alone it is 0.97 and more.
inline constexpr double kHeldUpShare = 0.85;

/// The measurements of one pass of a team.
struct TeamPass {
  std::uint32_t kind;  ///< passes of one kind are the same work and can be compared
  double begin;        ///< seconds on some clock that does not go back
  double seconds;
  double busy;  ///< threads at work, on average: CPU time by time, 0..size
  int held_up;  ///< threads that had no CPU when they wanted one, see kHeldUpShare
};

/// A size for the next pass from how the last ones went. Stays at the largest as long as every
/// thread has a CPU; else tries smaller teams, keeps what is faster, and tries larger ones from
/// time to time. Knows no clock and no threads. One thread at a time.
class TeamSize {
 public:
  explicit TeamSize(int largest) : largest_(largest), size_(largest) {}

  /// 1..largest.
  [[nodiscard]] int Next() const noexcept { return trial_ == 0 ? size_ : trial_; }
  /// `pass` was run by Next() threads. Passes of an unusual kind are not learnt from.
  void Record(const TeamPass& pass) noexcept;

 private:
  /// Passes of one size.
  struct Window {
    int passes = 0;
    double seconds = 0, busy = 0, held_up = 0;  // the latter two times seconds

    void Add(const TeamPass& pass) noexcept;
    [[nodiscard]] double mean() const noexcept { return seconds / passes; }
    /// Some threads have to wait for a CPU, or sleep for want of something to do.
    [[nodiscard]] bool troubled(int size) const noexcept;
    /// How many threads had a CPU of their own.
    [[nodiscard]] int unhindered(int size) const noexcept;
  };

  [[nodiscard]] bool IsUsual(std::uint32_t kind) noexcept;
  void Consider(double now) noexcept;
  void Try(int size) noexcept;
  void GoOnTrying(const TeamPass& pass) noexcept;
  void EndTrial(bool better, double now) noexcept;

  int largest_;
  int size_;                  // the best known
  int trial_ = 0;             // the size on trial; 0: none
  bool settled_ = true;       // a trial's first pass only moves threads about
  bool smaller_next_ = true;  // which way to look next where both make sense
  bool largest_next_ = true;  // larger: all of them, or one more
  int fewer_ = 0;             // than it seems, since that was tried in vain
  Window window_ = {};        // of Next()
  double usual_ = 0;          // seconds of a pass of size_
  double hold_ = 0, hold_until_ = 0;
  std::optional<std::uint32_t> kind_ = {};
  int unusual_ = 0;  // passes of another kind in a row
};

}  // namespace bittern
