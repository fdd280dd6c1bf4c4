// SPDX-License-Identifier: Apache-2.0
// hadamard.json of a folder, which says how the inputs of its weights are rotated, in a GGUF file's
// keys and names. Any thread.
#pragma once

#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/metadata.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace bittern::formats {

inline constexpr const char* kHfRotationFile = "hadamard.json";

/// True for the config.json of PrismML's rotated packs. It names no class, since no class of
/// Hugging Face's library rotates. Such a folder must have hadamard.json.
[[nodiscard]] bool IsRotatedPack(const Json& whole);

/// Adds the keys "prism.hadamard.*" to `metadata`, names of weights in GGUF's words, and keeps the
/// signs in `config`. Whether a model can be rotated so is checked where one is loaded
/// (model/load/read_rotation.hpp). Errors: kCorruptFile (no version, a type, a width
/// twice), kUnsupported (a name of no tensor, heads in another order).
[[nodiscard]] Result<void> ReadHfRotation(const Json& json, HfConfig* config, Metadata* metadata);

/// True for NAME.signs, which repeat hadamard.json's signs for the weights beside them.
[[nodiscard]] bool IsSigns(const HfConfig& config, std::string_view name) noexcept;

/// Error kCorruptFile: such a tensor says otherwise than hadamard.json.
[[nodiscard]] Result<void> CheckHfSigns(const HfConfig& config, const SafetensorsEntry& entry);

}  // namespace bittern::formats
