// SPDX-License-Identifier: Apache-2.0
// Sessions that keep a model busy from other threads while it is measured or certified.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "runtime/session.hpp"

namespace bittern::proof {

/// Generates without end until destroyed; what it writes is thrown away.
class Companions {
 public:
  static constexpr int kMax = 64;

  /// `count` sessions of one thread each, every one on tokens of its own. Returns when each has
  /// run its first token. Errors: kInvalidArgument (count outside 0..kMax), those of
  /// Session::Create, kIo (no more threads).
  [[nodiscard]] static Result<Companions> Start(
      const std::shared_ptr<const runtime::LoadedModel>& model, int count);
  Companions(Companions&&) noexcept;
  Companions& operator=(Companions&&) = delete;
  /// Stops and waits for all of them.
  ~Companions();

 private:
  struct Impl;
  explicit Companions(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bittern::proof
