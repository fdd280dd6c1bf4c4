// SPDX-License-Identifier: Apache-2.0
// Members are checked one by one; the error names the member and the file.
#include "runtime/chat/saved_chat.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/files/atomic_file.hpp"
#include "base/files/mapped_file.hpp"
#include "base/text/display.hpp"
#include "base/utf8.hpp"

namespace bittern::runtime {
namespace {

constexpr int kSavedVersion = 1;
constexpr std::size_t kMostSavedDepth = 100;
constexpr std::size_t kMostSavedBytes = std::size_t{256} << 20;

/// The error of a member; `found` is shown up to 60 characters.
tl::unexpected<Error> WrongMember(std::string_view where, std::string_view expected,
                                  const Json& found) {
  const std::string text = found.Dump();
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", where, expected, Printable(text, 60)));
}

/// The member, or null where it is missing.
const Json& MemberOf(const Json& object, const char* key) {
  static const Json kNull;
  const Json* found = object.Find(key);
  return found == nullptr ? kNull : *found;
}

/// A text; a missing one is an error where it is `needed`, else empty.
Result<std::string> TextOf(const Json& object, const char* key, const std::string& where,
                           bool needed) {
  const Json& value = MemberOf(object, key);
  if (value.is_null() && !needed) return std::string();
  if (!value.is_string()) return WrongMember(where + key, "a text", value);
  return value.text();
}

/// The token ids of a reply; none is fine, since hand-written files have only texts.
Result<std::vector<TokenId>> IdsOf(const Json& message, const std::string& where) {
  const Json& list = MemberOf(message, "ids");
  std::vector<TokenId> ids;
  if (list.is_null()) return ids;
  if (!list.is_array()) return WrongMember(where + "ids", "a list of token ids", list);
  for (const Json& id : list.elements()) {
    constexpr auto kMost = std::uint64_t{std::numeric_limits<TokenId>::max()};
    const auto number = id.AsUint();
    if (!number || *number > kMost) return WrongMember(where + "ids", "token ids", id);
    ids.push_back(static_cast<TokenId>(*number));
  }
  return ids;
}

/// A message of the assistant. A finish_reason that is missing or unknown becomes end_of_text.
Result<GenerateResult> ReplyOf(const Json& message, const std::string& where) {
  GenerateResult reply{.ids = {},
                       .text = BITTERN_TRY(TextOf(message, "content", where, true)),
                       .finish = FinishReason::kEndOfText};
  reply.ids = BITTERN_TRY(IdsOf(message, where));
  const std::string finish = BITTERN_TRY(TextOf(message, "finish_reason", where, false));
  for (int i = 0; i <= static_cast<int>(FinishReason::kLoop); ++i) {
    const auto reason = static_cast<FinishReason>(i);
    if (FinishReasonName(reason) == finish) reply.finish = reason;
  }
  const Json& seed = MemberOf(message, "seed");
  if (const auto number = seed.AsUint()) reply.seed = static_cast<std::uint32_t>(*number);
  return reply;
}

/// The system turn, if any, then user and assistant in turn; a last user without a reply is left
/// out, as after a reply that failed.
Result<void> ReadMessages(const Json& messages, SavedChat* chat) {
  if (!messages.is_array()) return WrongMember("messages", "a list", messages);
  std::optional<std::string> user;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    const std::string where = fmt::format("messages[{}].", i);
    if (!message.is_object()) {
      return WrongMember(fmt::format("messages[{}]", i), "an object", message);
    }
    const std::string role = BITTERN_TRY(TextOf(message, "role", where, true));
    if (role == "system" && i == 0) {
      chat->system = BITTERN_TRY(TextOf(message, "content", where, true));
    } else if (role == "user" && !user) {
      user = BITTERN_TRY(TextOf(message, "content", where, true));
    } else if (role == "assistant" && user) {
      auto reply = BITTERN_TRY(ReplyOf(message, where));
      chat->turns.push_back({*std::move(user), std::move(reply)});
      user.reset();
    } else {
      const char* expected = user     ? "\"assistant\""
                             : i == 0 ? "\"system\" or \"user\""
                                      : "\"user\"";
      return WrongMember(where + "role", expected, Json(role));
    }
  }
  return {};
}

}  // namespace

std::string WriteSavedChat(const SavedChat& chat) {
  Json messages = Json::MakeArray();
  if (!chat.system.empty()) messages.push_back({{"role", "system"}, {"content", chat.system}});
  for (const ChatTurn& turn : chat.turns) {
    messages.push_back({{"role", "user"}, {"content", turn.user}});
    messages.push_back({{"role", "assistant"},
                        {"content", turn.reply.text},
                        {"ids", turn.reply.ids},
                        {"finish_reason", FinishReasonName(turn.reply.finish)},
                        {"seed", turn.reply.seed}});
  }
  // One line a message. Indented, each id of a reply would take a line of its own.
  std::string text = fmt::format(
      "{{\"bittern_chat\": {},\n \"model\": {},\n \"settings\": {},\n "
      "\"messages\": [",
      kSavedVersion, Json(chat.model).Dump(), chat.settings.Dump());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    text += fmt::format("{}\n  {}", i == 0 ? "" : ",", messages[i].Dump());
  }
  return text + "\n ]}\n";
}

Result<SavedChat> ReadSavedChat(std::string_view text) {
  const auto parsed =
      Json::Parse(text, {.max_bytes = kMostSavedBytes, .max_depth = kMostSavedDepth});
  if (!parsed) {
    return Fail(ErrorCode::kInvalidArgument,
                "a conversation that /save has written expected: " + parsed.error().message);
  }
  const Json& json = *parsed;
  if (!json.is_object()) return WrongMember("the file", "an object", json);
  const Json& version = MemberOf(json, "bittern_chat");
  if (version != Json(kSavedVersion)) {
    return WrongMember("bittern_chat", fmt::format("version {}", kSavedVersion), version);
  }
  SavedChat chat;
  chat.model = BITTERN_TRY(TextOf(json, "model", "", false));
  const Json& settings = MemberOf(json, "settings");
  if (!settings.is_null()) {
    if (!settings.is_object()) return WrongMember("settings", "an object", settings);
    chat.settings = settings;
  }
  BITTERN_TRY(ReadMessages(MemberOf(json, "messages"), &chat));
  return chat;
}

Result<SavedChat> ReadSavedChatFile(const std::string& path) {
  const auto file = BITTERN_TRY(MappedFile::Open(path));
  const auto bytes = file.bytes();
  if (bytes.size() > kMostSavedBytes) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} bytes are too many for a conversation", path, bytes.size()));
  }
  auto chat = ReadSavedChat({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!chat.has_value()) return tl::unexpected(Within(path, std::move(chat).error()));
  return chat;
}

Result<void> WriteSavedChatFile(const std::string& path, const SavedChat& chat) {
  auto file = BITTERN_TRY(AtomicFile::Create(path));
  BITTERN_TRY(file.Write(WriteSavedChat(chat)));
  return file.Commit();
}

}  // namespace bittern::runtime
