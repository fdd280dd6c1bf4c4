// SPDX-License-Identifier: Apache-2.0
// Reads the environment for the library, which reads none itself. Called by the main thread.
#pragma once

#include <filesystem>
#include <string>

#include "cli/shared/cli11.hpp"
#include "runtime/tune/layout_choice.hpp"

namespace bittern::cli {

/// $BITTERN_ISA; empty if unset.
[[nodiscard]] std::string IsaOfUser();

/// $XDG_CACHE_HOME/bittern/layouts.json, else ~/.cache/bittern/layouts.json, else a cache that
/// keeps nothing.
[[nodiscard]] runtime::LayoutCache LayoutCacheOfUser();

/// $BITTERN_HISTORY, else $XDG_STATE_HOME/bittern/chat_history, else
/// ~/.local/state/bittern/chat_history; empty where the variable is, or without a home.
[[nodiscard]] std::filesystem::path HistoryOfUser();

/// "notice: $LLAMA_ARG_CTX_SIZE is not read; use -c\n" for all variables that begin with LLAMA_ARG_
/// and have a value, with the flags of `command` that do what they do in llama.cpp; "" without one.
[[nodiscard]] std::string UnreadVariablesNotice(const CLI::App& command);

}  // namespace bittern::cli
