// SPDX-License-Identifier: Apache-2.0
// Lists of models and repositories as JSON and as a line each. Pure.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/json/json.hpp"
#include "hub/lists/cached_models.hpp"

namespace bittern::hub {

/// {"cache", "models": [{"name", "bytes", "commit", "path"}]}
[[nodiscard]] Json ModelsJson(const std::filesystem::path& cache,
                              std::span<const CachedModel> models);
[[nodiscard]] std::string ModelsText(std::span<const CachedModel> models);

/// {"models": [{"name", "repo", "file", "bytes", "sha256", "template", "licence", "tried",
/// "note"}], "others": [{"repo", "formats", "licence", "runs"}]} of KnownModels and OtherModels;
/// members that are not known are left out.
[[nodiscard]] Json KnownModelsJson();
[[nodiscard]] std::string KnownModelsText();

/// {"cache", "bytes", "repos": [{"repo", "bytes", "incomplete_bytes"}]}
[[nodiscard]] Json UsageJson(const std::filesystem::path& cache, std::span<const CachedRepo> repos);
/// The last line is the sum.
[[nodiscard]] std::string UsageText(const std::filesystem::path& cache,
                                    std::span<const CachedRepo> repos);

}  // namespace bittern::hub
