// SPDX-License-Identifier: Apache-2.0
// MLX's packs of 2 bits in a folder: NAME.weight of words, NAME.scales and NAME.biases of groups.
// Any thread.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace bittern::formats {

/// The entries beside words: scales and biases, by name. Those that no weight took are left over.
class MlxSides {
 public:
  /// Collects the sides of all entries of type U32. group_cols 0: the folder has no packs.
  MlxSides(std::span<const SafetensorsEntry> entries, std::uint64_t group_cols);

  [[nodiscard]] bool IsSide(const SafetensorsEntry& entry) const {
    return sides_.contains(entry.name);
  }

  /// Makes `tensor` a view of codes in `entry` with its scales apart (Tensor::places, which are
  /// `places`). Errors: kCorruptFile (shapes, a side that is missing), kUnsupported (types).
  Result<void> SetMatrix(const SafetensorsEntry& entry, TensorPlaces* places, Tensor* tensor) const;

  /// The same weights in blocks of Q2_0 or PQ2_0, for rows that are read one by one: an embedding
  /// or a head. Further errors: a scale that binary16 does not hold, weights that are not ternary.
  [[nodiscard]] Result<std::vector<std::byte>> MakeBlocks(const SafetensorsEntry& entry,
                                                          Tensor* tensor) const;

  /// The same weights as floats, whatever their bias is: of small matrices.
  [[nodiscard]] Result<std::vector<std::byte>> MakeFloats(const SafetensorsEntry& entry,
                                                          Tensor* tensor) const;

 private:
  std::uint64_t group_cols_;
  std::unordered_map<std::string, const SafetensorsEntry*> sides_;
};

}  // namespace bittern::formats
