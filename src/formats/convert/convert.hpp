// SPDX-License-Identifier: Apache-2.0
// `bittern convert`: a model in any format that is read, into any that is written. Codes and scales
// of ternary weights are carried over, never made anew; everything else is copied or, for
// embeddings, re-encoded on request.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/convert/prove.hpp"
#include "formats/convert/ternary_encode.hpp"

namespace bittern::formats {

/// Facts about a model that its file lacks and layers above this one find out.
struct MetadataHints {
  std::optional<std::string> hidden_activation;  ///< "relu2", "silu"
  std::optional<std::string> pre;                ///< tokenizer.ggml.pre
  std::optional<std::uint32_t> eot_id;  ///< a token besides EOS that ends what is generated
};

/// A tiling for all matrices of one shape.
struct ShapeTiling {
  std::size_t rows = 0, cols = 0;
  quant::TlTiling tiling;
};

struct ConvertOptions {
  std::string to;                    ///< one of ConvertTargets()
  std::string embeddings = "keep";   ///< one of EmbeddingFormats()
  std::vector<ShapeTiling> tilings;  ///< for tl1 and tl2; the default for other shapes
  /// Safetensors: scales as F32. BF16, as in the published models, rounds most of them.
  bool float_scales = false;
  bool prove = false;      ///< read the output back and compare, before it gets its name
  bool overwrite = false;  ///< replace a file that is there (a folder never)
  int num_threads = 1;
  MetadataHints hints;
  /// Share of the work done and what is being done, now and then. False stops: kCancelled.
  std::function<bool(double done, std::string_view what)> on_progress;
};

struct ConvertReport {
  std::string kind;  ///< "GGUF v3", "Hugging Face folder"
  std::uint64_t bytes_written = 0;
  std::uint64_t ternary_tensors = 0, ternary_weights = 0, plain_tensors = 0;
  ScaleCounts scales;
  std::string worst_scale;         ///< tensor whose scale is rounded most; empty: none is
  std::vector<std::string> notes;  ///< what a user should know, a sentence each
  Decisions decisions;
  std::optional<Proof> proof;
};

/// "i2_s", "i2_s:arm-64", ..., "safetensors".
[[nodiscard]] std::span<const std::string_view> ConvertTargets();
/// "keep", "f32", "f16", "bf16", "q8_0", "q6_k".
[[nodiscard]] std::span<const std::string_view> EmbeddingFormats();

/// Converts `source` to `out`: a GGUF file, or a folder for safetensors. Reads the source front to
/// back and lets its pages go; needs memory for a few tensors at a time. Nothing stands under
/// `out` before all of it is on the disk and, with `prove`, has been found to agree.
/// Errors: kInvalidArgument (an option; `out` exists or is the source), kUnsupported (a tensor
/// that the target cannot hold, by name and reason), kCorruptFile (an invalid code or scale),
/// kIo, kCancelled, kOutOfMemory. A proof that fails is no error but a report whose proof is not
/// ok(), and leaves nothing behind.
[[nodiscard]] Result<ConvertReport> Convert(const Checkpoint& source,
                                            const std::filesystem::path& out,
                                            const ConvertOptions& options);

}  // namespace bittern::formats
