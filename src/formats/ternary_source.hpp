// SPDX-License-Identifier: Apache-2.0
// From a tensor of a checkpoint to its codes and scales, whatever the file holds. This file chooses
// the codec and decides what the file does not say (layout of I2_S, tiling of TL1 and TL2). It
// reads scales that lie apart, and makes codes of master weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "quant/blocks/absmean.hpp"
#include "quant/ternary_codec.hpp"
#include "quant/ternary_scales.hpp"

namespace bittern::formats {

/// One ternary tensor, ready to be read row by row.
class TernarySource {
 public:
  [[nodiscard]] std::size_t rows() const noexcept { return view_.rows; }
  [[nodiscard]] std::size_t cols() const noexcept { return view_.cols; }
  [[nodiscard]] const quant::TernaryCodec& codec() const noexcept { return *codec_; }
  [[nodiscard]] const quant::TernaryView& view() const noexcept { return view_; }
  /// True where the codes are made from master weights instead of read.
  [[nodiscard]] bool is_master() const noexcept { return master_.has_value() || row_masters_; }
  /// The factor of the format's scales (1 if the file keeps none apart).
  [[nodiscard]] float multiplier() const noexcept { return multiplier_; }
  /// Columns that share a scale as stored, cols() where a row has one.
  [[nodiscard]] std::size_t group_cols() const noexcept;
  [[nodiscard]] std::size_t scales_per_row() const noexcept;

  /// Rows [first, first + count): codes (count * cols()) 0..2, scales (count * scales_per_row()),
  /// 0 where every weight is 0. Error kCorruptFile with row and column: an invalid code, a scale
  /// that is not finite and positive. Thread-safe.
  [[nodiscard]] Result<void> ReadRows(std::size_t first, std::size_t count, std::uint8_t* codes,
                                      float* scales) const;

 private:
  friend class TernaryOpener;
  TernarySource(const quant::TernaryCodec* codec, quant::TernaryView view)
      : codec_(codec), view_(view) {}

  /// A row of the bytes, in the order of its columns there.
  Result<void> ReadStoredRow(std::size_t row, std::uint8_t* codes, float* scales) const;
  /// Scales of rows as stored, times the tensor's factor.
  Result<void> Multiply(std::size_t first, std::size_t count, float* scales) const;
  /// The scales of a row that lie apart, and what follows for its codes.
  Result<void> ReadScalesApart(std::size_t row, std::uint8_t* codes, float* scales) const;
  /// Puts the columns of a row, and the scales of whole groups of them, into their places.
  void OrderColumns(std::uint8_t* codes, float* scales) const;

  const quant::TernaryCodec* codec_;
  quant::TernaryView view_;
  float multiplier_ = 1;
  std::optional<quant::AbsmeanScale> master_;   // of floats that have one scale
  bool row_masters_ = false;                    // of floats that have a threshold for each row
  std::size_t float_group_ = 0;                 // columns that share a scale; 0: all of a row
  std::shared_ptr<const TensorPlaces> places_;  // null: all is in its place
};

/// Opens the ternary tensors of one checkpoint. Knows the metadata keys
///   ternary.layout     str: "x86-128", "arm-64", "row4", "sequential" (of I2_S)
///   ternary.tl.tiling  [u32]: rows, cols, BM, BK, bm of each shape, five by five (or a str of
///                      the same with commas: what --tl-tiling makes)
/// and decides, in writing, where they are absent: I2_S is read as the official file unless its
/// weights speak for another layout; a tiling is bitnet.cpp's for the shape, or searched. Weights
/// that speak against the key are reported.
/// Not thread-safe; the sources it gives are.
class TernaryOpener {
 public:
  /// The checkpoint and the decisions outlive this; the checkpoint's own are added. Errors: a key
  /// of another type or value.
  [[nodiscard]] static Result<TernaryOpener> Create(const Checkpoint& checkpoint,
                                                    Decisions* decisions);

  /// Name of the tensor a separate scale may lie in: "blk.0.attn_q.weight" -> "blk.0.attn_q.scale"
  /// (architecture bitnet of llama.cpp).
  [[nodiscard]] static std::string ScaleTensorName(const std::string& weight_name);

  /// Errors: kUnsupported (the format holds no ternary weights; the shape does not fit),
  /// kCorruptFile (a separate scale that is not finite and positive), naming the tensor.
  [[nodiscard]] Result<TernarySource> Open(const Tensor& tensor);

 private:
  TernaryOpener(const Checkpoint& checkpoint, Decisions* decisions)
      : checkpoint_(&checkpoint), decisions_(decisions) {}
  Result<void> ReadLayoutKey();
  Result<void> ReadTilingKey();
  void DecideI2sLayout();
  /// Columns of floats that share a scale: all of a row, 256, 128 or 64, as some rows tell.
  std::size_t GroupOfFloats(const Tensor& tensor, const TernarySource& source);
  /// True where codes are to be made of floats; what is odd about that is decided in writing.
  bool IsMaster(const Tensor& tensor, const TernarySource& source);
  Result<quant::TlTiling> TilingOf(const Tensor& tensor);
  Result<float> MultiplierOf(const Tensor& tensor) const;

  const Checkpoint* checkpoint_;
  Decisions* decisions_;
  const quant::TernaryCodec* i2s_ = nullptr;
  bool i2s_decided_ = false, ternary_floats_told_ = false, groups_told_ = false;
  std::unordered_map<std::string, quant::TlTiling> tilings_;  // by format and shape
};

}  // namespace bittern::formats
