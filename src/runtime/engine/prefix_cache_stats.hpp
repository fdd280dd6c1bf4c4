// SPDX-License-Identifier: Apache-2.0
// The prefix cache as numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bittern::runtime {

struct PrefixCacheStats {
  std::uint64_t asked_tokens = 0;  ///< of all prompts that were looked up
  std::uint64_t found_tokens = 0;  ///< of those, not computed again
  int pages = 0;                   ///< held now
  int states = 0;                  ///< copies of recurrent states, held now
  std::size_t bytes = 0;           ///< of those pages and states

  [[nodiscard]] double hit_rate() const noexcept {
    return asked_tokens == 0
               ? 0
               : static_cast<double>(found_tokens) / static_cast<double>(asked_tokens);
  }
};

}  // namespace bittern::runtime
