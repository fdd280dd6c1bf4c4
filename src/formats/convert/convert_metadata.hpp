// SPDX-License-Identifier: Apache-2.0
// The metadata of a converted GGUF file: the source's, made true for the new weights, and with
// what the source left for readers to guess written down.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "formats/convert/convert.hpp"
#include "formats/convert/convert_plan.hpp"
#include "formats/metadata_draft.hpp"

namespace bittern::formats {

/// Views into the source, which must outlive the draft.
///
/// - `<arch>.hidden_activation`, tokenizer.ggml.pre and tokenizer.ggml.eot_token_id from the hints
///   where the source has none.
/// - The architecture's name where every other reader would take the wrong activation from it:
///   "bitnet" means SiLU to them, "bitnet-b1.58" squared ReLU.
/// - The chat template where the source has bitnet.cpp's obsolete one.
/// - general.file_type, ternary.layout, ternary.scale_location, ternary.tl.tiling of the target.
///
/// Adds a sentence to `notes` for each change of what was there.
[[nodiscard]] MetadataDraft ConvertedMetadata(const Checkpoint& source, const ConvertPlan& plan,
                                              const MetadataHints& hints,
                                              std::vector<std::string>* notes);

/// The chat template of BitNet b1.58 2B-4T and of models tuned from it.
[[nodiscard]] std::string_view BitnetChatTemplate() noexcept;

}  // namespace bittern::formats
