// SPDX-License-Identifier: Apache-2.0
// Two traces of the same tokens: the first operation whose results differ by more than rounding and
// the differences of its own inputs explain.
#pragma once

#include <optional>
#include <string>

#include "proof/trace/trace.hpp"

namespace bittern::proof {

/// A place where two traces differ.
struct TraceDifference {
  int layer = -1;  ///< -1 outside the layers
  Operation operation = Operation::kEmbedding;
  int position = 0;
  double distance = 0;            ///< Euclidean, as a share of the norm in A
  double inputs = 0;              ///< the same of what the operation reads; the largest
  double tolerance = 0;           ///< what rounding explains
  std::optional<double> largest;  ///< of any value, where both traces keep values
};

enum class Likeness {
  kIdentical,  ///< every value that can be compared is the same
  kRounding,   ///< rounding explains all differences
  kDifferent,
};
/// "identical", "rounding", "different".
[[nodiscard]] std::string_view LikenessName(Likeness likeness) noexcept;

struct TraceComparison {
  Likeness likeness = Likeness::kIdentical;
  std::optional<TraceDifference>
      first;  ///< the first that rounding does not explain, else the first
  std::optional<TraceDifference> largest;  ///< by distance
  std::size_t compared = 0;                ///< operations at positions that both traces have
  std::string summary;                     ///< one sentence
  std::vector<double> distances;           ///< [step][position]; -1: not in both
};

/// Error kInvalidArgument: other tokens, another number of layers, nothing in common.
[[nodiscard]] Result<TraceComparison> CompareTraces(const Trace& a, const Trace& b);

}  // namespace bittern::proof
