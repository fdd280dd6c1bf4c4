// SPDX-License-Identifier: Apache-2.0
// A conversation with its settings: other tries are other draws, and what is saved goes on.
#include "request/chat/conversation.hpp"

#include <gtest/gtest.h>

namespace bittern::request {
namespace {

Conversation NewConversation() {
  static const auto model =
      runtime::LoadedModel::Load(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf", {.num_threads = 1});
  Decisions decisions;
  auto prompt = runtime::ChatPrompt::Create({}, (*model)->tokenizer, "bitnet", &decisions);
  auto session = runtime::Session::Create(*model, {.num_threads = 1});
  auto chat = runtime::Chat::Create(*std::move(session), *std::move(prompt), {});
  return {*std::move(chat), {.max_tokens = 8, .sampler = {.temperature = 1, .seed = 5}}};
}

const ReplyListener kSilent{.on_text = [](std::string_view) { return true; }};

TEST(Conversation, EachTryOfATurnTakesTheNextSeed) {
  Conversation talk = NewConversation();
  EXPECT_FALSE(talk.LastMessage());
  EXPECT_FALSE(talk.TokensOf(""));
  EXPECT_EQ(talk.Say("Who was Moses?", kSilent).value().seed, 5);
  EXPECT_EQ(talk.Replace("Who was Moses?", kSilent).value().seed, 6);
  const auto third = talk.Replace("Who was Aaron?", kSilent).value();
  EXPECT_EQ(third.seed, 7);
  EXPECT_EQ(talk.LastMessage().value(), "Who was Aaron?");
  EXPECT_EQ(talk.TokensOf("").value(), third.ids);
  EXPECT_EQ(talk.Say("And then?", kSilent).value().seed, 5);
  talk.Clear();
  EXPECT_TRUE(talk.chat().turns().empty());
}

TEST(Conversation, AConstraintHoldsForOneReply) {
  Conversation talk = NewConversation();
  EXPECT_FALSE(talk.ConstrainNext({grammar::ConstraintKind::kRegex, "("}));
  ASSERT_TRUE(talk.ConstrainNext({grammar::ConstraintKind::kRegex, "yes"}));
  EXPECT_EQ(talk.Say("Is it so?", kSilent).value().text, "yes");
  EXPECT_NE(talk.Say("Is it so?", kSilent).value().text, "yes");
}

TEST(Conversation, GoesOnFromWhatWasSaved) {
  Conversation talk = NewConversation();
  ASSERT_TRUE(talk.Say("Who was Moses?", kSilent));
  const auto read = [](const Json& settings, runtime::GenerateOptions* options) -> Result<void> {
    options->max_tokens = static_cast<int>(settings.Find("n_predict")->AsUint().value());
    return {};
  };
  Conversation later = NewConversation();
  later.mutable_options()->max_tokens = 3;
  EXPECT_EQ(later.Take(talk.Saved(), read).value(), 0);
  EXPECT_EQ(later.options().max_tokens, 8);
  EXPECT_EQ(later.Say("And then?", kSilent).value().ids,
            talk.Say("And then?", kSilent).value().ids);
  const auto refuse = [](const Json&, runtime::GenerateOptions*) -> Result<void> {
    return Fail(ErrorCode::kInvalidArgument, "no");
  };
  EXPECT_FALSE(later.Take({}, refuse));
  EXPECT_EQ(later.chat().turns().size(), 2);
}

}  // namespace
}  // namespace bittern::request
