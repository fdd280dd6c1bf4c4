// SPDX-License-Identifier: Apache-2.0
// A conversation in turns: what was said stays in the KV cache, so each turn runs only its own
// tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat_template.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {

/// Not thread-safe; owns its session.
class Chat {
 public:
  /// `system` is what the system turn says; empty: there is none.
  Chat(Session session, ChatTemplate chat_template, std::string system);

  /// Says `user` and generates the reply. A reply that was cut (length, stop string, Ctrl-C) is
  /// ended for the model as if it had ended it. Errors leave the conversation as it was:
  /// kContextFull (the turn does not fit: Clear() or a longer context helps), kCancelled (while
  /// reading), and those of Session::Generate.
  [[nodiscard]] Result<GenerateResult> Say(std::string_view user, const GenerateOptions& options,
                                           const std::function<bool(std::string_view)>& on_text);

  /// Forgets everything said; the system turn stays.
  void Clear() noexcept;

  [[nodiscard]] const Session& session() const noexcept { return session_; }
  [[nodiscard]] const ChatTemplate& chat_template() const noexcept { return template_; }

 private:
  /// Tokens to run before the next reply.
  [[nodiscard]] std::vector<TokenId> NextTokens(std::string_view user) const;

  Session session_;
  ChatTemplate template_;
  std::string system_;
  bool begun_ = false;
  std::vector<TokenId> unread_;  ///< the end of the last reply that is not in the cache
};

}  // namespace bittern::runtime
