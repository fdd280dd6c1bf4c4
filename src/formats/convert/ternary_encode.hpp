// SPDX-License-Identifier: Apache-2.0
// One ternary tensor from any layout to any other: codes and scales are read, rows put in order,
// and both are packed. Nothing is computed from them: a scale is only ever rounded, where the
// target stores fewer bits, and that is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "formats/ternary_source.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::formats {

/// How many scales a target holds as they are, and how many it rounds. A number that is repeated
/// for the next row or group counts once; scales of groups whose weights are all zero do not.
struct ScaleCounts {
  std::uint64_t exact = 0, rounded = 0;
  double max_relative_error = 0;

  void Count(float wanted, float stored) noexcept;
  ScaleCounts& operator+=(const ScaleCounts& other) noexcept;
  [[nodiscard]] bool operator==(const ScaleCounts&) const = default;
};

/// The form that a tensor is to get.
struct TernaryTarget {
  const quant::TernaryCodec* codec = nullptr;
  quant::TlTiling tiling = {};
  /// How a scale is kept, where that is not for the codec to say (kHfPacked: a tensor of its own).
  float (*stored_scale)(float scale) noexcept = nullptr;
  /// Row r of the target is row row_order[r] of the source; empty: the same.
  std::vector<std::uint32_t> row_order;
};

struct EncodedTernary {
  std::vector<std::byte> bytes;
  /// The tensor's one scale, for kHfPacked, which stores none.
  float scale = 0;
  ScaleCounts scales;
};

/// Memory that EncodeTernary needs while it runs, its result included.
[[nodiscard]] std::size_t EncodeBytes(const TernarySource& source, const TernaryTarget& target);

/// Errors: as TernarySource::ReadRows; kUnsupported: the target's layout cannot hold the shape,
/// the grain or the size of the scales (binary16 has a range), or weights of 0 (Q1_0).
/// Thread-safe.
[[nodiscard]] Result<EncodedTernary> EncodeTernary(const TernarySource& source,
                                                   const TernaryTarget& target);

/// That error with a hint at the formats that hold the tensor.
[[nodiscard]] Error NameFormats(const TernarySource& source, Error error);

}  // namespace bittern::formats
