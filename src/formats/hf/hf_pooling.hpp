// SPDX-License-Identifier: Apache-2.0
// Files of sentence-transformers beside a model: how the vectors of tokens become one of the text.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// Adds <architecture>.pooling_type where the folder has a modules.json with a Pooling module.
/// Errors: kUnsupported (a module or a pooling that is not computed here, by name), kCorruptFile,
/// kNotFound (the folder of the module).
[[nodiscard]] Result<void> ReadHfPooling(const std::filesystem::path& folder,
                                         std::string_view architecture, Metadata* metadata);

}  // namespace bittern::formats
