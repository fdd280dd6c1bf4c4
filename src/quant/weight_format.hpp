// SPDX-License-Identifier: Apache-2.0
// Every tensor type a GGUF file may name, with its block size. A format is a documented byte
// layout, never a macro and never a CPU. Ids: GGUF spec and the forks that extend it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::quant {

/// Values are the ids found in GGUF files; those of formats that GGUF does not know lie beyond.
enum class WeightFormat : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kI2_S = 36,  ///< bitnet.cpp: 2-bit codes, one float scale after the tensor's data (i2s.hpp).
  kTL1 = 38,   ///< bitnet.cpp's lookup-table formats (tl1.cpp, tl2.hpp)
  kTL2 = 39,   ///< the same id is MXFP4 in mainline llama.cpp; sizes tell them apart
  kQ1_0 = 41,
  kQ2_0 = 42,     ///< groups of 64; others give this id to PQ2_0 and STQ1_0 (FormatsUnder)
  kSTQ1_0 = 43,   ///< Tencent (stq1_0.cpp)
  kIQ1_BN = 134,  ///< ik_llama.cpp (iq_bn.cpp)
  kIQ2_BN = 135,
  kPQ2_0 = 142,  ///< PrismML (q2_0.cpp, tq.cpp)
  kPTQ1_0 = 143,
  kIQ2_BN_R4 = 335,

  /// Hugging Face: 2-bit codes, four row blocks in one block of bytes; the scale is a tensor of
  /// its own (hf_packed.hpp). Never in a GGUF file.
  kHfPacked = 0x10000,
  kMlx2,  ///< MLX's packs of 2 bits: four weights a byte, low bits first; scales lie elsewhere
};

/// The sizes of a format: a row of n elements takes row_bytes and n / block_elements blocks of
/// block_bytes, and the tensor ends with tail_bytes that belong to no row. TL2 alone has a formula
/// of its own (tl2.hpp).
struct WeightFormatInfo {
  WeightFormat format;
  std::string_view name;  ///< As llama.cpp prints it: "F16", "Q6_K", "I2_S".
  std::uint32_t block_elements;
  std::uint32_t block_bytes;
  std::uint32_t tail_bytes = 0;
  std::uint32_t row_bytes = 0;
};

/// The row of the table for a GGUF type id, or nullptr for an id this build does not read or
/// that no GGUF file may have.
[[nodiscard]] const WeightFormatInfo* FindWeightFormat(std::uint32_t gguf_id) noexcept;

[[nodiscard]] const WeightFormatInfo& InfoOf(WeightFormat format) noexcept;

/// A format that some program stores under a type id that others use for something else. The bytes
/// that tensors take tell which is meant: no two of an id take the same for a weight.
struct SharedFormat {
  std::string_view name;
  const WeightFormatInfo* info = nullptr;               ///< null: a format that is not read
  std::uint32_t block_elements = 0, block_bytes = 0;    ///< of one that is not read
  std::string_view why = "which is not supported yet";  ///< it is not read

  /// Bytes of such a tensor; an error where its rows are no whole blocks.
  [[nodiscard]] Result<std::uint64_t> BytesOf(std::uint64_t row_elements, std::uint64_t rows) const;
};
/// The formats under an id, the one first that the table gives the id to; empty: the id means one
/// thing.
[[nodiscard]] std::vector<SharedFormat> FormatsUnder(std::uint32_t gguf_id);

/// The name of a type id that Bittern does not read, where one is known ("TQ2_0"), so that a
/// refusal can say it; nullopt for unknown ids.
[[nodiscard]] std::optional<std::string_view> UnreadFormatName(std::uint32_t gguf_id) noexcept;

/// Bytes of a tensor whose rows have `row_elements` elements, `rows` of them. Errors
/// kCorruptFile: row length not a multiple of the block, or the product overflows.
[[nodiscard]] Result<std::uint64_t> TensorBytes(const WeightFormatInfo& info,
                                                std::uint64_t row_elements, std::uint64_t rows);

}  // namespace bittern::quant
