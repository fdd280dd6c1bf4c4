// SPDX-License-Identifier: Apache-2.0
// The rows of the codec table, each made in the file of its format.
#pragma once

#include "quant/ternary_codec.hpp"

namespace bittern::quant {

[[nodiscard]] TernaryCodec I2sX86Codec() noexcept;
[[nodiscard]] TernaryCodec I2sArmCodec() noexcept;
[[nodiscard]] TernaryCodec I2sRow4Codec() noexcept;
[[nodiscard]] TernaryCodec I2sSequentialCodec() noexcept;
[[nodiscard]] TernaryCodec Tl1Codec() noexcept;
[[nodiscard]] TernaryCodec Tl2Codec() noexcept;
[[nodiscard]] TernaryCodec Tq1_0Codec() noexcept;
[[nodiscard]] TernaryCodec Tq2_0Codec() noexcept;
[[nodiscard]] TernaryCodec Q2_0Codec() noexcept;
[[nodiscard]] TernaryCodec Pq2_0Codec() noexcept;
[[nodiscard]] TernaryCodec Ptq1_0Codec() noexcept;
[[nodiscard]] TernaryCodec Q1_0Codec() noexcept;
[[nodiscard]] TernaryCodec Stq1_0Codec() noexcept;
[[nodiscard]] TernaryCodec Iq1BnCodec() noexcept;
[[nodiscard]] TernaryCodec Iq2BnCodec() noexcept;
[[nodiscard]] TernaryCodec Iq2BnR4Codec() noexcept;
[[nodiscard]] TernaryCodec F32Codec() noexcept;
[[nodiscard]] TernaryCodec F16Codec() noexcept;
[[nodiscard]] TernaryCodec Bf16Codec() noexcept;
[[nodiscard]] TernaryCodec HfPackedCodec() noexcept;
[[nodiscard]] TernaryCodec Mlx2Codec() noexcept;

/// The rule of most layouts for a shape: columns and rows in multiples. Error kUnsupported.
[[nodiscard]] Result<void> CheckMultiples(std::string_view name, std::size_t rows,
                                          std::size_t row_multiple, std::size_t cols,
                                          std::size_t col_multiple);

}  // namespace bittern::quant
