// SPDX-License-Identifier: Apache-2.0
// The template writes the whole conversation for each turn, and ChatPrompt makes tokens of it as
// for any door; the session keeps what these have in common with what it holds and runs the rest.
// That is the new turn alone for nearly all templates. One that writes earlier turns anew (without
// their thoughts, for example) is followed, and so is the tokenizer's spelling of a reply that was
// sampled in another.
#include "runtime/chat/chat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "runtime/text_stream.hpp"

namespace bittern::runtime {
namespace {

Json TextJson(std::string_view text) { return Json(Json::Value(ReplaceInvalidUtf8(text))); }

Json Message(std::string_view role, std::string_view content) {
  return Json(Json::Value(Json::Object{{"role", TextJson(role)}, {"content", TextJson(content)}}));
}

std::size_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Whether these tokens give a text that begins with `text`: a stop string may have cut it.
bool Says(std::span<const TokenId> ids, std::string_view text,
          const tokenizer::Tokenizer& tokenizer) {
  const auto known = [&](TokenId id) { return id >= 0 && id < tokenizer.vocab_size(); };
  if (!std::ranges::all_of(ids, known)) return false;
  for (const bool special : {false, true}) {
    TextStream stream(tokenizer, special, {}, {});
    for (const TokenId id : ids) stream.Push(id);
    stream.Finish();
    if (stream.text().starts_with(text)) return true;
  }
  return false;
}

}  // namespace

Result<Chat> Chat::Create(Session session, ChatPrompt prompt, ChatOptions options) {
  Chat chat(std::move(session), std::move(prompt), std::move(options));
  BITTERN_TRY(chat.Conversation(0, "x"));
  return chat;
}

Json Chat::RequestFor(std::size_t drop, std::optional<std::string_view> user) const {
  Json::Array messages;
  if (!options_.system.empty()) messages.push_back(Message("system", options_.system));
  for (const ChatTurn& turn : std::span(turns_).subspan(drop)) {
    messages.push_back(Message("user", turn.user));
    messages.push_back(Message("assistant", turn.reply.text));
  }
  if (user) messages.push_back(Message("user", *user));
  Json::Object request = {{"messages", Json(Json::Value(std::move(messages)))},
                          {"add_generation_prompt", Json(Json::Value(user.has_value()))}};
  if (!options_.template_names.is_null()) {
    request.push_back({"chat_template_kwargs", options_.template_names});
  }
  return Json(Json::Value(std::move(request)));
}

Result<RenderedPrompt> Chat::Conversation(std::size_t drop, std::string_view user) const {
  return prompt_.Apply(RequestFor(drop, user), session_.model().tokenizer);
}

std::size_t Chat::TokensOfTurns() const {
  if (turns_.empty()) return 0;
  const auto said = prompt_.Apply(RequestFor(0, std::nullopt), session_.model().tokenizer);
  return said.has_value() ? said->ids.size() : 0;
}

Result<std::size_t> Chat::TurnsToDrop(std::string_view user, int reply_tokens) const {
  const auto context = static_cast<std::size_t>(session_.context_length());
  const auto wanted =
      reply_tokens < 0 ? context : static_cast<std::size_t>(std::max(reply_tokens, 1));
  const std::size_t reply = std::max<std::size_t>(1, std::min(wanted, context / 4));
  const auto whole = BITTERN_TRY(Conversation(0, user));
  if (whole.ids.size() + reply <= context) return 0;
  // Many at once, so that the others are not read anew with every turn: the fewest that leave a
  // quarter of the context free.
  std::size_t too_few = 0, enough = turns_.size();
  while (enough - too_few > 1) {
    const std::size_t drop = (too_few + enough) / 2;
    const auto rest = BITTERN_TRY(Conversation(drop, user));
    (rest.ids.size() + reply <= context - context / 4 ? enough : too_few) = drop;
  }
  return enough;
}

/// Renders everything, keeps the tokens that the session has already, runs the rest. A turn that
/// fails leaves no trace in turns_; the session keeps only the common tokens.
Result<GenerateResult> Chat::Say(std::string_view user, const GenerateOptions& options,
                                 const std::function<bool(std::string_view)>& on_text) {
  std::size_t drop = 0;
  if (options_.policy == ContextPolicy::kDrop) {
    drop = BITTERN_TRY(TurnsToDrop(user, options.max_tokens));
  }
  const auto read = BITTERN_TRY(Conversation(drop, user));
  const auto context = static_cast<std::size_t>(session_.context_length());
  if (read.ids.size() >= context) {  // one token at least is for the reply
    const std::size_t others = drop == 0 ? std::min(TokensOfTurns(), read.ids.size()) : 0;
    return Fail(
        ErrorCode::kContextFull,
        fmt::format("this turn is {} tokens long and the context has room for {} of {}",
                    read.ids.size() - others, context - std::min(others, context), context));
  }
  // The last token runs again if need be: its logits are wanted.
  const std::size_t before =
      std::min(CommonPrefix(session_.tokens(), read.ids), read.ids.size() - 1);
  session_.Truncate(static_cast<int>(before));
  const Timings start = session_.timings();
  auto result = session_.PrefillFor(std::span(read.ids).subspan(before), options).and_then([&] {
    return session_.Generate(options, on_text);
  });
  if (!result.has_value()) {
    session_.Truncate(static_cast<int>(before));
    return result;
  }
  const Timings& end = session_.timings();
  cost_ = {.kept_tokens = static_cast<int>(before),
           .read_tokens = end.prompt_tokens - start.prompt_tokens,
           .read_s = end.prompt_s - start.prompt_s,
           .written_tokens = end.predicted_tokens - start.predicted_tokens,
           .written_s = end.predicted_s - start.predicted_s};
  turns_.erase(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(drop));
  dropped_ += static_cast<int>(drop);
  turns_.push_back({std::string(user), *result});
  turns_.back().reply.logprobs = {};
  return result;
}

Result<GenerateResult> Chat::Replace(std::string_view user, const GenerateOptions& options,
                                     const std::function<bool(std::string_view)>& on_text) {
  ChatTurn last = BITTERN_TRY(Undo());
  auto result = Say(user, options, on_text);
  if (!result.has_value()) turns_.push_back(std::move(last));
  return result;
}

Result<ChatTurn> Chat::Undo() {
  if (turns_.empty()) return Fail(ErrorCode::kInvalidArgument, "nothing has been said yet");
  ChatTurn last = std::move(turns_.back());
  turns_.pop_back();
  return last;
}

Result<void> Chat::SetSystem(std::string system) {
  std::swap(options_.system, system);
  auto rendered = Conversation(0, "x");
  if (rendered.has_value()) return {};
  std::swap(options_.system, system);
  return tl::unexpected(std::move(rendered).error());
}

Result<int> Chat::Restore(std::string system, std::vector<ChatTurn> turns) {
  const tokenizer::Tokenizer& tokenizer = session_.model().tokenizer;
  int foreign = 0;
  for (ChatTurn& turn : turns) {
    GenerateResult& reply = turn.reply;
    if (!reply.ids.empty() && Says(reply.ids, reply.text, tokenizer)) continue;
    foreign += reply.ids.empty() ? 0 : 1;
    reply.ids = tokenizer.Encode(reply.text, {.add_bos = false});
  }
  std::swap(turns_, turns);
  if (auto set = SetSystem(std::move(system)); !set.has_value()) {
    std::swap(turns_, turns);
    return tl::unexpected(std::move(set).error());
  }
  dropped_ = 0;
  return foreign;
}

bool Chat::BeginsThinking(std::string_view user) const {
  const auto prompt = Conversation(0, user);
  if (!prompt.has_value()) return false;
  std::string_view text = prompt->text.bytes();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text.ends_with("<think>");
}

void Chat::Clear() noexcept {
  session_.Truncate(0);
  turns_.clear();
  cost_ = {};
  dropped_ = 0;
}

}  // namespace bittern::runtime
