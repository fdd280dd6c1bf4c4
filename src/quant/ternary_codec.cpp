// SPDX-License-Identifier: Apache-2.0
#include "quant/ternary_codec.hpp"

#include <fmt/format.h>

#include "quant/codec_list.hpp"

namespace bittern::quant {

Result<void> CheckMultiples(std::string_view name, std::size_t rows, std::size_t row_multiple,
                            std::size_t cols, std::size_t col_multiple) {
  if (rows % row_multiple == 0 && cols % col_multiple == 0) return {};
  const std::string of_rows =
      row_multiple == 1 ? "" : fmt::format("rows in multiples of {} and ", row_multiple);
  return Fail(ErrorCode::kUnsupported,
              fmt::format("{} needs {}columns in multiples of {}; the matrix has {} rows of {}",
                          name, of_rows, col_multiple, rows, cols));
}

std::span<const TernaryCodec> TernaryCodecs() noexcept {
  // The first of a format is its default.
  static const TernaryCodec codecs[] = {
      I2sX86Codec(),  I2sArmCodec(), I2sRow4Codec(), I2sSequentialCodec(), Tl1Codec(),
      Tl2Codec(),     Tq1_0Codec(),  Tq2_0Codec(),   Q2_0Codec(),          Pq2_0Codec(),
      Ptq1_0Codec(),  Q1_0Codec(),   Stq1_0Codec(),  Iq1BnCodec(),         Iq2BnCodec(),
      Iq2BnR4Codec(), F32Codec(),    F16Codec(),     Bf16Codec(),          HfPackedCodec(),
      Mlx2Codec(),
  };
  return codecs;
}

const TernaryCodec& CodecOf(TernaryLayout layout) noexcept {
  return TernaryCodecs()[static_cast<std::size_t>(layout)];  // the table is in enum order
}

const TernaryCodec* DefaultCodec(WeightFormat format) noexcept {
  for (const TernaryCodec& codec : TernaryCodecs()) {
    if (codec.format == format) return &codec;
  }
  return nullptr;
}

const TernaryCodec* FindCodec(std::string_view name) noexcept {
  for (const TernaryCodec& codec : TernaryCodecs()) {
    if (codec.name == name) return &codec;
  }
  return nullptr;
}

}  // namespace bittern::quant
