// SPDX-License-Identifier: Apache-2.0
// Which texts each notation takes, one rule a line. The verdicts on regular expressions are those
// of Python's re.fullmatch with re.ASCII; schemas write JSON in one way only
// (docs/structured-output.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/automaton/grammar.hpp"
#include "grammar/compiled_grammar.hpp"
#include "grammar/constraint.hpp"
#include "grammar/matcher.hpp"

namespace bittern::grammar {
namespace {

using testing::HasSubstr;

struct Verdicts {
  const char* source;
  std::vector<const char*> whole, not_whole;
};

std::shared_ptr<const VocabularyTrie> Bytes() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return std::make_shared<const VocabularyTrie>(VocabularyTrie::Build(tokens));
}

void ExpectVerdicts(ConstraintKind kind, const std::vector<Verdicts>& all) {
  const auto vocabulary = Bytes();
  for (const auto& [source, whole, not_whole] : all) {
    const auto grammar = GrammarOf({kind, source});
    ASSERT_TRUE(grammar.has_value()) << source << ": " << grammar.error().message;
    const auto compiled = CompiledGrammar::Create(*grammar, vocabulary).value();
    const auto takes = [&](const char* text) {
      Matcher matcher(compiled);
      return matcher.AcceptBytes(text) && matcher.accepting();
    };
    for (const char* text : whole) EXPECT_TRUE(takes(text)) << source << " of " << text;
    for (const char* text : not_whole) EXPECT_FALSE(takes(text)) << source << " of " << text;
  }
}

TEST(Texts, RegularExpressions) {
  ExpectVerdicts(ConstraintKind::kRegex, {
                                             {"a|b|ab", {"a", "b", "ab"}, {"ba", "", "abb"}},
                                             {"(a|b)*c", {"c", "abac"}, {"ab", "cc"}},
                                             {"a{2,4}", {"aa", "aaaa"}, {"a", "aaaaa"}},
                                             {"a{2,}b?", {"aa", "aab"}, {"ab", "aaaabb"}},
                                             {"a{3}", {"aaa"}, {"aa", "aaaa"}},
                                             {"[a-c]+[^a-c]", {"ad", "abcx"}, {"abc", "d"}},
                                             {"[^\\n]", {"x", "é", "😀"}, {"\n"}},
                                             {".", {"a", "é"}, {"\n", "ab", ""}},
                                             {"\\d{2}\\.\\d", {"12.3"}, {"1.2", "12x3"}},
                                             {"\\w+@\\w+", {"a_1@b"}, {"a@", "@b", "a b@c"}},
                                             {"\\s*x\\S", {"  xy", "\t\nx."}, {"x "}},
                                             {"(?:ab){2}", {"abab"}, {"ab", "ababab"}},
                                             {"^ab$", {"ab"}, {"xab", "abx"}},
                                             {"a?a?a?aaa", {"aaa", "aaaaaa"}, {"aaaaaaa", "aa"}},
                                             {"(a*)*b", {"b", "aaab"}, {"aaaa"}},
                                             {"[a\\]b]+", {"a]b", "]"}, {"["}},
                                             {"[-a]", {"-", "a"}, {"b"}},
                                             {"[a-]", {"-", "a"}, {"b"}},
                                             {"\\.\\*\\+", {".*+"}, {"..+"}},
                                             {"\\x41\\u00e9", {"Aé"}, {"A"}},
                                             {"a|", {"a", ""}, {"b"}},
                                             {"(|b)c", {"c", "bc"}, {"bbc"}},
                                             {"x{0}y", {"y"}, {"xy"}},
                                             {"x{0,1}", {"", "x"}, {"xx"}},
                                             {"[\\d_]+", {"12_"}, {"a"}},
                                             {"[^\\d\\s]", {"a"}, {"1", " "}},
                                             {"é+", {"é", "éé"}, {"e"}},
                                             {"\\t\\n\\r", {"\t\n\r"}, {"tnr"}},
                                             {"[é-ü]", {"ê", "ü"}, {"z"}},
                                             {"(ab|a)(bc|c)", {"abc", "abbc", "ac"}, {"ab"}},
                                             {"\\D\\W", {"a!"}, {"1!", "aa"}},
                                         });
}

TEST(Texts, Gbnf) {
  ExpectVerdicts(
      ConstraintKind::kGbnf,
      {{"root ::= \"a\" | \"b\" \"c\"", {"a", "bc"}, {"b", "ac", "abc", ""}},
       {"root ::= (\"a\" | \"b\") \"c\"", {"ac", "bc"}, {"a", "b"}},
       {"root ::= \"a\"* \"b\"+ \"c\"?", {"b", "aabbc"}, {"a", "c", "ac"}},
       {"root ::= x{2} y{1,} z{0,1}\nx ::= \"x\"\ny ::= \"y\"\nz ::= \"z\"",
        {"xxy", "xxyyz"},
        {"xy", "xx", "xxyzz", "xxxy"}},
       {"root ::= \"(\" root \")\" | \"\"", {"", "(())"}, {"(", "())"}},
       {"root ::= [^a-c\\]] .", {"dé", "-x"}, {"ad", "]d", "d"}},
       {"root ::= \"\\x41\\u00e9\\U0001F600\\n\\\"\"", {"Aé😀\n\""}, {"Aé😀n\""}},
       {"# a comment\nroot ::= # another\n  \"a\" |\n  \"b\"", {"a", "b"}, {"ab"}},
       {"root ::= list\nlist ::= item (\",\" item)*\nitem ::= [0-9]+", {"1", "12,3"}, {"", "1,"}}});
}

TEST(Texts, Schemas) {
  ExpectVerdicts(
      ConstraintKind::kJsonSchema,
      {{R"({"type": "integer"})", {"0", "-7", "120"}, {"01", "-0.5", "1e2", "+1", "\"1\""}},
       {R"({"type": "integer", "minimum": -3, "maximum": 12})",
        {"-3", "0", "9", "12"},
        {"-4", "13", "120", "-30"}},
       {R"({"type": "integer", "exclusiveMinimum": 7, "maximum": 100})",
        {"8", "10", "99", "100"},
        {"7", "0", "101", "-8"}},
       {R"({"type": "integer", "multipleOf": 5, "minimum": 0})", {"0", "5", "10"}, {"1", "12"}},
       {R"({"type": "number"})", {"0", "-1.5", "2e3"}, {"1.", ".5", "--1", "NaN", "1e"}},
       {R"({"type": "string", "minLength": 2, "maxLength": 3})",
        {R"("ab")", R"("éü")", R"("a\"b")", R"("😀😀😀")"},
        {R"("a")", R"("abcd")", R"("a)", R"("\n")"}},
       {R"({"type": "string", "pattern": "^a+$"})", {R"("a")", R"("aaa")"}, {R"("")", R"("ab")"}},
       {R"({"type": "string", "pattern": "b"})", {R"("b")", R"("abc")"}, {R"("")", R"("ac")"}},
       {R"({"enum": ["a", 1, null, [2], {"k": true}]})",
        {R"("a")", "1", "null", "[2]", R"({"k": true})"},
        {R"("b")", "2", "true", "[]"}},
       {R"({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2})",
        {"[true]", "[true, false]"},
        {"[]", "[true, true, true]", "[1]", "[true,false]"}},
       {R"({"type": "array", "prefixItems": [{"type": "null"}], "items": {"const": 1}})",
        {"[null]", "[null, 1, 1]"},
        {"[1]", "[null, null]"}},
       {R"({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
            "required": ["b"], "additionalProperties": false})",
        {R"({"b": null})", R"({"a": null, "b": null})"},
        {"{}", R"({"a": null})", R"({"b": null, "a": null})", R"({"b": null, "c": 1})"}},
       {R"({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 0}]})",
        {"null", R"("")"},
        {R"("a")", "0"}},
       {R"({"type": "boolean", "not": {"const": true}})", {"false"}, {"true", "null"}},
       {R"({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"type": "null"},
            {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 1}]}}})",
        {"null", "[null]", "[[[null]]]", "[]"},
        {"[null, null]", "[1]"}},
       {R"({"type": "string", "format": "date"})",
        {R"("2026-02-28")", R"("1999-12-31")"},
        {R"("2026-02-29")", R"("2026-13-01")", R"("0000-01-01")", R"("2026-04-31")"}},
       {R"({"type": "string", "format": "ipv4"})",
        {R"("0.0.0.0")", R"("255.199.9.10")"},
        {R"("256.1.1.1")", R"("1.1.1")", R"("01.1.1.1")"}}});
}

struct Refusal {
  ConstraintKind kind;
  const char *source, *says;
};

TEST(Texts, RefusalsNameTheTrouble) {
  constexpr auto kGbnf = ConstraintKind::kGbnf;
  constexpr auto kRegex = ConstraintKind::kRegex;
  constexpr auto kSchema = ConstraintKind::kJsonSchema;
  const Refusal refusals[] = {
      {kGbnf, "", "root"},
      {kGbnf, "root ::= other", "other"},
      {kGbnf, "root ::= root \"a\" | \"b\"", "root"},
      {kGbnf, "root ::= \"a", "\""},
      {kGbnf, "root ::= (\"a\"", ")"},
      {kGbnf, "root ::= \"a\"{3,2}", "least and most"},
      {kRegex, "(a", ")"},
      {kRegex, "a)", ")"},
      {kRegex, "*a", "*"},
      {kRegex, "[b-a]", "ascending"},
      {kRegex, "(?=a)", "look"},
      {kRegex, "(a)\\1", "back"},
      {kRegex, "\\bword", "word boundary"},
      {kRegex, "ab{0,100000}", "at most 10000 repetitions expected, \"{0,10000\" found"},
      {kSchema, "{", "JSON"},
      {kSchema, R"({"type": "strin"})", "strin"},
      {kSchema, R"({"$ref": "#/nowhere"})", "nowhere"},
      {kSchema, R"({"$ref": "http://elsewhere/s.json"})", "elsewhere"},
      {kSchema, R"({"type": "string", "pattern": "("})", "pattern"},
      {kSchema, R"({"enum": []})", "no text at all"},
      {kSchema, R"({"type": "integer", "minimum": 3, "maximum": 2})", "allows no"},
      {kSchema, "false", "allows no"}};
  for (const auto& [kind, source, says] : refusals) {
    const auto checked = CheckConstraint({kind, source});
    ASSERT_FALSE(checked.has_value()) << source;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument) << source;
    EXPECT_THAT(checked.error().message, HasSubstr(says)) << source;
  }
}

}  // namespace
}  // namespace bittern::grammar
