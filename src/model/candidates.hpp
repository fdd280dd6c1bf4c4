// SPDX-License-Identifier: Apache-2.0
// The logits of a token that a caller can do with: the best few in place of all
// (docs/design/0004-screened-head.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bittern::model {

/// Which logits are wanted: every one that is at least the count-th best; with count 0, every one
/// that is at least the best less `within`.
struct CandidateRequest {
  std::size_t count = 1;
  float within = 0;

  bool operator==(const CandidateRequest&) const = default;
};
inline constexpr std::size_t kMaxCandidateCount = 1024;  ///< of CandidateRequest::count

/// The logits that a request is about, by ascending id.
struct CandidateLogits {
  std::vector<std::int32_t> ids;
  std::vector<float> logits;
};

/// How many rows each step of the screen let through, summed over tokens.
struct ScreenStats {
  std::uint64_t tokens = 0, rows = 0;
  std::uint64_t tokens_of_8_bits = 0;  ///< among them: vectors that 8 bits hold well enough
  std::uint64_t tiles_of_bits = 0;     ///< tiles of 16 rows that four bits let through
  /// after_7_bits: computed exactly. Of a head with codes only they are counted.
  std::uint64_t after_5_bits = 0, after_7_bits = 0;
};

/// Vectors that one scan of the coarse copy serves: enough for a sequence and its drafts, and at
/// most for many sequences.
inline constexpr std::size_t kScreenVectors = 4, kMostScreenVectors = 32;

}  // namespace bittern::model
