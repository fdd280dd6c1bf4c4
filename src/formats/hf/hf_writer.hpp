// SPDX-License-Identifier: Apache-2.0
// The files beside model.safetensors in a Hugging Face folder, made from GGUF's keys: what
// hf_config and hf_tokenizer read, in the other direction.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "formats/metadata_draft.hpp"

namespace bittern::formats {

struct TextFile {
  std::string name, text;
};

/// config.json and generation_config.json. `tied`: the head is the embedding. Errors:
/// kUnsupported (an architecture that Hugging Face has no class for; rotated weights),
/// kCorruptFile (a key that is missing), by key.
[[nodiscard]] Result<std::vector<TextFile>> HfConfigFiles(const MetadataDraft& metadata, bool tied);

/// tokenizer.json and tokenizer_config.json. Errors kUnsupported (a kind of tokenizer or a
/// pre-tokenizer that has no known pipeline), kCorruptFile.
[[nodiscard]] Result<std::vector<TextFile>> HfTokenizerFiles(const MetadataDraft& metadata);

}  // namespace bittern::formats
