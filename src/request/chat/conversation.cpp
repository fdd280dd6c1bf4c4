// SPDX-License-Identifier: Apache-2.0
#include "request/chat/conversation.hpp"

#include <utility>

#include "request/settings.hpp"

namespace bittern::request {

/// Uses the constraint of one reply up. A drawn seed (-1) needs no step: each draw is another one.
runtime::GenerateOptions Conversation::OptionsOfReply(const ReplyListener& listener) {
  runtime::GenerateOptions options = options_;
  if (auto constraint = std::exchange(next_constraint_, {})) options.constraint = constraint;
  if (static_cast<std::int32_t>(options.sampler.seed) != -1) options.sampler.seed += retries_;
  options.on_prompt = listener.on_prompt;
  options.cancel = listener.cancel;
  return options;
}

Result<runtime::GenerateResult> Conversation::Say(std::string_view user,
                                                  const ReplyListener& listener) {
  retries_ = 0;
  return chat_.Say(user, OptionsOfReply(listener), listener.on_text);
}

Result<runtime::GenerateResult> Conversation::Replace(std::string_view user,
                                                      const ReplyListener& listener) {
  ++retries_;
  return chat_.Replace(user, OptionsOfReply(listener), listener.on_text);
}

Result<void> Conversation::ConstrainNext(grammar::Constraint constraint) {
  BITTERN_TRY(grammar::CheckConstraint(constraint));
  next_constraint_ = std::move(constraint);
  return {};
}

Result<runtime::ChatTurn> Conversation::Undo() {
  auto turn = BITTERN_TRY(chat_.Undo());
  retries_ = 0;
  return turn;
}

void Conversation::Clear() noexcept {
  chat_.Clear();
  retries_ = 0;
}

/// A constraint for the next reply only is not saved.
runtime::SavedChat Conversation::Saved() const {
  return {.model = NameOfModel(),
          .system = chat_.system(),
          .turns = {chat_.turns().begin(), chat_.turns().end()},
          .settings = SettingsOf(options_)};
}

/// The settings are read into a copy, and kept only after the turns have been restored.
Result<int> Conversation::Take(runtime::SavedChat saved, const SettingReader& read) {
  runtime::GenerateOptions options = options_;
  BITTERN_TRY(read(saved.settings, &options));
  const int foreign = BITTERN_TRY(chat_.Restore(std::move(saved.system), std::move(saved.turns)));
  options_ = std::move(options);
  retries_ = 0;
  return foreign;
}

Result<std::vector<runtime::TokenId>> Conversation::TokensOf(std::string_view text) const {
  if (!text.empty()) return model().tokenizer.Encode(text, {.add_bos = false});
  BITTERN_TRY(LastMessage());
  return chat_.turns().back().reply.ids;
}

Result<std::string> Conversation::LastMessage() const {
  if (!chat_.turns().empty()) return chat_.turns().back().user;
  return Fail(ErrorCode::kInvalidArgument, "nothing has been said yet");
}

/// A name of the wrong type counts as none.
std::string Conversation::NameOfModel() const {
  const auto& checkpoint = model().model.checkpoint();
  const auto name = checkpoint.metadata().GetString("general.name");
  return std::string(name.has_value() ? name->value_or(checkpoint.path())
                                      : std::string_view(checkpoint.path()));
}

}  // namespace bittern::request
