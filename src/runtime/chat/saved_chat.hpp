// SPDX-License-Identifier: Apache-2.0
// A conversation as a file (docs/cli.md): JSON with the messages as other programs know them, the
// token ids of the replies beside their texts, and the settings. It says all that the conversation
// needs to go on with the same bytes on another machine. Files are hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "runtime/chat/chat.hpp"

namespace bittern::runtime {

struct SavedChat {
  std::string model = {};  ///< its name, for messages; not checked
  std::string system = {};
  std::vector<ChatTurn> turns = {};  ///< without ids where the file has none
  Json settings = Json::MakeObject();
};

/// The text of a file. REQUIRES: texts are UTF-8.
[[nodiscard]] std::string WriteSavedChat(const SavedChat& chat);

/// Errors kInvalidArgument: no JSON, another form (which member, what was expected, what was
/// found), roles out of turn, a version that is not known.
[[nodiscard]] Result<SavedChat> ReadSavedChat(std::string_view text);

/// The same of a file. Errors, which name it: also kNotFound, kIo.
[[nodiscard]] Result<SavedChat> ReadSavedChatFile(const std::string& path);
/// Replaces the file, if there is one, as a whole. Error kIo.
[[nodiscard]] Result<void> WriteSavedChatFile(const std::string& path, const SavedChat& chat);

}  // namespace bittern::runtime
