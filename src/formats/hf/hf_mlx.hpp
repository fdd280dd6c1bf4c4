// SPDX-License-Identifier: Apache-2.0
// MLX's packs in a folder: NAME.weight of words, NAME.scales and NAME.biases of groups, or
// NAME.row_alpha, which is a scale of each row. Any thread.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace bittern::formats {

/// The entries beside words: scales and biases, by name. Those that no weight took are left over.
class MlxSides {
 public:
  /// Collects the sides of all entries, if the folder has packs. `config` must outlive this.
  MlxSides(std::span<const SafetensorsEntry> entries, const HfConfig& config);

  [[nodiscard]] bool IsSide(const SafetensorsEntry& entry) const {
    return sides_.contains(entry.name);
  }

  /// Makes `tensor` a view of codes of 2 bits in `entry` with its scales apart (Tensor::places,
  /// which are `places`). Errors: kCorruptFile (shapes, a side that is missing), kUnsupported
  /// (types, bits).
  Result<void> SetMatrix(const SafetensorsEntry& entry, TensorPlaces* places, Tensor* tensor) const;

  /// The same weights in blocks, for an embedding or a head, whose rows are read one by one. 2 bits
  /// become Q2_0 or PQ2_0. 4 bits become Q4_1, or floats where binary16 does not hold a number.
  /// Further errors, of 2 bits: a scale that binary16 does not hold, weights that are not ternary.
  [[nodiscard]] Result<std::vector<std::byte>> MakeBlocks(const SafetensorsEntry& entry,
                                                          Tensor* tensor) const;

  /// The same weights as floats, whatever their bias is: of small matrices.
  [[nodiscard]] Result<std::vector<std::byte>> MakeFloats(const SafetensorsEntry& entry,
                                                          Tensor* tensor) const;

 private:
  /// Finds the sides of `entry`, and sets the columns of `tensor`. Returns the bits of a code.
  Result<unsigned> FindSides(const SafetensorsEntry& entry, TensorPlaces* places,
                             Tensor* tensor) const;

  const HfConfig& config_;
  std::unordered_map<std::string, const SafetensorsEntry*> sides_;
};

}  // namespace bittern::formats
