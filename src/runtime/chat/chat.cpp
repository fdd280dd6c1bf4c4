// SPDX-License-Identifier: Apache-2.0
// The text of a turn is tokenised in one piece, as the models' own tools do; between turns there
// is always a special token, so that cutting there changes no token. The conversation is kept as
// ids by turns: what the session holds of it already is not run again, and once turns were
// forgotten the others are, which gives the bits that a conversation without them would.
#include "runtime/chat/chat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"

namespace bittern::runtime {
namespace {

/// Where a text is cut into pieces to be encoded apart. No valid UTF-8 has these bytes.
constexpr std::string_view kCut = "\xff\xfe";

/// `text` with a cut inside each special token that is written in it, so that it stays text.
std::string WithoutSpecialTokens(std::string_view text, const tokenizer::Tokenizer& tokenizer) {
  const std::string valid = ReplaceInvalidUtf8(text);
  std::string result;
  std::size_t done = 0;
  for (const TokenId id : tokenizer.Encode(valid, {.add_bos = false, .parse_special = true})) {
    if (!tokenizer.IsControl(id)) continue;
    const std::string_view name = tokenizer.TokenBytes(id, /*render_special=*/true);
    const std::size_t found = name.empty() ? std::string::npos : valid.find(name, done);
    if (found == std::string::npos) continue;
    result += valid.substr(done, found + 1 - done);
    result += kCut;
    done = found + 1;
  }
  return result + valid.substr(done);
}

std::vector<TokenId> EncodePieces(std::string_view text, bool add_bos,
                                  const tokenizer::Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  for (bool first = true; first || !text.empty(); first = false) {
    const std::size_t end = std::min(text.find(kCut), text.size());
    const auto piece =
        tokenizer.Encode(text.substr(0, end), {.add_bos = add_bos && first, .parse_special = true});
    ids.insert(ids.end(), piece.begin(), piece.end());
    text.remove_prefix(std::min(end + kCut.size(), text.size()));
  }
  return ids;
}

void Append(const std::vector<TokenId>& more, std::vector<TokenId>* ids) {
  ids->insert(ids->end(), more.begin(), more.end());
}

std::size_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

Chat::Chat(Session session, ChatTemplate chat_template, std::string system, ContextPolicy policy)
    : session_(std::move(session)), template_(chat_template), policy_(policy) {
  const tokenizer::Tokenizer& tokenizer = session_.model().tokenizer;
  head_ = tokenizer.Encode(system.empty() ? "" : template_.System(system), {.parse_special = true});
  end_of_reply_ =
      tokenizer.Encode(template_.EndOfReply(), {.add_bos = false, .parse_special = true});
}

Chat::Ids Chat::EncodeTurn(std::string_view user) const {
  const tokenizer::Tokenizer& tokenizer = session_.model().tokenizer;
  const std::string turn = template_.User(WithoutSpecialTokens(user, tokenizer));
  // A tokenizer may treat the beginning of a text in a way of its own; a later turn is none.
  if (turns_.empty() && head_.size() <= 1) return EncodePieces(turn, false, tokenizer);
  Ids ids = EncodePieces(std::string(template_.EndOfReply()) + turn, false, tokenizer);
  ids.erase(ids.begin(),
            ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), end_of_reply_.size())));
  return ids;
}

Chat::Ids Chat::Conversation(std::size_t drop, const Ids& next) const {
  Ids ids = head_;
  for (std::size_t i = drop; i < turns_.size(); ++i) {
    Append(turns_[i], &ids);
    Append(end_of_reply_, &ids);
  }
  Append(next, &ids);
  return ids;
}

std::size_t Chat::TurnsToDrop(const Ids& next, int reply_tokens) const {
  const auto context = static_cast<std::size_t>(session_.context_length());
  const auto wanted =
      reply_tokens < 0 ? context : static_cast<std::size_t>(std::max(reply_tokens, 1));
  const std::size_t reply = std::max<std::size_t>(1, std::min(wanted, context / 4));
  if (Conversation(0, next).size() + reply <= context) return 0;
  // Many at once, so that the others are not read anew with every turn.
  for (std::size_t drop = 1; drop < turns_.size(); ++drop) {
    if (Conversation(drop, next).size() + reply <= context - context / 4) return drop;
  }
  return turns_.size();
}

Result<GenerateResult> Chat::Say(std::string_view user, const GenerateOptions& options,
                                 const std::function<bool(std::string_view)>& on_text) {
  const Ids next = EncodeTurn(user);
  const std::size_t drop =
      policy_ == ContextPolicy::kDrop ? TurnsToDrop(next, options.max_tokens) : 0;
  const Ids ids = Conversation(drop, next);
  const auto context = static_cast<std::size_t>(session_.context_length());
  if (ids.size() >= context) {  // one token at least is for the reply
    const std::size_t others = ids.size() - next.size();
    return Fail(ErrorCode::kContextFull,
                fmt::format("this turn is {} tokens long and the context has room for {} of {}",
                            next.size(), context - std::min(others, context), context));
  }
  const std::size_t before = CommonPrefix(session_.tokens(), ids);
  session_.Truncate(static_cast<int>(before));
  auto result = session_.PrefillFor(std::span(ids).subspan(before), options).and_then([&] {
    return session_.Generate(options, on_text);
  });
  if (!result.has_value()) {
    session_.Truncate(static_cast<int>(before));
    return result;
  }
  turns_.erase(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(drop));
  dropped_ += static_cast<int>(drop);
  turns_.push_back(next);
  Append(result->ids, &turns_.back());
  return result;
}

void Chat::Clear() noexcept {
  session_.Truncate(0);
  turns_.clear();
  dropped_ = 0;
}

}  // namespace bittern::runtime
