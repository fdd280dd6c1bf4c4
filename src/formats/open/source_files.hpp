// SPDX-License-Identifier: Apache-2.0
// Which files on the disk make up a model, so that no output replaces one of them.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::formats {

/// Error kInvalidArgument where `out` is there and is one of the model's own files: its GGUF file
/// or a part of it; of a Hugging Face model any file of its folder but GGUF files. Links are
/// followed.
[[nodiscard]] Result<void> CheckNotSource(const Checkpoint& source,
                                          const std::filesystem::path& out);

}  // namespace bittern::formats
