// SPDX-License-Identifier: Apache-2.0
// Lines as the data sets have them, and the texts that lm-evaluation-harness makes of them.
#include "eval/question.hpp"

#include <gtest/gtest.h>

#include "eval/multiple_choice.hpp"
#include "eval/question_text.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::eval {
namespace {

Question Read(std::string_view line) {
  auto question = ReadQuestion(line);
  EXPECT_TRUE(question.has_value()) << question.error().message;
  return question.value_or(Question{});
}

void ExpectChoice(const Question& question, std::size_t index, const std::string& context,
                  const std::string& continuation, std::size_t characters) {
  ASSERT_GT(question.choices.size(), index);
  EXPECT_EQ(question.choices[index].context, context);
  EXPECT_EQ(question.choices[index].continuation, continuation);
  EXPECT_EQ(question.choices[index].characters, characters);
}

TEST(Question, Arc) {
  const Question q = Read(R"({"id": "M1", "question": "Which bird?", "choices": {"text":
      ["tern", "bittern", "gull"], "label": ["A", "B", "C"]}, "answerKey": "B"})");
  EXPECT_EQ(q.gold, 1u);
  ExpectChoice(q, 0, "Question: Which bird?\nAnswer:", " tern", 4);
  ExpectChoice(q, 2, "Question: Which bird?\nAnswer:", " gull", 4);
}

TEST(Question, HellaSwag) {
  const Question q = Read(R"({"ctx_a": "A man sits.", "ctx_b": "he", "activity_label": "Sitting",
      "ctx": "unused", "endings": ["runs [step] far.", "is a tern", "c", "d"], "label": "3"})");
  EXPECT_EQ(q.gold, 3u);
  ExpectChoice(q, 0, "Sitting: A man sits. He", " runs far.", 9);
  const Question short_form =
      Read(R"({"ctx": "Then [title] it [header] ends", "endings": ["a", "b"], "label": 0})");
  ExpectChoice(short_form, 1, "Then. it ends", " b", 1);
}

TEST(Question, WinoGrande) {
  const Question q = Read(R"({"sentence": "The trophy did not fit since the _ was too big.",
      "option1": "trophy", "option2": "suitcase", "answer": "2"})");
  EXPECT_EQ(q.gold, 1u);
  ExpectChoice(q, 0, "The trophy did not fit since the trophy", " was too big.", 12);
  ExpectChoice(q, 1, "The trophy did not fit since the suitcase", " was too big.", 12);
}

TEST(Question, Piqa) {
  const Question q = Read(R"({"goal": "Dry a tern", "sol1": "wait", "sol2": "wring", "label": 0})");
  EXPECT_EQ(q.gold, 0u);
  ExpectChoice(q, 1, "Question: Dry a tern\nAnswer:", " wring", 5);
}

TEST(Question, BoolQ) {
  const Question q = Read(R"({"passage": "Terns fly.", "question": "do terns fly", "label": 1})");
  EXPECT_EQ(q.gold, 1u);
  ExpectChoice(q, 1, "Terns fly.\nQuestion: do terns fly?\nAnswer:", " yes", 3);
  EXPECT_EQ(Read(R"({"passage": "p", "question": "q", "answer": false})").gold, 0u);
}

TEST(Question, Mmlu) {
  const Question q = Read(R"({"question": " 2 + 2? ", "subject": "abstract_algebra",
      "choices": ["3", "4", "5", "6"], "answer": 1})");
  EXPECT_EQ(q.gold, 1u);
  ExpectChoice(q, 3,
               "The following are multiple choice questions (with answers) about abstract "
               "algebra.\n\n2 + 2?\nA. 3\nB. 4\nC. 5\nD. 6\nAnswer:",
               " D", 1);
}

TEST(Question, SamplesThatTheHarnessLogged) {
  const Question q = Read(R"({"doc_id": 0, "target": "1", "arguments": {
      "gen_args_0": {"arg_0": "Q:", "arg_1": " a"}, "gen_args_1": {"arg_0": "Q:", "arg_1": " bc"}}})");
  EXPECT_EQ(q.gold, 1u);
  ExpectChoice(q, 1, "Q:", " bc", 2);
  EXPECT_EQ(Read(R"({"target": " bc", "arguments": [["Q:", " a"], ["Q:", " bc"]]})").gold, 1u);
}

TEST(Question, AnyOther) {
  const Question q =
      Read(R"({"query": "A tern is a", "choices": ["b\u00efrd", "fish"], "gold": 0})");
  ExpectChoice(q, 0, "A tern is a", " b\u00efrd", 4);
}

TEST(Question, WhatIsWrongIsNamed) {
  const auto message = [](std::string_view line) {
    const auto question = ReadQuestion(line);
    return question ? "read" : question.error().message;
  };
  EXPECT_NE(message("[]").find("object"), std::string::npos);
  EXPECT_NE(message("{").find("byte"), std::string::npos);
  EXPECT_NE(message("{}").find("choices"), std::string::npos);
  EXPECT_NE(message(R"({"query": "q", "choices": ["a", "b"]})").find("gold"), std::string::npos);
  EXPECT_NE(message(R"({"query": "q", "choices": ["a", "b"], "gold": 2})").find("0 to 1"),
            std::string::npos);
  EXPECT_NE(message(R"({"query": "q", "choices": ["a"], "gold": 0})").find("two"),
            std::string::npos);
  EXPECT_NE(message(R"({"goal": "g", "sol1": 1, "sol2": "b", "label": 0})").find("sol1"),
            std::string::npos);
  EXPECT_NE(message(R"({"sentence": "no gap", "option1": "a", "option2": "b", "answer": "1"})")
                .find("\"_\""),
            std::string::npos);
}

TEST(QuestionText, AsPythonDoes) {
  EXPECT_EQ(Capitalised("hELLO World"), "Hello world");
  EXPECT_EQ(Capitalised(""), "");
  EXPECT_EQ(Stripped(" \t a b\n"), "a b");
  EXPECT_EQ(WithoutWikiHowMarks("How to [title] do  it [substeps] well [open"),
            "How to. do it well [open");
}

class TokensOfQuestion : public ::testing::Test {
 protected:
  const tokenizer::Tokenizer& tokenizer() { return model_->tokenizer; }
  std::shared_ptr<const runtime::LoadedModel> model_ =
      runtime::LoadedModel::Load(std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf")
          .value();
};

TEST_F(TokensOfQuestion, AnswersAreTheTokensBehindTheContext) {
  const Question q = Read(R"({"query": "In the beginning ", "choices": ["God", "x"], "gold": 0})");
  const auto group = TokensOf(q, tokenizer(), 512).value();
  const auto context = tokenizer().Encode("In the beginning");
  ASSERT_EQ(group.size(), 2u);
  EXPECT_EQ(group[0].tokens, tokenizer().Encode("In the beginning  God"));
  EXPECT_EQ(group[0].first_scored, context.size());
}

TEST_F(TokensOfQuestion, LongContextsLoseTheirBeginning) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += " and he said unto them";
  const Question q{.kind = "", .choices = {{text, " Behold", 6}, {text, " Lo", 2}}};
  const auto group = TokensOf(q, tokenizer(), 50).value();
  const auto whole = TokensOf(q, tokenizer(), 5000).value();
  EXPECT_EQ(group[0].tokens.size(), 51u);
  EXPECT_EQ(group[0].tokens.back(), whole[0].tokens.back());
  EXPECT_EQ(group[0].tokens.size() - group[0].first_scored,
            whole[0].tokens.size() - whole[0].first_scored);
  const Question long_answer{.kind = "", .choices = {{"a", text, 6}, {"a", " Lo", 2}}};
  EXPECT_EQ(TokensOf(long_answer, tokenizer(), 50).error().code, ErrorCode::kContextFull);
}

TEST_F(TokensOfQuestion, NoContextIsTheBeginningOfAText) {
  const Question q{.kind = "", .choices = {{"", "God", 3}, {"", "Lo", 2}}};
  const auto group = TokensOf(q, tokenizer(), 50).value();
  EXPECT_GE(group[0].first_scored, 1u);
  EXPECT_LT(group[0].first_scored, group[0].tokens.size());
}

TEST(AnswerOf, SumsAndLengths) {
  const Question q{.kind = "", .choices = {{"", "", 2}, {"", "", 10}, {"", "", 1}}};
  const Answer answer = AnswerOf(q, {{{1, false}, {1, true}}, {{3, false}}, {{2, false}}});
  EXPECT_EQ(answer.log_likelihoods, (std::vector<double>{-2, -3, -2}));
  EXPECT_EQ(answer.chosen, 0u);       // the first of equals
  EXPECT_EQ(answer.chosen_norm, 1u);  // -1, -0.3, -2
}

}  // namespace
}  // namespace bittern::eval
