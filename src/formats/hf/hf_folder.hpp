// SPDX-License-Identifier: Apache-2.0
// A model as Hugging Face publishes it: a folder of config.json, one or more safetensors files
// and the files of a tokenizer. Everything in it is turned into GGUF's terms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/decision.hpp"
#include "base/files/mapped_file.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

struct HfFolderContents {
  std::vector<MappedFile> files;  ///< tensors view into them
  std::uint64_t data_start = 0;   ///< of the first file
  Metadata metadata;
  std::vector<Tensor> tensors;
  std::vector<std::vector<std::byte>> memory;  ///< of tensors that stand in config.json
  Decisions decisions;                         ///< about the weights
};

/// True if the folder has a config.json.
[[nodiscard]] bool LooksLikeHfFolder(const std::filesystem::path& folder);

/// Opens the model in `folder`. With `weights`, a .safetensors file in it: this file, or the
/// sharded model that it belongs to. Errors: kNotFound (a file), kIo, kCorruptFile, kUnsupported;
/// messages name the file within the folder.
[[nodiscard]] Result<HfFolderContents> OpenHfFolder(
    const std::filesystem::path& folder,
    const std::optional<std::filesystem::path>& weights = std::nullopt);

}  // namespace bittern::formats
