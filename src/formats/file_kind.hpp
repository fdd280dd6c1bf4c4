// SPDX-License-Identifier: Apache-2.0
// What people hand over instead of a GGUF file: other model formats, archives, and the debris of
// downloads. Recognised by their first bytes, so that the refusal can say what to do about it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.hpp"

namespace bittern::formats {

/// True if the bytes begin like a GGUF file, of any version and byte order.
[[nodiscard]] bool LooksLikeGguf(std::span<const std::byte> bytes) noexcept;

/// The refusal for bytes that are no GGUF file: kUnsupported for other formats, kCorruptFile for
/// what is no model at all. Looks at the first kilobyte.
[[nodiscard]] Error RefuseFile(std::span<const std::byte> bytes);

/// The refusal for a folder; names the model files in it, if there are any.
[[nodiscard]] Error RefuseFolder(const std::filesystem::path& folder);

}  // namespace bittern::formats
