// SPDX-License-Identifier: Apache-2.0
// The proof of a conversion: two model files, read independently and compared weight by weight.
// Shares no code with the conversion but the readers and the codecs' unpack functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "formats/convert/ternary_encode.hpp"

namespace bittern::formats {

/// The result of a comparison. Ternary weights: codes must be equal, scales equal or rounded as the
/// output's format does. Other tensors: the values, decoded to float.
struct Proof {
  std::uint64_t tensors = 0, weights = 0;  ///< ternary
  std::uint64_t minus = 0, zero = 0, plus = 0;
  std::uint64_t wrong_codes = 0, wrong_scales = 0;
  ScaleCounts scales;
  /// XXH3-128 over all codes (a byte 0, 1 or 2 each; rows in Hugging Face's order) with the names
  /// and shapes of their tensors: the same for every format that holds the same weights.
  std::string codes_hash_in, codes_hash_out;
  std::uint64_t plain_tensors = 0;  ///< others
  std::uint64_t plain_equal = 0;    ///< of them: every value is the same
  double largest_plain_error = 0;   ///< of the others, relative to the row's largest magnitude
  std::string largest_plain_name;
  std::string first_problem;  ///< empty where ok()

  [[nodiscard]] bool ok() const noexcept { return first_problem.empty(); }
};

/// A plain tensor may differ by its new format's precision, and no more than this of the largest
/// magnitude of a row (Q6_K: about 1/62 of a group's).
inline constexpr double kMaxPlainError = 0.05;

/// Compares `in` and `out`, whatever files they are, using all threads of the pool; lets their
/// pages go. stored_scale: how a folder keeps scales (null: as the format's codec says). Errors:
/// as reading weights; kCancelled where `keep_going` (share done) returns false.
[[nodiscard]] Result<Proof> Prove(const Checkpoint& in, const Checkpoint& out,
                                  float (*stored_scale)(float) noexcept, ThreadPool& pool,
                                  const std::function<bool(double)>& keep_going);

}  // namespace bittern::formats
