// SPDX-License-Identifier: Apache-2.0
// Hugging Face's packed uint8 (hf_packed.hpp) as a row of the codec table.
#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"
#include "quant/hf_packed.hpp"

namespace bittern::quant {
namespace {

/// Row r is in the two bits 2 (r / row_dim) of byte row r % row_dim.
void Unpack(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
            float* scales) noexcept {
  const std::uint8_t* bytes = AsBytes(view.bytes.data());
  const std::size_t row_dim = HfPackedRows(view.rows);
  for (std::size_t row = first; row < first + count; ++row, codes += view.cols) {
    const std::uint8_t* in = bytes + row % row_dim * view.cols;
    const std::size_t shift = 2 * (row / row_dim);
    for (std::size_t k = 0; k < view.cols; ++k) {
      codes[k] = static_cast<std::uint8_t>(in[k] >> shift & 3);
    }
  }
  RepeatScale(1, count, scales);
}

void Pack(const TernaryValues& values, std::byte* out) noexcept {
  PackHf(values.codes, values.rows, values.cols, {out, HfPackedRows(values.rows) * values.cols});
}

}  // namespace

TernaryCodec HfPackedCodec() noexcept {
  return {.layout = TernaryLayout::kHfPacked,
          .name = "hf_u8",
          .format = WeightFormat::kHfPacked,
          .grain = ScaleGrain::kTensor,
          .group_cols = 0,
          .stored_scale = [](float) noexcept { return 1.0f; },
          .check = [](std::size_t, std::size_t, const TlTiling&) -> Result<void> { return {}; },
          .bytes = [](std::size_t rows, std::size_t cols,
                      const TlTiling&) { return HfPackedRows(rows) * cols; },
          .unpack = Unpack,
          .pack = Pack};
}

}  // namespace bittern::quant
