// SPDX-License-Identifier: Apache-2.0
// A conversation in turns: what was said stays in the KV cache, so each turn runs only its own
// tokens, until old turns have to make room for new ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/json.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {

/// What happens when the conversation has filled the context.
enum class ContextPolicy {
  kDrop,  ///< the oldest turns are forgotten, a half of the context at a time; the system turn
          ///< stays
  kStop,  ///< the turn is refused
};

struct ChatOptions {
  std::string system = {};  ///< what the system turn says; empty: there is none
  ContextPolicy policy = ContextPolicy::kStop;
  /// An object: further names for the template (chat_template_kwargs); null: none.
  formats::Json template_names = {};
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

  /// Forgets everything said; the system turn stays.
  void Clear() noexcept;

  [[nodiscard]] const Session& session() const noexcept { return session_; }
  /// Turns forgotten since the beginning or Clear().
  [[nodiscard]] int dropped_turns() const noexcept { return dropped_; }

 private:
  using Ids = std::vector<TokenId>;

  /// What a user said, and the reply.
  struct Turn {
    std::string user;
    GenerateResult reply;
  };

  /// The conversation so far as the model has read and written it.
  struct Transcript {
    std::string text = {};
    Ids ids = {};
  };

  Chat(Session session, ChatPrompt prompt, ChatOptions options)
      : session_(std::move(session)), prompt_(std::move(prompt)), options_(std::move(options)) {}

  /// The request for the template: turns [drop, end), then `user`.
  [[nodiscard]] formats::Json RequestFor(std::size_t drop, std::size_t end,
                                         std::string_view user) const;
  /// `before`, then what the template writes after it for turns [drop, end) and `user`.
  [[nodiscard]] Result<Transcript> Render(const Transcript& before, std::size_t drop,
                                          std::size_t end, std::string_view user) const;
  /// The conversation without its first `drop` turns, up to the reply to `user`.
  [[nodiscard]] Result<Transcript> Conversation(std::size_t drop, std::string_view user) const;
  /// How many turns to forget so that `user` and a reply fit.
  [[nodiscard]] Result<std::size_t> TurnsToDrop(std::string_view user, int reply_tokens) const;

  Session session_;
  ChatPrompt prompt_;
  ChatOptions options_;
  std::vector<Turn> turns_ = {};
  Transcript said_ = {};  ///< of all turns, to the end of the last reply
  int dropped_ = 0;
};

}  // namespace bittern::runtime
