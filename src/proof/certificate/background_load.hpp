// SPDX-License-Identifier: Apache-2.0
// Sessions that keep a model busy from other threads while it is measured or certified.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "runtime/session.hpp"

namespace bittern::proof {

/// Generates without end until destroyed; what it writes is thrown away.
class BackgroundLoad {
 public:
  static constexpr int kMax = 64;

  /// `count` sessions of one thread each, every one on tokens of its own. Returns when each has
  /// run its first token. Errors: kInvalidArgument (count outside 0..kMax), those of
  /// Session::Create, kIo (no more threads).
  [[nodiscard]] static Result<BackgroundLoad> Start(
      const std::shared_ptr<const runtime::LoadedModel>& model, int count);
  BackgroundLoad(BackgroundLoad&&) noexcept;
  BackgroundLoad& operator=(BackgroundLoad&&) = delete;
  /// Stops and waits for all of them.
  ~BackgroundLoad();

 private:
  struct Impl;
  explicit BackgroundLoad(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bittern::proof
