// SPDX-License-Identifier: Apache-2.0
// "Did you mean temperature?": the known name that is closest to what was typed.
#pragma once

#include <span>
#include <string>

namespace bittern {

/// The name with the fewest edits (insert, delete, replace) to `typed`; empty if even that one
/// needs more than two and more than a third of the letters.
[[nodiscard]] std::string ClosestName(const std::string& typed, std::span<const std::string> names);

}  // namespace bittern
