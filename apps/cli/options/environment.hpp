// SPDX-License-Identifier: Apache-2.0
// Reads the environment for the library, which reads none itself. Called by the main thread.
#pragma once

#include <string>

#include "runtime/tune/layout_choice.hpp"

namespace bittern::cli {

/// $BITTERN_ISA; empty if unset.
[[nodiscard]] std::string IsaOfUser();

/// $XDG_CACHE_HOME/bittern/layouts.json, else ~/.cache/bittern/layouts.json, else a cache that
/// keeps nothing.
[[nodiscard]] runtime::LayoutCache LayoutCacheOfUser();

}  // namespace bittern::cli
