// SPDX-License-Identifier: Apache-2.0
// Which files of a repository are the model: the one that was named, else the best ternary GGUF,
// else the folder of safetensors. The same rule for what a hub has and for what the cache has.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::hub {

struct Candidate {
  std::string path;
  std::optional<std::uint64_t> size = {};  ///< bytes, where known
};

/// A GGUF model: one file, or the parts of a split one.
struct GgufModel {
  std::vector<std::string> parts;     ///< in order
  std::optional<std::uint64_t> size;  ///< bytes of all, where known
  std::size_t rank = 0;               ///< of the format that its name tells; 0 is the best
};

struct Choice {
  std::vector<std::string> files;  ///< the parts of a split GGUF in order; of a folder all files
  bool is_folder = false;          ///< the model is the folder, not a file
  std::string why;                 ///< "the only I2_S file of 3"; empty where it was named
};

/// All GGUF models; not projectors and the like, nor a split one that lacks a part.
[[nodiscard]] std::vector<GgufModel> FindGgufs(std::span<const Candidate> files);

/// `wanted`: a file's path, a word of its name ("i2_s"), "safetensors" for the folder, or empty.
/// Errors, which list files with their sizes: kNotFound (nothing fits), kInvalidArgument (several
/// do and none is better).
[[nodiscard]] Result<Choice> Choose(std::span<const Candidate> files, std::string_view wanted);

/// "  ggml-model-i2_s.gguf  1187.8 MB" a line, GGUF files and weights first; a long list is cut.
[[nodiscard]] std::string ListFiles(std::span<const Candidate> files);

/// "1187.8 MB", "12 bytes".
[[nodiscard]] std::string SizeText(std::uint64_t bytes);

}  // namespace bittern::hub
