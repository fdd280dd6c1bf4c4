// SPDX-License-Identifier: Apache-2.0
// MLX's packs of 2 bits as a row of the codec table. Codes of a row lie in order, four a byte, low
// bits first (MLX's words hold 16). weight = code * scale + bias of its group. Ternary weights have
// bias = -scale. Scales and biases lie in other tensors, so this codec gives 1 as the scale. Code 3
// is refused.
// Source: mlx, mlx/backend/cpu/quantized.cpp.
#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kCodesOfByte = 4;

void UnpackMlx2(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
                float* scales) noexcept {
  const std::size_t row_bytes = view.cols / kCodesOfByte;
  const std::uint8_t* in = AsBytes(view.bytes.data()) + first * row_bytes;
  for (std::size_t i = 0; i < count * view.cols; ++i) {
    codes[i] = static_cast<std::uint8_t>(in[i / kCodesOfByte] >> (2 * (i % kCodesOfByte)) & 3);
  }
  RepeatScale(1, count, scales);
}

void PackMlx2(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* to = AsBytes(out);
  const std::uint8_t* c = values.codes.data();
  for (std::size_t i = 0; i < values.rows * values.cols / kCodesOfByte; ++i, c += kCodesOfByte) {
    to[i] = static_cast<std::uint8_t>(c[0] | c[1] << 2 | c[2] << 4 | c[3] << 6);
  }
}

}  // namespace

TernaryCodec Mlx2Codec() noexcept {
  return {.layout = TernaryLayout::kMlx2,
          .name = "mlx_2bit",
          .format = WeightFormat::kMlx2,
          .grain = ScaleGrain::kTensor,
          .group_cols = 0,
          .stored_scale = [](float) noexcept { return 1.0f; },
          .check = [](std::size_t rows, std::size_t cols,
                      const TlTiling&) { return CheckMultiples("MLX_2BIT", rows, 1, cols, 16); },
          .bytes = [](std::size_t rows, std::size_t cols,
                      const TlTiling&) { return rows * (cols / kCodesOfByte); },
          .unpack = UnpackMlx2,
          .pack = PackMlx2};
}

}  // namespace bittern::quant
