// SPDX-License-Identifier: Apache-2.0
// A model file, whatever its kind: metadata and named tensors that view into mapped memory.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/decision.hpp"
#include "base/files/mapped_file.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "quant/weight_format.hpp"

namespace bittern::formats {

/// The place of a folder's tensor that is not laid out as GGUF's is. Empty lists: as in GGUF.
struct TensorPlaces {
  /// The row and the column of the bytes that row r and column c of the tensor are.
  std::vector<std::uint32_t> rows, columns;
  /// One after the other, the same number of rows in each, in place of Tensor::bytes, which are
  /// those of the first.
  std::vector<std::span<const std::byte>> parts;
  /// Floats of groups: weight = code * scale + bias. bias = -scale, and there may be no biases.
  std::span<const std::byte> scales, biases;
  quant::WeightFormat scale_format = quant::WeightFormat::kF32;
  std::size_t group_cols = 0;

  /// (scale, bias) of group `i`, counted through all rows.
  [[nodiscard]] std::pair<float, float> ScaleAndBias(std::size_t i) const noexcept;
};

/// A named tensor. Its bytes are checked to lie inside the file and to have exactly the size
/// that format and shape imply (data plus the format's tail, e.g. I2_S's scale). Names and shapes
/// are GGUF's, whatever the source: "blk.0.attn_q.weight", logical columns before logical rows.
struct Tensor {
  std::string name;
  quant::WeightFormat format;
  int rank;                            ///< 0..4
  std::array<std::uint64_t, 4> shape;  ///< GGUF order: shape[0] is the contiguous dimension
  std::uint64_t file_offset;           ///< of the first byte, from the start of its file
  std::span<const std::byte> bytes;
  /// A scale that the source keeps apart from the weights, multiplied onto whatever the format
  /// itself carries. Sources that divide by theirs are given as its reciprocal (in float).
  /// As the file has it: binding the tensor checks that it is finite and positive.
  float scale = 1;
  /// True for the float master weights of a ternary layer: the codes are still to be made, by
  /// quant::AbsmeanCodes (quant/absmean.hpp).
  bool quantize_absmean = false;
  /// With quantize_absmean: unless every row holds only -s, 0 and s, which is then as it is.
  bool may_be_ternary = false;
  /// True for float master weights whose rows are ternary by a threshold of their own
  /// (quant::ThresholdCodes).
  bool quantize_rows = false;
  std::shared_ptr<const TensorPlaces> places = nullptr;  ///< null: as in GGUF

  /// Bytes of the files that it takes, wherever they lie.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept;
  [[nodiscard]] std::uint64_t num_elements() const noexcept {
    return shape[0] * shape[1] * shape[2] * shape[3];  // checked by the reader
  }
  [[nodiscard]] std::uint64_t row_elements() const noexcept { return shape[0]; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return shape[1] * shape[2] * shape[3]; }
};

/// An opened model file. Immutable but for Metadata overrides made before use; safe to share.
class Checkpoint {
 public:
  /// Opens `path` by what it is: a GGUF file (v2 and v3; the first part of a split model brings the
  /// others along), a Hugging Face folder (config.json, safetensors, tokenizer) or a .safetensors
  /// file inside one. Whatever the source, metadata
  /// keys and tensor names are GGUF's. Errors: kNotFound, kIo, kCorruptFile, kUnsupported;
  /// messages start with the path.
  [[nodiscard]] static Result<Checkpoint> Open(const std::filesystem::path& path);

  /// Reads a GGUF file that lies in memory, e.g. one linked into the program. `bytes` begin at a
  /// multiple of 32 and must outlive the result; `name` stands where a path would. Errors:
  /// kCorruptFile, kUnsupported; messages start with the name.
  [[nodiscard]] static Result<Checkpoint> OpenBytes(std::span<const std::byte> bytes,
                                                    std::string name);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// "GGUF v3", "GGUF v3 in 2 files", "Hugging Face folder"
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
  /// Bytes of all files with tensors in them.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// The offset of tensor data in the first file.
  [[nodiscard]] std::uint64_t data_start() const noexcept { return data_start_; }
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
  [[nodiscard]] Metadata& metadata() noexcept { return metadata_; }
  [[nodiscard]] std::span<const Tensor> tensors() const noexcept { return tensors_; }
  /// The reader's decisions about the weights (formats/hf/hf_scales.hpp).
  [[nodiscard]] const Decisions& decisions() const noexcept { return decisions_; }
  /// nullptr if there is no such tensor.
  [[nodiscard]] const Tensor* Find(std::string_view name) const;
  /// Error kCorruptFile, naming the file: one of the model's files was cut off or written to since
  /// it was opened (MappedFile::CheckUnchanged). To be asked after bytes of tensors or texts of the
  /// metadata were read and before what they gave is used. Any thread.
  [[nodiscard]] Result<void> CheckUnchanged() const;
  /// Lets the pages of a tensor go after it was repacked; see MappedFile::Release.
  void Release(const Tensor& tensor) const noexcept;
  void Release(std::span<const std::byte> bytes) const noexcept;

  /// Another reading of the file, to try it: these tensors in place of those that were there. Names
  /// differ from each other. `memory` is kept: what bytes of the tensors may view.
  void ReplaceTensors(std::vector<Tensor> tensors, std::vector<std::vector<std::byte>> memory);

 private:
  friend class CheckpointBuilder;
  Checkpoint() = default;
  void SetTensors(std::vector<Tensor> tensors);

  std::vector<MappedFile> files_;      // one, or the parts or shards of a split model, or none
  std::span<const std::byte> memory_;  // of OpenBytes
  std::vector<std::vector<std::byte>> replaced_;  // of tensors that are in no file
  std::string path_, kind_;
  std::uint64_t data_start_ = 0;
  Metadata metadata_;
  Decisions decisions_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace bittern::formats
