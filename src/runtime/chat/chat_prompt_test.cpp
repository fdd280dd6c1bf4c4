// SPDX-License-Identifier: Apache-2.0
// Requests to prompts: names, flags, what is refused, and special tokens that a user types.
#include "runtime/chat/chat_prompt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "tokenizer/test_vocabulary.hpp"

namespace bittern::runtime {
namespace {

using testing::HasSubstr;

/// A small vocabulary with ChatML's tokens.
tokenizer::Tokenizer ChatMlTokenizer() {
  tokenizer::TestVocabulary vocabulary = tokenizer::SmallVocabulary();
  vocabulary.AddToken("<|im_start|>", 3);
  vocabulary.AddToken("<|im_end|>", 3);
  return vocabulary.Build().value();
}

Result<RenderedPrompt> ApplyPrompt(std::string_view source, std::string_view request,
                                   const tokenizer::Tokenizer& tokenizer = ChatMlTokenizer()) {
  Decisions decisions;
  const auto chat = BITTERN_TRY(ChatPrompt::Create({}, tokenizer, source, &decisions));
  const auto json = BITTERN_TRY(Json::Parse(request, {}));
  return chat.Apply(json, tokenizer);
}

std::string Text(std::string_view source, std::string_view request) {
  const auto prompt = ApplyPrompt(source, request);
  return prompt.has_value() ? prompt->text.bytes() : prompt.error().message;
}

/// A vocabulary with the tokens of every form.
tokenizer::Tokenizer TokenizerOfAllForms() {
  tokenizer::TestVocabulary vocabulary = tokenizer::SmallVocabulary();
  for (const char* token :
       {"<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}) {
    if (std::ranges::find(vocabulary.tokens, token) == vocabulary.tokens.end()) {
      vocabulary.AddToken(token, 3);
    }
  }
  return vocabulary.Build().value();
}

TEST(ChatPrompt, NamedFormsLetterByLetter) {
  constexpr std::string_view kRequest =
      R"([{"role":"system","content":" Be brief.\n"},{"role":"user","content":"  Hello "},)"
      R"({"role":"assistant","content":"Hi"},{"role":"user","content":""}])";
  const auto text = [&](std::string_view form) {
    const auto prompt = ApplyPrompt(form, kRequest, TokenizerOfAllForms());
    return prompt.has_value() ? prompt->text.bytes() : prompt.error().message;
  };
  EXPECT_EQ(text("bitnet"),
            "System: Be brief.<|eot_id|>User: Hello<|eot_id|>Assistant: Hi<|eot_id|>"
            "User: <|eot_id|>Assistant: ");
  EXPECT_EQ(text("llama3"),
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(text("chatml"),
            "<|im_start|>system\n Be brief.\n<|im_end|>\n<|im_start|>user\n  Hello <|im_end|>\n"
            "<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>user\n<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatPrompt, NamesOfARequest) {
  constexpr std::string_view kSource =
      "{{ tools | tojson }}{{ documents }}{{ add_generation_prompt }}{{ extra }}{{ "
      "messages[0].role }}";
  EXPECT_EQ(Text(kSource, R"([{"role":"user"}])"), "nullNoneTrueuser");
  EXPECT_EQ(Text(kSource, R"({"messages":[{"role":"user"}],"tools":[{"a":1}],"documents":[2],)"
                          R"("add_generation_prompt":false,"chat_template_kwargs":{"extra":"x"}})"),
            "[{\"a\": 1}][2]Falsexuser");
}

TEST(ChatPrompt, ContinuesTheFinalMessage) {
  const auto request = [](const std::string& content) {
    return R"({"messages":[{"role":"user","content":"a b"},{"role":"assistant","content":)" +
           content + R"(}],"continue_final_message":true})";
  };
  EXPECT_EQ(Text("chatml", request("\"So a\"")),
            "<|im_start|>user\na b<|im_end|>\n<|im_start|>assistant\nSo a");
  EXPECT_EQ(Text("{% for m in messages %}[{{ m.content | trim }}]{% endfor %}", request("\" a \"")),
            "[a b][a");
  EXPECT_EQ(Text("{% for m in messages %}[{{ m.content if m.content is string else "
                 "m.content[0].text }}]{% endfor %}",
                 request(R"([{"text":"p"},{"image":1}])")),
            "[a b][p");
  EXPECT_THAT(Text("none of it", request("\"zzz\"")), HasSubstr("did not write the last message"));
  EXPECT_THAT(Text("none of it", request("null")), HasSubstr("no text to continue"));
}

TEST(ChatPrompt, Refuses) {
  EXPECT_THAT(Text("x", "{}"), HasSubstr("\"messages\""));
  EXPECT_THAT(Text("x", "[1]"), HasSubstr("messages: objects expected"));
  EXPECT_THAT(Text("x", R"({"messages":[],"add_generation_prompt":1})"),
              HasSubstr("add_generation_prompt: true or false expected"));
  EXPECT_THAT(Text("x", R"({"messages":[],"add_generation_prompt":true,)"
                        R"("continue_final_message":true})"),
              HasSubstr("only one of"));
  EXPECT_THAT(Text("\n{{ raise_exception('no') }}", "[]"),
              HasSubstr("chat template: line 2: call of raise_exception: no"));
  EXPECT_THAT(Text("{% if %}", "[]"), HasSubstr("chat template: line 1: an expression expected"));
}

int Count(const RenderedPrompt& prompt, const tokenizer::Tokenizer& tokenizer,
          std::string_view token) {
  return static_cast<int>(std::ranges::count_if(prompt.ids, [&](tokenizer::TokenId id) {
    return tokenizer.IsControl(id) && tokenizer.TokenBytes(id, true) == token;
  }));
}

TEST(ChatPrompt, SpecialTokensThatAUserTypesStayText) {
  const auto tokenizer = ChatMlTokenizer();
  const auto prompt =
      ApplyPrompt("chatml", R"([{"role":"user","content":"a<|im_end|>b<|im_start|>"}])", tokenizer);
  ASSERT_TRUE(prompt.has_value()) << prompt.error().message;
  EXPECT_EQ(Count(*prompt, tokenizer, "<|im_end|>"), 1);
  EXPECT_EQ(Count(*prompt, tokenizer, "<|im_start|>"), 2);
  const std::size_t bos = tokenizer.adds_bos() ? 1 : 0;
  EXPECT_EQ(tokenizer.Decode(std::span(prompt->ids).subspan(bos), true), prompt->text.bytes());
}

TEST(ChatPrompt, NeitherHalfATokenFromTheUser) {
  const auto tokenizer = ChatMlTokenizer();
  const auto prompt = ApplyPrompt("<|im_{{ messages[0].content }}|>",
                                  R"([{"role":"user","content":"end"}])", tokenizer);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(Count(*prompt, tokenizer, "<|im_end|>"), 0);
}

TEST(ChatPrompt, ARoleOfOnePlainWordIsTheTemplatesOwn) {
  const auto tokenizer = ChatMlTokenizer();
  constexpr std::string_view kSource = "<|im_{{ messages[0].role }}|>{{ messages[0].role }}";
  const auto plain = ApplyPrompt(kSource, R"([{"role":"end"}])", tokenizer);
  EXPECT_EQ(Count(plain.value(), tokenizer, "<|im_end|>"), 1);
  const auto odd = ApplyPrompt(kSource, R"([{"role":"<|im_end|>"}])", tokenizer);
  EXPECT_EQ(Count(odd.value(), tokenizer, "<|im_end|>"), 0);
}

TEST(ChatPrompt, TheConvertersLeftOverIsReplaced) {
  tokenizer::TestVocabulary vocabulary = tokenizer::SmallVocabulary();
  vocabulary.AddToken("<|eot_id|>", 3);
  const auto tokenizer = vocabulary.Build().value();
  formats::Metadata metadata;
  const auto put = [&](const char* key, std::string_view value) {
    ASSERT_TRUE(metadata.Add(key, {formats::MetaType::kString, value}).has_value());
  };
  put("general.architecture", "bitnet-b1.58");
  put("tokenizer.chat_template", "Human: {{ m }}\n\nBITNETAssistant: ");
  Decisions decisions;
  const auto chat = ChatPrompt::Create(metadata, tokenizer, "", &decisions);
  ASSERT_TRUE(chat.has_value()) << chat.error().message;
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(decisions[0].notable);
  const auto json = Json::Parse(R"([{"role":"user","content":" Hi "}])", {});
  EXPECT_EQ(chat->Apply(*json, tokenizer)->text.bytes(), "User: Hi<|eot_id|>Assistant: ");
}

}  // namespace
}  // namespace bittern::runtime
