// SPDX-License-Identifier: Apache-2.0
// A conversation in turns: what was said stays in the KV cache, so each turn runs only its own
// tokens, until old turns have to make room for new ones. What the model reads is what every other
// door gives it for these messages (chat_prompt.hpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {

/// The action when the conversation has filled the context.
enum class ContextPolicy {
  kDrop,  ///< the oldest turns are forgotten, a half of the context at a time; the system turn
          ///< stays
  kStop,  ///< the turn is refused
};

struct ChatOptions {
  std::string system = {};  ///< what the system turn says; empty: there is none
  ContextPolicy policy = ContextPolicy::kStop;
  /// An object: further names for the template (chat_template_kwargs); null: none.
  Json template_names = {};
};

/// A user's message, and the reply.
struct ChatTurn {
  std::string user;
  GenerateResult reply;  ///< without logprobs
};

/// The cost of the last turn.
struct TurnCost {
  int kept_tokens = 0;  ///< that were still in the cache from earlier turns
  int read_tokens = 0;  ///< of the prompt, run for this turn
  double read_s = 0;
  int written_tokens = 0;
  double written_s = 0;
};

/// Not thread-safe; owns its session.
class Chat {
 public:
  /// Tries the template on a first turn. Errors: those of ChatPrompt::Apply (a template that
  /// refuses a system turn, for one).
  [[nodiscard]] static Result<Chat> Create(Session session, ChatPrompt prompt, ChatOptions options);

  /// Says `user` and generates the reply. Special tokens written in `user` are text like any other.
  /// A reply that was cut (length, stop string, Ctrl-C) is ended for the model as if it had ended
  /// it. Errors leave the conversation as it was: kContextFull (the turn does not fit: Clear() or a
  /// longer context helps; with kDrop only where it does not fit alone), kCancelled (while
  /// reading), those of Session::Generate and of ChatPrompt::Apply.
  [[nodiscard]] Result<GenerateResult> Say(std::string_view user, const GenerateOptions& options,
                                           const std::function<bool(std::string_view)>& on_text);

  /// As Say, in place of the last turn; its prompt is read anew only where `user` differs. Errors
  /// as Say, and kInvalidArgument: there is no turn.
  [[nodiscard]] Result<GenerateResult> Replace(
      std::string_view user, const GenerateOptions& options,
      const std::function<bool(std::string_view)>& on_text);

  /// Forgets the last turn, which is returned. Error kInvalidArgument: there is none.
  [[nodiscard]] Result<ChatTurn> Undo();
  /// Another system turn (empty: none); what was said stays. Errors, with nothing changed: those of
  /// ChatPrompt::Apply.
  [[nodiscard]] Result<void> SetSystem(std::string system);
  /// Puts another conversation in place of this one. Texts are what counts; ids that are missing,
  /// or do not say their text with this vocabulary, are made anew. Returns how many did not.
  /// Errors, with nothing changed: those of ChatPrompt::Apply.
  [[nodiscard]] Result<int> Restore(std::string system, std::vector<ChatTurn> turns);

  /// Forgets everything said; the system turn stays.
  void Clear() noexcept;

  [[nodiscard]] const Session& session() const noexcept { return session_; }
  /// Turns forgotten since the beginning or Clear().
  [[nodiscard]] int dropped_turns() const noexcept { return dropped_; }
  /// The turns that are not forgotten, oldest first.
  [[nodiscard]] std::span<const ChatTurn> turns() const noexcept { return turns_; }
  [[nodiscard]] const std::string& system() const noexcept { return options_.system; }
  [[nodiscard]] const TurnCost& last_cost() const noexcept { return cost_; }
  /// True if the template has begun the reply to `user` with <think>.
  [[nodiscard]] bool BeginsThinking(std::string_view user) const;

 private:
  Chat(Session session, ChatPrompt prompt, ChatOptions options)
      : session_(std::move(session)), prompt_(std::move(prompt)), options_(std::move(options)) {}

  /// The request for the template: turns without the first `drop`, then `user`, if any.
  [[nodiscard]] Json RequestFor(std::size_t drop, std::optional<std::string_view> user) const;
  /// The conversation without its first `drop` turns, up to the reply to `user`.
  [[nodiscard]] Result<RenderedPrompt> Conversation(std::size_t drop, std::string_view user) const;
  /// Tokens of the turns that are there; 0 where the template does not write them alone.
  [[nodiscard]] std::size_t TokensOfTurns() const;
  /// How many turns to forget so that `user` and a reply fit.
  [[nodiscard]] Result<std::size_t> TurnsToDrop(std::string_view user, int reply_tokens) const;

  Session session_;
  ChatPrompt prompt_;
  ChatOptions options_;
  std::vector<ChatTurn> turns_ = {};
  TurnCost cost_ = {};
  int dropped_ = 0;
};

}  // namespace bittern::runtime
