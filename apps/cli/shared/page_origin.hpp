// SPDX-License-Identifier: Apache-2.0
// How the page of --html was made, so that a picture of it proves something. One thread.
#pragma once

#include <span>
#include <string>

#include "base/json/json.hpp"

namespace bittern::cli {

/// The commit that this program was built from; empty where that is not known.
extern const char* const kCommit;

/// Notes the words that the program was started with.
void NoteCommand(std::span<const std::string> words);

/// {"program", "commit", "date", "command"}: texts. Of a path from the root only the last part is
/// named, since pages are shown to others.
[[nodiscard]] Json PageOrigin();

}  // namespace bittern::cli
