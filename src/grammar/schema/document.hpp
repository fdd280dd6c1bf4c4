// SPDX-License-Identifier: Apache-2.0
// A JSON schema that is being read, and the work that it has cost so far. The work is counted in
// steps and not in seconds: the same schema is taken or refused on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/json/json.hpp"

namespace bittern::grammar {

/// One thread.
class SchemaDocument {
 public:
  /// A step is a fifth of a microsecond.
  static constexpr std::uint64_t kMostSteps = 1'000'000;
  static constexpr std::size_t kComparisons = 20;  ///< of two values, in a step
  static constexpr std::size_t kLooks = 50;        ///< at the key of a member, in a step

  /// `root` outlives the document. `steps`: done before, on other schemas of the same request.
  explicit SchemaDocument(const Json& root, std::uint64_t steps = 0)
      : root_(&root), steps_(steps) {}

  [[nodiscard]] const Json& root() const noexcept { return *root_; }
  /// Counts work that is about to be done. False: it would be too much, so it must not be.
  bool Spend(std::uint64_t steps) noexcept {
    steps_ += std::min(steps, kMostSteps + 1);
    return !spent();
  }
  [[nodiscard]] bool spent() const noexcept { return steps_ > kMostSteps; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  const Json* root_;
  std::uint64_t steps_;
};

}  // namespace bittern::grammar
