// SPDX-License-Identifier: Apache-2.0
// Times are averaged over windows of passes. Another size must beat the present one clearly in a
// trial; after a trial in vain the next one waits twice as long.
#include "base/threads/team_size.hpp"

#include <algorithm>

namespace bittern {
namespace {

// A scheduler's slices are some 3 ms long: a window must hold several of them.
constexpr int kUsualPasses = 8, kTrialPasses = 4;
constexpr double kUsualSeconds = 0.03, kTrialSeconds = 0.02;
constexpr double kHopelessAfter = 0.008, kHopeless = 1.5;
/// Averages over a window: a thread may change places, and a short pause proves nothing.
constexpr double kMostHeldUp = 0.3, kLeastBusy = 0.85;
/// Fewer threads must be faster by this, and more threads by that.
constexpr double kSmallerGain = 0.95, kLargerGain = 0.98;
/// After a trial in vain, seconds until the next; doubles.
constexpr double kShortestHold = 0.25, kLongestHold = 8;
constexpr int kNewUsual = 16;

/// Statistics of a number of threads.
int Rounded(double threads) { return static_cast<int>(threads + 0.5); }

}  // namespace

void TeamSize::Window::Add(const TeamPass& pass) noexcept {
  ++passes;
  seconds += pass.seconds;
  busy += pass.busy * pass.seconds;
  held_up += pass.held_up * pass.seconds;
}

bool TeamSize::Window::troubled(int size) const noexcept {
  return held_up > kMostHeldUp * seconds || busy < kLeastBusy * size * seconds;
}

int TeamSize::Window::unhindered(int size) const noexcept {
  const int free = Rounded(size - held_up / seconds);
  const bool tells = held_up > kMostHeldUp * seconds && free > 0;
  return tells ? free : Rounded(busy / seconds);
}

/// The first kind is the usual one until another comes many times in a row.
bool TeamSize::IsUsual(std::uint32_t kind) noexcept {
  if (!kind_) kind_ = kind;
  if (kind == *kind_) {
    unusual_ = 0;
    return true;
  }
  if (++unusual_ < kNewUsual) return false;
  unusual_ = 0;
  kind_ = kind;
  window_ = {};
  usual_ = 0;
  trial_ = 0;
  return true;
}

void TeamSize::Record(const TeamPass& pass) noexcept {
  if (largest_ == 1 || !IsUsual(pass.kind)) return;
  if (trial_ != 0) return GoOnTrying(pass);
  window_.Add(pass);
  if (window_.passes < kUsualPasses || window_.seconds < kUsualSeconds) return;
  usual_ = window_.mean();
  Consider(pass.begin + pass.seconds);
  window_ = {};
}

/// At the end of a window: is another size worth a trial?
void TeamSize::Consider(double now) noexcept {
  const bool troubled = window_.troubled(size_);
  if (size_ == largest_ && !troubled) {
    hold_ = hold_until_ = 0;
    fewer_ = 0;
    return;
  }
  if (now < hold_until_) return;
  const bool can_shrink = troubled && size_ > 1, can_grow = size_ < largest_;
  if (can_shrink && (smaller_next_ || !can_grow)) {
    return Try(std::clamp(window_.unhindered(size_) - fewer_, 1, size_ - 1));
  }
  if (!can_grow) return;
  const int larger = largest_next_ ? largest_ : size_ + 1;
  largest_next_ = !largest_next_;
  Try(larger);
}

void TeamSize::Try(int size) noexcept {
  trial_ = size;
  settled_ = false;
}

/// One more pass at the size on trial. The first one is not counted, since the
/// change itself may slow it. A hopeless trial ends early.
void TeamSize::GoOnTrying(const TeamPass& pass) noexcept {
  if (!settled_) {
    settled_ = true;
    window_ = {};
    return;
  }
  window_.Add(pass);
  const double now = pass.begin + pass.seconds;
  if (window_.seconds > kHopelessAfter && window_.mean() > kHopeless * usual_) {
    return EndTrial(false, now);
  }
  if (window_.passes < kTrialPasses || window_.seconds < kTrialSeconds) return;
  EndTrial(window_.mean() < usual_ * (trial_ < size_ ? kSmallerGain : kLargerGain), now);
}

/// Takes the size over if it is better, and goes on in the same direction after a hold. After each
/// failure the hold doubles, and the next smaller trial is a larger step down.
void TeamSize::EndTrial(bool better, double now) noexcept {
  smaller_next_ = better ? trial_ < size_ : trial_ > size_;
  if (better) {
    size_ = trial_;
    hold_ = kShortestHold;
    fewer_ = 0;
  } else {
    if (trial_ < size_) fewer_ = trial_ == 1 ? 0 : 2 * fewer_ + 1;
    hold_ = std::clamp(2 * hold_, kShortestHold, kLongestHold);
  }
  hold_until_ = now + hold_;
  trial_ = 0;
  window_ = {};
}

}  // namespace bittern
