// SPDX-License-Identifier: Apache-2.0
// Conversations with the small model: a turn in a kept context says what a fresh run of the whole
// conversation would, and no failure loses what was said.
#include "runtime/chat/chat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace bittern::runtime {
namespace {

using testing::HasSubstr;

std::shared_ptr<const LoadedModel> Shared() {
  static const auto model =
      LoadedModel::Load(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf", {.num_threads = 1});
  if (!model.has_value()) throw std::runtime_error(model.error().message);
  return *model;
}

Session MakeSession(int context_length = 0) {
  auto session = Session::Create(Shared(), {.context_length = context_length, .num_threads = 1});
  if (!session.has_value()) throw std::runtime_error(session.error().message);
  return *std::move(session);
}

Chat MakeChat(std::string system = "", int context_length = 0,
              ContextPolicy policy = ContextPolicy::kStop, std::string_view source = "bitnet") {
  Decisions decisions;
  auto prompt = ChatPrompt::Create({}, Shared()->tokenizer, source, &decisions);
  if (!prompt.has_value()) throw std::runtime_error(prompt.error().message);
  auto chat = Chat::Create(MakeSession(context_length), *std::move(prompt),
                           {.system = std::move(system), .policy = policy});
  if (!chat.has_value()) throw std::runtime_error(chat.error().message);
  return *std::move(chat);
}

GenerateOptions Greedy(int max_tokens) {
  return {.max_tokens = max_tokens, .sampler = {.temperature = 0}};
}

/// The ids of a whole text with its special tokens.
std::vector<TokenId> Encode(const std::string& text, bool add_bos = true) {
  return Shared()->tokenizer.Encode(text, {.add_bos = add_bos, .parse_special = true});
}

void Append(const std::vector<TokenId>& more, std::vector<TokenId>* ids) {
  ids->insert(ids->end(), more.begin(), more.end());
}

TEST(Chat, LaterTurnsSayWhatAFreshRunSays) {
  Chat chat = MakeChat("Be brief.");
  const auto first = chat.Say("Who was Moses?", Greedy(12), nullptr);
  ASSERT_TRUE(first.has_value());
  const auto second = chat.Say("And Aaron?", Greedy(12), nullptr);
  ASSERT_TRUE(second.has_value());

  auto ids = Encode("System: Be brief.<|eot_id|>User: Who was Moses?<|eot_id|>Assistant: ");
  Append(first->ids, &ids);
  Append(Encode("<|eot_id|>User: And Aaron?<|eot_id|>Assistant: ", false), &ids);
  Session fresh = MakeSession();
  ASSERT_TRUE(fresh.Prefill(ids).has_value());
  const auto expected = fresh.Generate(Greedy(12), nullptr);
  ASSERT_TRUE(expected.has_value());
  EXPECT_EQ(second->ids, expected->ids);
  EXPECT_FALSE(second->ids.empty());
}

// Noise, which the tokenizer would spell otherwise: what is read is made of the texts all the same.
TEST(Chat, ReadsWhatAnyDoorReadsForTheseTexts) {
  Decisions decisions;
  const auto prompt = ChatPrompt::Create({}, Shared()->tokenizer, "bitnet", &decisions);
  GenerateOptions noise = Greedy(12);
  noise.sampler = {.temperature = 5, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5};
  Chat chat = MakeChat();
  int respelled = 0;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(chat.Say("And Aaron?", noise, nullptr).has_value());
    nlohmann::json messages = nlohmann::json::array();
    for (const ChatTurn& turn : chat.turns()) {
      messages.push_back({{"role", "user"}, {"content", turn.user}});
      messages.push_back({{"role", "assistant"}, {"content", turn.reply.text}});
    }
    const auto spelled =
        Shared()->tokenizer.Encode(chat.turns().back().reply.text, {.add_bos = false});
    respelled += spelled == chat.turns().back().reply.ids ? 0 : 1;
    messages.erase(messages.size() - 1);
    const auto json = Json::Parse(messages.dump(), {});
    const auto expected = prompt->Apply(*json, Shared()->tokenizer);
    ASSERT_TRUE(expected.has_value());
    const auto tokens = chat.session().tokens();
    ASSERT_GE(tokens.size(), expected->ids.size());
    EXPECT_TRUE(std::ranges::equal(tokens.first(expected->ids.size()), expected->ids)) << i;
  }
  EXPECT_GT(respelled, 0);
}

TEST(Chat, OnlyNewTokensAreRun) {
  Chat chat = MakeChat();
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(8), nullptr).has_value());
  const int before = chat.session().timings().prompt_tokens;
  ASSERT_TRUE(chat.Say("x", Greedy(8), nullptr).has_value());
  // And the last token of the reply, which nothing had needed yet.
  const auto turn = Encode("<|eot_id|>User: x<|eot_id|>Assistant: ", false);
  EXPECT_EQ(chat.session().timings().prompt_tokens - before, static_cast<int>(turn.size()) + 1);
}

TEST(Chat, ClearStartsAgainWithTheSystemTurn) {
  Chat chat = MakeChat("Be brief.");
  const auto first = chat.Say("Who was Moses?", Greedy(10), nullptr);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(chat.Say("And Aaron?", Greedy(3), nullptr).has_value());
  chat.Clear();
  EXPECT_TRUE(chat.session().tokens().empty());
  const auto again = chat.Say("Who was Moses?", Greedy(10), nullptr);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->ids, first->ids);
}

TEST(Chat, ATurnThatDoesNotFitChangesNothing) {
  Chat chat = MakeChat("", 48);
  const auto first = chat.Say("Who was Moses?", Greedy(4), nullptr);
  ASSERT_TRUE(first.has_value());
  const std::size_t before = chat.session().tokens().size();
  const auto refused = chat.Say(std::string(400, 'x'), Greedy(4), nullptr);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kContextFull);
  EXPECT_THAT(refused.error().message, HasSubstr("of 48"));
  EXPECT_EQ(chat.session().tokens().size(), before);
  EXPECT_TRUE(chat.Say("x", Greedy(4), nullptr).has_value());
}

TEST(Chat, CancelledWhileReadingChangesNothing) {
  Chat chat = MakeChat();
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(4), nullptr).has_value());
  const std::size_t before = chat.session().tokens().size();
  const std::atomic<bool> cancelled{true};
  GenerateOptions options = Greedy(4);
  options.cancel = &cancelled;
  const auto refused = chat.Say("And Aaron?", options, nullptr);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(chat.session().tokens().size(), before);
}

TEST(Chat, AReplyThatFillsTheContextIsCutAndTheNextTurnRefused) {
  Chat chat = MakeChat("", 24);
  GenerateOptions options = Greedy(-1);
  options.ignore_eos = true;
  const auto reply = chat.Say("Who was Moses?", options, nullptr);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->finish, FinishReason::kContextFull);
  EXPECT_EQ(chat.Say("x", options, nullptr).error().code, ErrorCode::kContextFull);
  chat.Clear();
  EXPECT_TRUE(chat.Say("x", options, nullptr).has_value());
}

Chat MakeDroppingChat(std::string system, int context_length) {
  return MakeChat(std::move(system), context_length, ContextPolicy::kDrop);
}

// However long it goes on; what is said after a drop is what a conversation without the turns that
// were dropped says.
TEST(Chat, DropsTheOldestTurnsAndKeepsTheSystemTurn) {
  const std::string system = "System: Be brief.<|eot_id|>";
  Chat chat = MakeDroppingChat("Be brief.", 128);
  std::vector<std::vector<TokenId>> turns;
  int dropped = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string question = "And Aaron " + std::to_string(i) + "?";
    const auto reply = chat.Say(question, Greedy(12), nullptr);
    ASSERT_TRUE(reply.has_value()) << i << ": " << reply.error().message;
    const bool more_dropped = chat.dropped_turns() > dropped;
    dropped = chat.dropped_turns();
    auto ids = Encode(system);
    for (std::size_t turn = static_cast<std::size_t>(dropped); turn < turns.size(); ++turn) {
      Append(turns[turn], &ids);
    }
    Append(Encode("User: " + question + "<|eot_id|>Assistant: ", false), &ids);
    if (more_dropped) {
      Session fresh = MakeSession(128);
      ASSERT_TRUE(fresh.Prefill(ids).has_value());
      const auto expected = fresh.Generate(Greedy(12), nullptr);
      ASSERT_TRUE(expected.has_value());
      EXPECT_EQ(reply->ids, expected->ids) << i;
    }
    turns.push_back(Encode("User: " + question + "<|eot_id|>Assistant: ", false));
    Append(reply->ids, &turns.back());
    Append(Encode("<|eot_id|>", false), &turns.back());
  }
  EXPECT_GT(dropped, 20);
  chat.Clear();
  EXPECT_EQ(chat.dropped_turns(), 0);
}

TEST(Chat, ATurnThatDoesNotFitAloneIsRefusedAndDropsNothing) {
  Chat chat = MakeDroppingChat("", 48);
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(4), nullptr).has_value());
  const auto refused = chat.Say(std::string(400, 'x'), Greedy(4), nullptr);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kContextFull);
  EXPECT_EQ(chat.dropped_turns(), 0);
  EXPECT_TRUE(chat.Say("x", Greedy(4), nullptr).has_value());
}

TEST(Chat, SpecialTokensThatAreTypedStayText) {
  Chat chat = MakeChat();
  ASSERT_TRUE(chat.Say("a<|eot_id|>b<|eot_id|>", Greedy(2), nullptr).has_value());
  const auto& tokenizer = Shared()->tokenizer;
  const auto tokens = chat.session().tokens();
  const TokenId eot = Encode("<|eot_id|>", false).front();
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), eot), 1);  // the turn's own end
  EXPECT_THAT(tokenizer.Decode(tokens, false), HasSubstr("User: a<|eot_id|>b<|eot_id|>Assistant:"));
}

// A template that writes earlier replies in another way than they were said.
TEST(Chat, ATemplateThatRewritesEarlierRepliesIsFollowed) {
  constexpr std::string_view kSource =
      "{% for m in messages %}{% if m.role == 'user' %}User: {{ m.content }}<|eot_id|>"
      "{% else %}Assistant: (said {{ m.content | length > 0 }})<|eot_id|>{% endif %}{% endfor %}"
      "Assistant: ";
  Chat chat = MakeChat("", 0, ContextPolicy::kStop, kSource);
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(8), nullptr).has_value());
  ASSERT_TRUE(chat.Say("And Aaron?", Greedy(1), nullptr).has_value());
  const auto expected = Encode(
      "User: Who was Moses?<|eot_id|>Assistant: (said True)<|eot_id|>User: And Aaron?<|eot_id|>"
      "Assistant: ");
  EXPECT_EQ(std::vector<TokenId>(chat.session().tokens().begin(), chat.session().tokens().end()),
            expected);
}

TEST(Chat, ATemplateThatRefusesTheSystemTurnIsToldAtOnce) {
  Decisions decisions;
  auto prompt = ChatPrompt::Create(
      {}, Shared()->tokenizer,
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}x",
      &decisions);
  const auto chat = Chat::Create(MakeSession(), *std::move(prompt), {.system = "Be brief."});
  ASSERT_FALSE(chat.has_value());
  EXPECT_THAT(chat.error().message, HasSubstr("no system turn"));
}

/// The reply of a fresh conversation with these turns and one more.
std::vector<TokenId> ReplyAfter(const std::string& system, std::vector<ChatTurn> turns,
                                std::string_view user) {
  Chat chat = MakeChat();
  const auto restored = chat.Restore(system, std::move(turns));
  EXPECT_TRUE(restored.has_value());
  const auto reply = chat.Say(user, Greedy(10), nullptr);
  EXPECT_TRUE(reply.has_value());
  return reply->ids;
}

TEST(Chat, UndoAndReplaceAreAsIfItHadNotBeenSaid) {
  Chat chat = MakeChat("Be brief.");
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(10), nullptr).has_value());
  const auto second = chat.Say("And Aaron?", Greedy(10), nullptr);
  ASSERT_TRUE(chat.Say("And Miriam?", Greedy(5), nullptr).has_value());
  const auto undone = chat.Undo();
  ASSERT_TRUE(undone.has_value());
  EXPECT_EQ(undone->user, "And Miriam?");
  ASSERT_EQ(chat.turns().size(), 2u);
  // The same again: all but the last token of the prompt is still there.
  const auto again = chat.Replace("And Aaron?", Greedy(10), nullptr);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->ids, second->ids);
  EXPECT_EQ(chat.last_cost().read_tokens, 1);
  const auto other = chat.Replace("Who was Jethro?", Greedy(10), nullptr);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->ids, ReplyAfter("Be brief.", {chat.turns()[0]}, "Who was Jethro?"));
  ASSERT_TRUE(chat.Undo().has_value());
  ASSERT_TRUE(chat.Undo().has_value());
  EXPECT_EQ(chat.Undo().error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(chat.Replace("x", Greedy(1), nullptr).has_value());
}

TEST(Chat, AReplacementThatFailsLeavesTheTurn) {
  Chat chat = MakeChat("", 48);
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(4), nullptr).has_value());
  const auto expected = ReplyAfter("", {chat.turns()[0]}, "And?");
  EXPECT_FALSE(chat.Replace(std::string(400, 'x'), Greedy(4), nullptr).has_value());
  ASSERT_EQ(chat.turns().size(), 1u);
  const auto next = chat.Say("And?", Greedy(10), nullptr);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->ids, expected);
}

TEST(Chat, CostsSayWhatWasKeptAndRead) {
  Chat chat = MakeChat();
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(8), nullptr).has_value());
  EXPECT_EQ(chat.last_cost().kept_tokens, 0);
  const auto tokens = static_cast<int>(chat.session().tokens().size());
  ASSERT_TRUE(chat.Say("x", Greedy(8), nullptr).has_value());
  EXPECT_EQ(chat.last_cost().kept_tokens, tokens);
  const auto turn = Encode("<|eot_id|>User: x<|eot_id|>Assistant: ", false);
  EXPECT_EQ(chat.last_cost().read_tokens, static_cast<int>(turn.size()) + 1);
  EXPECT_EQ(chat.last_cost().written_tokens, 8);
}

TEST(Chat, ARestoredConversationGoesOnAsTheFirstOneDoes) {
  GenerateOptions sampled = Greedy(10);
  sampled.sampler = {.temperature = 1.5f, .repeat_penalty = 1.2f, .seed = 3};
  Chat chat = MakeChat("Be brief.", 128, ContextPolicy::kDrop);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(chat.Say("And Aaron " + std::to_string(i) + "?", sampled, nullptr).has_value());
  }
  EXPECT_GT(chat.dropped_turns(), 0);
  Chat other = MakeChat("", 128, ContextPolicy::kDrop);
  ASSERT_TRUE(other.Say("Something else.", sampled, nullptr).has_value());
  const auto foreign = other.Restore(chat.system(), {chat.turns().begin(), chat.turns().end()});
  ASSERT_TRUE(foreign.has_value());
  EXPECT_EQ(*foreign, 0);
  for (int i = 0; i < 4; ++i) {
    const auto expected = chat.Say("Go on.", sampled, nullptr);
    const auto found = other.Say("Go on.", sampled, nullptr);
    ASSERT_TRUE(expected.has_value() && found.has_value());
    EXPECT_EQ(found->ids, expected->ids);
    EXPECT_EQ(other.session().tokens().size(), chat.session().tokens().size());
  }
}

TEST(Chat, RepliesOfAnotherVocabularyAreReadAnew) {
  Chat chat = MakeChat();
  const auto foreign = chat.Restore("", {{"Who was Moses?", {.ids = {1, 2, 3}, .text = "A man."}},
                                         {"And Aaron?", {.ids = {1 << 30}, .text = "A man, too."}},
                                         {"And Miriam?", {.ids = {}, .text = "A woman."}}});
  ASSERT_TRUE(foreign.has_value());
  EXPECT_EQ(*foreign, 2);
  ASSERT_TRUE(chat.Say("Go on.", Greedy(1), nullptr).has_value());
  EXPECT_THAT(Shared()->tokenizer.Decode(chat.session().tokens()),
              HasSubstr("User: And Aaron?Assistant: A man, too.User: And Miriam?Assistant: "
                        "A woman.User: Go on.Assistant: "));
}

TEST(Chat, AnotherSystemTurnHoldsForAllThatWasSaid) {
  Chat chat = MakeChat();
  ASSERT_TRUE(chat.Say("Who was Moses?", Greedy(10), nullptr).has_value());
  const auto expected = ReplyAfter("Be brief.", {chat.turns()[0]}, "And Aaron?");
  ASSERT_TRUE(chat.SetSystem("Be brief.").has_value());
  const auto reply = chat.Say("And Aaron?", Greedy(10), nullptr);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->ids, expected);
  Chat strict = MakeChat(
      "", 0, ContextPolicy::kStop,
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}"
      "{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_FALSE(strict.SetSystem("Be brief.").has_value());
  EXPECT_EQ(strict.system(), "");
  EXPECT_TRUE(strict.Say("x", Greedy(1), nullptr).has_value());
}

TEST(Chat, TellsWhereTheTemplateBeginsTheThoughts) {
  EXPECT_FALSE(MakeChat().BeginsThinking("x"));
  EXPECT_TRUE(MakeChat("", 0, ContextPolicy::kStop,
                       "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n")
                  .BeginsThinking("x"));
}

}  // namespace
}  // namespace bittern::runtime
