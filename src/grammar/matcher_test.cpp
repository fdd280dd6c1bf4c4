// SPDX-License-Identifier: Apache-2.0
// Masks against their twin, which tries every token; classes of characters against UTF-8 itself.
#include "grammar/matcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/utf8.hpp"
#include "grammar/automaton/utf8_ranges.hpp"
#include "grammar/compiled_grammar.hpp"
#include "grammar/constraint.hpp"
#include "grammar/notation/gbnf.hpp"

namespace bittern::grammar {
namespace {

using testing::HasSubstr;

/// Every byte, and random pieces of what JSON and words are made of.
std::shared_ptr<const VocabularyTrie> RandomVocabulary(std::mt19937* random, std::size_t size) {
  std::vector<std::string> tokens = {""};
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  const std::string parts[] = {"a",  "b",  "\"", "{", "}", "[",    "]",    ", ",       ": ",
                               "\\", "n",  "1",  "2", "-", ".",    "é",    "\xe4\xb8", "\x96",
                               "😀", "\n", " ",  "x", "y", "true", "null", "\"}",      "abc"};
  while (tokens.size() < size) {
    std::string token;
    const std::size_t count = 1 + (*random)() % 5;
    for (std::size_t i = 0; i < count; ++i) token += parts[(*random)() % std::size(parts)];
    tokens.push_back(token);
  }
  return std::make_shared<const VocabularyTrie>(VocabularyTrie::Build(tokens));
}

const Constraint kConstraints[] = {
    {ConstraintKind::kJsonObject, ""},
    {ConstraintKind::kJsonSchema,
     R"({"type":"object","properties":{"a":{"type":"string","maxLength":7},"b":{"type":"array",
        "items":{"type":"number"}}},"additionalProperties":{"type":"string"}})"},
    {ConstraintKind::kJsonSchema, R"({"type":"array","items":{"type":"string","minLength":2}})"},
    {ConstraintKind::kJsonSchema,
     R"({"type":"array","items":{"type":"string"},"uniqueItems":true})"},
    {ConstraintKind::kJsonSchema,
     R"({"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"},
        "b":{"type":"array","items":{"type":"string","minLength":1},"uniqueItems":true}},
        "required":["a"]}})"},
    {ConstraintKind::kRegex, "(a|b|é)*x{2,9}|.{3,40}"},
    {ConstraintKind::kRegex, "[^a]*"},
    {ConstraintKind::kGbnf,
     "root ::= \"a\" root \"b\" | [a-x]* \"y\" | \"[\" root? \"]\" | root2\n"
     "root2 ::= \"{\" (root2 \", \")* \"}\""}};

TEST(Matcher, MasksAreWhatTryingEveryTokenSays) {
  std::mt19937 random(11);
  for (const Constraint& constraint : kConstraints) {
    const auto vocabulary = RandomVocabulary(&random, 1500);
    const Grammar grammar = GrammarOf(constraint).value();
    const auto compiled = CompiledGrammar::Create(grammar, vocabulary).value();
    for (int text = 0; text < 12; ++text) {
      Matcher matcher(compiled);
      for (int step = 0; step < 25; ++step) {
        const auto mask = matcher.Mask().value();
        std::vector<TokenId> allowed;
        for (std::size_t i = 1; i < vocabulary->vocab_size(); ++i) {
          const auto id = static_cast<TokenId>(i);
          Matcher trial = matcher;
          const bool goes_on = trial.AcceptBytes(vocabulary->bytes(id));
          ASSERT_EQ(mask->Allows(id), goes_on)
              << constraint.text << " token \"" << vocabulary->bytes(id) << '"';
          if (goes_on) allowed.push_back(id);
        }
        ASSERT_FALSE(mask->Allows(0));
        ASSERT_EQ(mask->count, allowed.size());
        ASSERT_EQ(mask->may_end, matcher.accepting());
        ASSERT_EQ(matcher.complete(), allowed.empty());
        if (allowed.empty()) break;
        ASSERT_TRUE(matcher.Accept(allowed[random() % allowed.size()]).has_value());
      }
    }
  }
}

TEST(Matcher, ForcedBytesAreTheOnlyOnes) {
  const auto vocabulary = VocabularyTrie::Build(std::vector<std::string>{"a", "b", "abc", "c"});
  const auto compiled = CompiledGrammar::Create(ParseGbnf("root ::= \"abc\" [ab] \"c\"?").value(),
                                                std::make_shared<const VocabularyTrie>(vocabulary))
                            .value();
  Matcher matcher(compiled);
  EXPECT_EQ(matcher.Forced(100), "abc");
  EXPECT_EQ(matcher.Forced(2), "ab");
  ASSERT_TRUE(matcher.AcceptBytes("abc"));
  EXPECT_EQ(matcher.Forced(100), "");
  ASSERT_TRUE(matcher.AcceptBytes("a"));
  EXPECT_EQ(matcher.Forced(100), "") << "the text may end here";
  EXPECT_FALSE(matcher.Accept(0).has_value());
  EXPECT_TRUE(matcher.Accept(3).has_value());
  EXPECT_TRUE(matcher.complete());
}

TEST(Matcher, SaysWhereTheVocabularyCannotGoOn) {
  const auto compiled =
      CompiledGrammar::Create(ParseGbnf("root ::= \"az\"").value(),
                              std::make_shared<const VocabularyTrie>(
                                  VocabularyTrie::Build(std::vector<std::string>{"a", "b"})))
          .value();
  Matcher matcher(compiled);
  ASSERT_TRUE(matcher.Accept(0).has_value());
  const auto mask = matcher.Mask();
  ASSERT_FALSE(mask.has_value());
  // It names no field: the request may have had a schema.
  EXPECT_TRUE(mask.error().message.starts_with("no token of the vocabulary"))
      << mask.error().message;
}

TEST(Utf8Ranges, AreTheCharactersOfTheRange) {
  std::mt19937 random(2);
  const char32_t edges[] = {0,       0x7f,    0x80,    0x7ff,   0x800,    0xfff,
                            0x1000,  0xd7ff,  0xd800,  0xdfff,  0xe000,   0xffff,
                            0x10000, 0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10ffff};
  for (int trial = 0; trial < 300; ++trial) {
    const auto any = [&] {
      const char32_t at = edges[random() % std::size(edges)];
      return std::min<char32_t>(at + (random() % 3 == 0 ? random() % 300 : 0), 0x10ffff);
    };
    char32_t first = any(), last = any();
    if (first > last) std::swap(first, last);
    std::vector<ByteSequence> sequences;
    AppendUtf8Sequences({first, last}, &sequences);
    const auto matches = [&](char32_t c) {
      std::string bytes;
      AppendUtf8(c, &bytes);
      int found = 0;
      for (const ByteSequence& sequence : sequences) {
        bool all = sequence.size == bytes.size();
        for (std::size_t i = 0; all && i < bytes.size(); ++i) {
          const auto byte = static_cast<std::uint8_t>(bytes[i]);
          all = sequence.spans[i].low <= byte && byte <= sequence.spans[i].high;
        }
        found += all ? 1 : 0;
      }
      return found;
    };
    for (int probe = 0; probe < 200; ++probe) {
      const char32_t c = probe < 6 ? first + probe - 3 : probe < 12 ? last + probe - 9 : any();
      if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) continue;
      ASSERT_EQ(matches(c), c >= first && c <= last ? 1 : 0)
          << static_cast<unsigned>(first) << ".." << static_cast<unsigned>(last) << " at "
          << static_cast<unsigned>(c);
    }
  }
}

}  // namespace
}  // namespace bittern::grammar
