// SPDX-License-Identifier: Apache-2.0
// Small facts about single tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "formats/checkpoint.hpp"

namespace bittern::doctor {

/// How often each two-bit code occurs in an I2_S tensor; nullopt for others.
[[nodiscard]] std::optional<std::array<std::uint64_t, 4>> CodeCounts(const formats::Tensor& tensor);

/// The largest magnitude of a vector of F32 that is not empty; nullopt for others.
[[nodiscard]] std::optional<double> LargestMagnitude(const formats::Tensor& tensor);
/// Its mean.
[[nodiscard]] std::optional<double> MeanOf(const formats::Tensor& tensor);

/// "blk.3.ffn_up.weight" -> "ffn_up.weight"; other names as they are.
[[nodiscard]] std::string KindOf(const std::string& name);

}  // namespace bittern::doctor
