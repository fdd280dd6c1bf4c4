// SPDX-License-Identifier: Apache-2.0
// A chat with its settings: what a front end of one conversation needs beside reading and showing
// lines. Other tries of a reply are other draws, a constraint may hold for one reply, and the whole
// goes into a saved chat and comes from one.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/constraint.hpp"
#include "runtime/chat/chat.hpp"
#include "runtime/chat/saved_chat.hpp"

namespace bittern::request {

/// How a reply is followed while it is made.
struct ReplyListener {
  std::function<bool(std::string_view)> on_text;  ///< false ends the reply
  std::function<void(double)> on_prompt = {};     ///< share of the prompt that is read
  const std::atomic<bool>* cancel = nullptr;      ///< set by any thread
};

/// Not thread-safe.
class Conversation {
 public:
  /// Takes the settings of a saved chat.
  using SettingReader =
      std::function<Result<void>(const Json& settings, runtime::GenerateOptions*)>;

  Conversation(runtime::Chat chat, runtime::GenerateOptions options)
      : chat_(std::move(chat)), options_(std::move(options)) {}

  /// Errors as runtime::Chat::Say.
  [[nodiscard]] Result<runtime::GenerateResult> Say(std::string_view user,
                                                    const ReplyListener& listener);
  /// In place of the last turn. With a fixed seed each further try of a turn takes the next seed.
  /// Errors as runtime::Chat::Replace.
  [[nodiscard]] Result<runtime::GenerateResult> Replace(std::string_view user,
                                                        const ReplyListener& listener);
  /// Holds for the next reply, in place of that of the settings. Errors as
  /// grammar::CheckConstraint.
  [[nodiscard]] Result<void> ConstrainNext(grammar::Constraint constraint);
  /// The next reply is free again.
  void ConstrainNothing() noexcept { next_constraint_.reset(); }

  /// As those of runtime::Chat.
  [[nodiscard]] Result<runtime::ChatTurn> Undo();
  [[nodiscard]] Result<void> SetSystem(std::string system) {
    return chat_.SetSystem(std::move(system));
  }
  void Clear() noexcept;

  /// Turns, system prompt and settings, as a file has them.
  [[nodiscard]] runtime::SavedChat Saved() const;
  /// The inverse; `read` takes the settings. Returns how many replies have the tokens of another
  /// vocabulary. Errors, with nothing changed: those of `read` and of runtime::Chat::Restore.
  [[nodiscard]] Result<int> Take(runtime::SavedChat saved, const SettingReader& read);

  /// Ids of a text, without BOS; those of the last reply for an empty text. Error kInvalidArgument:
  /// nothing has been said.
  [[nodiscard]] Result<std::vector<runtime::TokenId>> TokensOf(std::string_view text) const;
  /// Error kInvalidArgument: nothing has been said.
  [[nodiscard]] Result<std::string> LastMessage() const;
  /// "general.name" of the model's file, else its path.
  [[nodiscard]] std::string NameOfModel() const;

  [[nodiscard]] const runtime::Chat& chat() const noexcept { return chat_; }
  [[nodiscard]] const runtime::LoadedModel& model() const noexcept {
    return chat_.session().model();
  }
  [[nodiscard]] const runtime::GenerateOptions& options() const noexcept { return options_; }
  [[nodiscard]] runtime::GenerateOptions* mutable_options() noexcept { return &options_; }

 private:
  runtime::GenerateOptions OptionsOfReply(const ReplyListener& listener);

  runtime::Chat chat_;
  runtime::GenerateOptions options_;
  std::optional<grammar::Constraint> next_constraint_ = {};
  std::uint32_t retries_ = 0;  // of the last turn
};

}  // namespace bittern::request
