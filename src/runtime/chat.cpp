// SPDX-License-Identifier: Apache-2.0
// The text of a turn is tokenised in one piece, as the models' own tools do; between turns there
// is always a special token, so that cutting there changes no token.
#include "runtime/chat.hpp"

#include <fmt/format.h>

#include <utility>

namespace bittern::runtime {

Chat::Chat(Session session, ChatTemplate chat_template, std::string system)
    : session_(std::move(session)), template_(chat_template), system_(std::move(system)) {}

std::vector<TokenId> Chat::NextTokens(std::string_view user) const {
  const tokenizer::Tokenizer& tokenizer = session_.model().tokenizer;
  std::string text;
  std::vector<tokenizer::ByteRange> own;  // of the form; what the user typed stays text
  std::size_t begin = 0;
  const auto add = [&](std::string_view role, const std::string& turn, std::size_t empty_size) {
    const std::size_t content = text.size() + template_.HeaderSize(role);
    own.push_back({begin, content});
    begin = content + turn.size() - empty_size;
    text += turn;
  };
  if (begun_) {
    text = template_.EndOfReply();
  } else if (!system_.empty()) {
    add("system", template_.System(system_), template_.System("").size());
  }
  add("user", template_.User(user), template_.User("").size());
  own.push_back({begin, text.size()});
  std::vector<TokenId> ids = begun_ ? unread_ : std::vector<TokenId>();
  const auto turn = tokenizer.EncodeTrusted(text, own, /*add_bos=*/!begun_);
  ids.insert(ids.end(), turn.begin(), turn.end());
  return ids;
}

Result<GenerateResult> Chat::Say(std::string_view user, const GenerateOptions& options,
                                 const std::function<bool(std::string_view)>& on_text) {
  const std::size_t before = session_.tokens().size();
  const auto ids = NextTokens(user);
  const std::size_t room = static_cast<std::size_t>(session_.context_length()) - before;
  if (ids.size() >= room) {  // one token at least is for the reply
    return Fail(ErrorCode::kContextFull,
                fmt::format("this turn is {} tokens long and the context has room for {} of {}",
                            ids.size(), room, session_.context_length()));
  }
  auto result = session_.PrefillFor(ids, options).and_then([&] {
    return session_.Generate(options, on_text);
  });
  if (!result.has_value()) {
    session_.Truncate(static_cast<int>(before));
    return result;
  }
  begun_ = true;
  // The session runs a token only when another one is wanted after it.
  const std::size_t read = session_.tokens().size() - before - ids.size();
  unread_.assign(result->ids.begin() + static_cast<std::ptrdiff_t>(read), result->ids.end());
  return result;
}

void Chat::Clear() noexcept {
  session_.Truncate(0);
  unread_.clear();
  begun_ = false;
}

}  // namespace bittern::runtime
