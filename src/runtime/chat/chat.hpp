// SPDX-License-Identifier: Apache-2.0
// A conversation in turns: what was said stays in the KV cache, so each turn runs only its own
// tokens, until old turns have to make room for new ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat/chat_template.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {

/// What happens when the conversation has filled the context.
enum class ContextPolicy {
  kDrop,  ///< the oldest turns are forgotten, a half of the context at a time; the system turn
          ///< stays
  kStop,  ///< the turn is refused
};

/// Not thread-safe; owns its session.
class Chat {
 public:
  /// `system` is what the system turn says; empty: there is none.
  Chat(Session session, ChatTemplate chat_template, std::string system,
       ContextPolicy policy = ContextPolicy::kStop);

  /// Says `user` and generates the reply. Special tokens written in `user` are text like any other.
  /// A reply that was cut (length, stop string, Ctrl-C) is ended for the model as if it had ended
  /// it. Errors leave the conversation as it was: kContextFull (the turn does not fit: Clear() or a
  /// longer context helps; with kDrop only where it does not fit alone), kCancelled (while
  /// reading), and those of Session::Generate.
  [[nodiscard]] Result<GenerateResult> Say(std::string_view user, const GenerateOptions& options,
                                           const std::function<bool(std::string_view)>& on_text);

  /// Forgets everything said; the system turn stays.
  void Clear() noexcept;

  [[nodiscard]] const Session& session() const noexcept { return session_; }
  [[nodiscard]] const ChatTemplate& chat_template() const noexcept { return template_; }
  /// Turns forgotten since the beginning or Clear().
  [[nodiscard]] int dropped_turns() const noexcept { return dropped_; }

 private:
  using Ids = std::vector<TokenId>;

  /// The ids of what follows: a user's turn and the beginning of the reply.
  [[nodiscard]] Ids EncodeTurn(std::string_view user) const;
  /// The whole conversation without its first `drop` turns, and `next`.
  [[nodiscard]] Ids Conversation(std::size_t drop, const Ids& next) const;
  /// How many turns to forget so that `next` and a reply fit; all are not enough where it is more
  /// than there are.
  [[nodiscard]] std::size_t TurnsToDrop(const Ids& next, int reply_tokens) const;

  Session session_;
  ChatTemplate template_;
  ContextPolicy policy_;
  Ids head_;                ///< BOS and the system turn
  Ids end_of_reply_;        ///< between turns
  std::vector<Ids> turns_;  ///< each what the user said, and the reply
  int dropped_ = 0;
};

}  // namespace bittern::runtime
