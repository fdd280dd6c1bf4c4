// SPDX-License-Identifier: Apache-2.0
// Answers begin where they did in the text of templates, and a conversation that grew by a turn
// keeps its tokens.
#include "runtime/chat/chat_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/json/json.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "tokenizer/test_vocabulary.hpp"

namespace bittern::runtime {
namespace {

using jinja::Origin;
using jinja::Text;
using testing::ElementsAre;
using testing::IsEmpty;

// With a token for the space and the first letters of an answer, which a cut must keep apart.
tokenizer::Tokenizer MakeTokenizer() {
  tokenizer::TestVocabulary vocabulary = tokenizer::SmallVocabulary();
  for (const char* token : {"<|im_start|>", "<|im_end|>"}) vocabulary.AddToken(token, 3);
  vocabulary.AddMerge(" ", "h");
  vocabulary.AddMerge("\n", "h");
  return vocabulary.Build().value();
}

Result<RenderedPrompt> Apply(std::string_view source, std::string_view request,
                             const tokenizer::Tokenizer& tokenizer) {
  Decisions decisions;
  const auto chat = BITTERN_TRY(ChatPrompt::Create({}, tokenizer, source, &decisions));
  const auto json = BITTERN_TRY(Json::Parse(request, {}));
  return chat.Apply(json, tokenizer);
}

/// The text with a bar where each answer begins.
std::string Marked(std::string_view source, std::string_view request) {
  const auto prompt = Apply(source, request, MakeTokenizer());
  if (!prompt.has_value()) return prompt.error().message;
  std::string text = prompt->text.bytes();
  for (auto at = prompt->answers.rbegin(); at != prompt->answers.rend(); ++at) {
    text.insert(*at, "|");
  }
  return text;
}

constexpr std::string_view kTwoTurns =
    R"([{"role":"user","content":"a"},{"role":"assistant","content":"hb"},)"
    R"({"role":"user","content":"c"}])";
constexpr std::string_view kBirds =  // as "bitnet", with short names and ends that are no tokens
    "{% for m in messages %}{{ m.role[0] }}: {{ m.content | trim }}. {% endfor %}"
    "{% if add_generation_prompt %}a: {% endif %}";

TEST(ChatAnswers, BeginBehindWhatAsksForThem) {
  EXPECT_EQ(Marked("bitnet", kTwoTurns),
            "User: a<|eot_id|>Assistant: |hb<|eot_id|>User: c<|eot_id|>Assistant: ");
  EXPECT_EQ(Marked(kBirds, kTwoTurns), "u: a. a: |hb. u: c. a: ");
  // The space before the answer is the model's where the template only trims and puts one.
  EXPECT_EQ(Marked("{% for m in messages %}{% if m.role == 'user' %}{{ m.content + ' A:' }}"
                   "{% else %}{{ ' ' + m.content + '</s>' }}{% endif %}{% endfor %}",
                   kTwoTurns),
            "a A:| hb</s>c A:");
}

TEST(ChatAnswers, AfterAnyMessageAndNone) {
  EXPECT_EQ(Marked(kBirds, R"([{"role":"assistant","content":"hi"},{"role":"assistant",)"
                           R"("content":"ho"},{"role":"user","content":""},)"
                           R"({"role":"assistant","content":"hu"}])"),
            "a: |hi. a: |ho. u: . a: |hu. a: ");
  EXPECT_EQ(
      Marked(kBirds, R"([{"role":"user","content":"x"},{"role":"assistant","content":"","c":1},)"
                     R"({"role":"tool","content":"y"},{"role":"assistant","content":"h"}])"),
      "u: x. a: . t: y. a: |h. a: ");
  // A continued answer began where any answer does.
  EXPECT_EQ(Marked(kBirds, R"({"messages":[{"role":"user","content":"x"},{"role":"assistant",)"
                           R"("content":"h "}],"continue_final_message":true})"),
            "u: x. a: |h");
}

TEST(ChatAnswers, NoneWhereTheTemplateDoesNotWriteThemSo) {
  // Thoughts that the template begins, and that it leaves out of earlier answers.
  EXPECT_EQ(Marked("{% for m in messages %}[{{ m.content.split('</think>')[-1] }}]{% endfor %}"
                   "{% if add_generation_prompt %}[<think>\n{% endif %}",
                   R"([{"role":"user","content":"a"},{"role":"assistant","content":)"
                   R"("t</think>hb"},{"role":"user","content":"c"}])"),
            "[a][hb][c][<think>\n");
  EXPECT_EQ(Marked("{% for m in messages | reverse %}{{ m.content }};{% endfor %}", kTwoTurns),
            "c;hb;a;");
  EXPECT_EQ(Marked("{% if not messages %}{{ raise_exception('none') }}{% endif %}"
                   "{% for m in messages %}{{ m.content }};{% endfor %}",
                   R"([{"role":"assistant","content":"hi"}])"),
            "hi;");
}

// The tokens of each turn begin with those of the turn before and of its answer.
TEST(ChatAnswers, AConversationKeepsItsTokens) {
  const auto tokenizer = MakeTokenizer();
  for (const std::string_view source : {std::string_view("bitnet"), std::string_view("llama3"),
                                        std::string_view("chatml"), kBirds}) {
    std::vector<tokenizer::TokenId> before;
    std::string messages;
    for (int turn = 0; turn < 6; ++turn) {
      messages += R"({"role":"user","content":"hello"})";
      const auto prompt = Apply(source, "[" + messages + "]", tokenizer);
      ASSERT_TRUE(prompt.has_value()) << prompt.error().message;
      ASSERT_GT(prompt->ids.size(), before.size());
      EXPECT_TRUE(std::equal(before.begin(), before.end(), prompt->ids.begin()))
          << source << " turn " << turn;
      before = prompt->ids;
      const auto answer = tokenizer.Encode("hz", {.add_bos = false});
      before.insert(before.end(), answer.begin(), answer.end());
      messages += R"(,{"role":"assistant","content":"hz"},)";
    }
  }
}

// Roles of more than a word are bytes of the message, so the same roles may end in two ways.
TEST(ChatAnswers, APlaceMayAskInTwoWays) {
  EXPECT_EQ(Marked("{% for m in messages %}[{{ m.role }}] {{ m.content }};{% endfor %}"
                   "{% if add_generation_prompt %}[assistant] {% endif %}",
                   R"([{"role":"x y","content":""},{"role":"assistant","content":"h"},)"
                   R"({"role":"x y","content":"a"},{"role":"assistant","content":"h"},)"
                   R"({"role":"x y","content":""},{"role":"assistant","content":"h"}])"),
            "[x y] ;[assistant] |h;[x y] a;[assistant] |h;[x y] ;[assistant] |h;[assistant] ");
}

/// As public models have them, shortened.
constexpr std::string_view kTemplates[] = {
    // Vicuna: the model says the space itself.
    "{% for m in messages %}{% if m.role == 'user' %}{{ 'USER: ' + m.content + ' ' }}{% else %}"
    "{{ 'ASSISTANT: ' + m.content + '</s>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}",
    // Llama 2: nothing asks for an answer but the end of what the user says.
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ ' ' + m.content.strip() + ' </s>' }}"
    "{% else %}{{ '[INST] ' + m.content.strip() + ' [/INST]' }}{% endif %}{% endfor %}",
    // Gemma: another name for the role.
    "{% for m in messages %}{% set role = 'model' if m.role == 'assistant' else m.role %}"
    "{{ '<turn>' + role + '\n' + m.content | trim + '<end>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<turn>model\n' }}{% endif %}",
    // Zephyr: only at the last message.
    "{% for m in messages %}{{ '<' + m.role + '>\n' + m.content + '</s>\n' }}"
    "{% if loop.last and add_generation_prompt %}{{ '<assistant>' }}{% endif %}{% endfor %}",
    // Qwen 3: results of tools in a turn of the user's, by what stands beside them.
    "{% for m in messages %}{% if m.role == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '[user' }}{% endif %}"
    "{{ '<r>' + m.content + '</r>' }}"
    "{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ ']\n' }}{% endif %}"
    "{% else %}{{ '[' + m.role + '\n' + m.content.split('</think>')[-1] + ']\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '[assistant\n' }}{% endif %}",
    kBirds};

// The places by a rendering of each beginning of a conversation, at a quadratic cost.
TEST(ChatAnswers, AreWhereTheBeginningOfTheConversationEnds) {
  constexpr std::pair<const char*, const char*> kSaid[] = {
      {"user", "a"},       {"assistant", " hb "}, {"user", ""},
      {"assistant", "hc"}, {"tool", "d"},         {"assistant", "he"},
      {"tool", "f"},       {"tool", "g"},         {"assistant", "<think>x</think>hi"},
      {"assistant", "hj"}, {"user", "k"},         {"assistant", "hl"}};
  for (const std::string_view source : kTemplates) {
    const auto tokenizer = MakeTokenizer();
    std::vector<std::size_t> expected;
    std::string messages;
    for (const auto& [role, content] : kSaid) {
      if (std::string_view(role) == "assistant") {
        expected.push_back(Apply(source, "[" + messages + "]", tokenizer)->text.size());
      }
      messages += messages.empty() ? "" : ",";
      messages += std::string(R"({"role":")") + role + R"(","content":")" + content + R"("})";
    }
    const auto whole = Apply(source, "[" + messages + "]", tokenizer);
    ASSERT_TRUE(whole.has_value()) << whole.error().message;
    EXPECT_EQ(whole->answers, expected) << source;
  }
}

/// Messages of these roles, each with one byte, behind "|".
Text Written(std::span<const std::string_view> roles) {
  Text text;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    text.Append("|");
    text.Append("x", Origin::Message(i));
  }
  return text;
}

TEST(ChatAnswers, CostAFewRenderingsHoweverManyThereAre) {
  std::vector<std::string> names;
  std::vector<std::string_view> roles;
  for (int i = 0; i < 20; ++i) names.push_back("role" + std::to_string(i));
  for (std::size_t i = 0; i < 100000; ++i) roles.push_back(i % 2 == 0 ? "user" : "assistant");
  const Text whole = Written(roles);
  std::size_t renderings = 0;
  const auto render = [&](std::size_t count) -> Result<Text> {
    ++renderings;
    Text text = Written(std::span(roles).first(count));
    text.Append("|");
    return text;
  };
  EXPECT_EQ(FindAnswers(whole, roles, render).size(), roles.size() / 2);
  EXPECT_EQ(renderings, 1u);
  for (std::size_t i = 0; i < roles.size(); i += 2) roles[i] = names[(i / 2) % names.size()];
  renderings = 0;
  EXPECT_LT(FindAnswers(whole, roles, render).size(), roles.size() / 2);
  EXPECT_EQ(renderings, kMostAnswerRenderings);
  // A template that writes its first message before each answer.
  Text odd;
  for (std::size_t i = 1; i < roles.size(); i += 2) {
    odd.Append("x", Origin::Message(0));
    odd.Append("x", Origin::Message(i));
  }
  EXPECT_LE(FindAnswers(odd, roles, render).size(), 8u);
}

TEST(ChatAnswers, NeverInsideACharacter) {
  const std::vector<std::string_view> roles = {"assistant"};
  Text whole("\xc3\xa9");
  whole.Append("x", Origin::Message(0));
  const auto half = [](std::size_t) -> Result<Text> { return Text("\xc3"); };
  EXPECT_THAT(FindAnswers(whole, roles, half), IsEmpty());
  const auto one = [](std::size_t) -> Result<Text> { return Text("\xc3\xa9"); };
  EXPECT_THAT(FindAnswers(whole, roles, one), ElementsAre(2));
}

}  // namespace
}  // namespace bittern::runtime
