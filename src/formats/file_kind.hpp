// SPDX-License-Identifier: Apache-2.0
// Files that people hand over instead of a GGUF file: other model formats, archives, and the debris
// of downloads. Recognised by their first bytes, so that the refusal can say what to do about it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "base/result.hpp"

namespace bittern::formats {

/// True if the bytes begin like a GGUF file, of any version and byte order.
[[nodiscard]] bool LooksLikeGguf(std::span<const std::byte> bytes) noexcept;

/// True if the bytes begin like a safetensors file: a length, then a JSON object.
[[nodiscard]] bool LooksLikeSafetensors(std::span<const std::byte> bytes) noexcept;

/// The refusal for what a download leaves in place of any file: a Git LFS pointer or a web page.
/// nullopt for everything else.
[[nodiscard]] std::optional<Error> RefuseDebris(std::span<const std::byte> bytes);

/// The refusal for what is recognised as no model file, or as one of another program; nullopt for
/// everything else.
[[nodiscard]] std::optional<Error> RefuseOtherKind(std::span<const std::byte> bytes);

/// The refusal for bytes that are no GGUF file: kUnsupported for other formats, kCorruptFile for
/// what is no model at all. Looks at the first kilobyte.
[[nodiscard]] Error RefuseFile(std::span<const std::byte> bytes);

/// The refusal for a folder; names the model files in it, if there are any.
[[nodiscard]] Error RefuseFolder(const std::filesystem::path& folder);

/// The refusal for a folder with config.json, but without weights under the names that Hugging
/// Face gives them; names what is there instead.
[[nodiscard]] Error RefuseWeightlessFolder(const std::filesystem::path& folder);

}  // namespace bittern::formats
