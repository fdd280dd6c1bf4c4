// SPDX-License-Identifier: Apache-2.0
// The forms by name, and which one a file gets.
#include "runtime/chat/chat_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.hpp"

namespace bittern::runtime {
namespace {

using testing::HasSubstr;

TEST(ChatTemplate, ByName) {
  for (const std::string_view name : kChatFormNames) {
    const auto chat = ChatTemplateByName(name);
    ASSERT_TRUE(chat.has_value());
    EXPECT_EQ(chat->name(), name);
  }
  const auto unknown = ChatTemplateByName("vicuna");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(unknown.error().message, HasSubstr("bitnet, llama3, chatml"));
  EXPECT_THAT(unknown.error().message, HasSubstr("vicuna"));
}

/// A file's keys about chat, and their effect.
struct File {
  std::string architecture = "llama";
  std::string chat_template = {};
  std::vector<std::string> tokens = {};
  Decisions decisions = {};

  Result<ChatTemplate> Resolve() {
    tokenizer::TestVocabulary vocabulary = tokenizer::SmallVocabulary();
    while (vocabulary.tokens.back().starts_with("<|")) {  // its own specials
      vocabulary.tokens.pop_back();
      vocabulary.types.pop_back();
    }
    vocabulary.bos = vocabulary.eos = std::nullopt;
    vocabulary.add_bos = false;
    vocabulary.pre = "llama-bpe";
    for (const std::string& token : tokens) vocabulary.AddToken(token, 3);
    const auto tokenizer = vocabulary.Build();
    if (!tokenizer.has_value()) return tl::unexpected(tokenizer.error());
    formats::Metadata metadata;
    Put(&metadata, "general.architecture", architecture);
    if (!chat_template.empty()) Put(&metadata, "tokenizer.chat_template", chat_template);
    return ResolveChatTemplate(metadata, *tokenizer, &decisions);
  }

  static void Put(formats::Metadata* metadata, std::string key, const std::string& text) {
    EXPECT_TRUE(metadata->Add(std::move(key), {formats::MetaType::kString, std::string_view(text)})
                    .has_value());
  }
};

void ExpectChoice(File file, ChatForm form, bool notable) {
  const auto chat = file.Resolve();
  ASSERT_TRUE(chat.has_value()) << chat.error().message;
  EXPECT_EQ(chat->form(), form);
  ASSERT_EQ(file.decisions.size(), 1u);
  EXPECT_EQ(file.decisions[0].subject, "chat template");
  EXPECT_EQ(file.decisions[0].choice, chat->name());
  EXPECT_EQ(file.decisions[0].notable, notable);
}

const std::vector<std::string> kLlama3Tokens = {"<|start_header_id|>", "<|end_header_id|>",
                                                "<|eot_id|>"};
const std::vector<std::string> kChatMlTokens = {"<|im_start|>", "<|im_end|>"};

TEST(ResolveChatTemplate, FollowsTheTemplate) {
  ExpectChoice({"qwen3", "...'<|im_start|>' + role...", kChatMlTokens}, ChatForm::kChatMl, false);
  ExpectChoice({"llama", "{{ '<|start_header_id|>' }}", kLlama3Tokens}, ChatForm::kLlama3, false);
  ExpectChoice({"bitnet-b1.58",
                "{{ message['role'] | capitalize + ': ' + message['content'] | trim + "
                "'<|eot_id|>' }}{{ 'Assistant: ' }}",
                kLlama3Tokens},
               ChatForm::kBitNet, false);
}

TEST(ResolveChatTemplate, TheConvertersLeftOverIsSaid) {
  ExpectChoice({"bitnet-b1.58", "Human: {{ m }}\n\nBITNETAssistant: ", kLlama3Tokens},
               ChatForm::kBitNet, true);
}

TEST(ResolveChatTemplate, WithoutTemplateTheTokensTell) {
  ExpectChoice({"bitnet-b1.58", "", kLlama3Tokens}, ChatForm::kBitNet, true);
  ExpectChoice({"llama", "", kLlama3Tokens}, ChatForm::kLlama3, true);
  ExpectChoice({"qwen3", "", kChatMlTokens}, ChatForm::kChatMl, true);
}

void ExpectRefusal(File file, const std::string& part) {
  const auto chat = file.Resolve();
  ASSERT_FALSE(chat.has_value());
  EXPECT_EQ(chat.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(chat.error().message, HasSubstr(part));
}

TEST(ResolveChatTemplate, Refuses) {
  ExpectRefusal({"llama", "", {}}, "has no chat template");
  ExpectRefusal({"llama", "<|user|>\n{{ m }}", {}}, "none that Bittern knows");
  ExpectRefusal({"llama", "Human: BITNETAssistant", kLlama3Tokens}, "none that Bittern knows");
  ExpectRefusal({"qwen3", "<|im_start|>", {"<|im_start|>"}}, "<|im_end|>");
  ExpectRefusal({"llama", "<|start_header_id|>", {"<|eot_id|>"}}, "<|start_header_id|>");
}

}  // namespace
}  // namespace bittern::runtime
