// SPDX-License-Identifier: Apache-2.0
// The models below a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/core/models.hpp"

namespace bittern::serve {

/// GGUF files and folders with config.json, four levels deep and 4096 at most, named by their
/// places below `folder`, sorted. `more_bytes`: what each takes beside its file. Links
/// that lead out of the folder are not there. Error kInvalidArgument: the folder cannot be read.
[[nodiscard]] Result<std::vector<ModelFile>> FindModels(const std::string& folder,
                                                        std::uint64_t more_bytes);

}  // namespace bittern::serve
