// SPDX-License-Identifier: Apache-2.0
// Keeps what is read inside of a folder, whatever symbolic links say. Any thread.
#pragma once

#include <filesystem>
#include <optional>

namespace bittern {

/// `place` after all symbolic links. Nothing if there is no such thing, or it does not lie below
/// `root`, which must be without links itself.
[[nodiscard]] std::optional<std::filesystem::path> ResolvedBelow(
    const std::filesystem::path& root, const std::filesystem::path& place);

}  // namespace bittern
