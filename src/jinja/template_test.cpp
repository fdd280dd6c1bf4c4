// SPDX-License-Identifier: Apache-2.0
// Goldens of python3-jinja2 (tests/jinja), the marks of strings, limits, and the words of errors.
#include "jinja/template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/json/json.hpp"

namespace bittern::jinja {
namespace {

using testing::HasSubstr;

constexpr JsonLimits kJson = {.max_depth = 100};

/// 2026-01-02 03:04:05, a Friday, as in tests/jinja/oracle.py.
std::tm Clock() {
  std::tm now = {};
  now.tm_year = 126;
  now.tm_mday = 2;
  now.tm_hour = 3;
  now.tm_min = 4;
  now.tm_sec = 5;
  now.tm_wday = 5;
  now.tm_yday = 1;
  return now;
}

Result<Text> Render(std::string_view source, const Names& names = {}, const Limits& limits = {}) {
  auto compiled = Template::Compile(source, limits);
  if (!compiled.has_value()) return tl::unexpected(compiled.error());
  return compiled->Render(names, Clock());
}

Names ToNames(const Json& json) {
  Names names;
  for (const auto& [name, value] : *json.AsObject()) {
    names.emplace_back(name, FromJson(value, Origin::Input()).value());
  }
  return names;
}

TEST(JinjaGoldens, AsPythonRendersThem) {
  std::ifstream file(BITTERN_SOURCE_DIR "/src/jinja/testdata/goldens.jsonl");
  Names names;
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto golden = Json::Parse(line, kJson);
    ASSERT_TRUE(golden.has_value()) << golden.error().message;
    if (const Json* given = golden->Find("names")) names = ToNames(*given);
    const std::string& source = *golden->Find("template")->AsString();
    const auto text = Render(source, names);
    if (const Json* error = golden->Find("error")) {
      EXPECT_FALSE(text.has_value())
          << source << "\nPython: " << *error->AsString() << "\nfound: " << text->bytes();
      continue;
    }
    ASSERT_TRUE(text.has_value()) << source << '\n' << text.error().message;
    EXPECT_EQ(text->bytes(), *golden->Find("text")->AsString()) << source;
  }
  EXPECT_GT(count, 140);
}

/// The bytes that came from outside, each run in [].
std::string Marked(std::string_view source, const Names& names) {
  const auto text = Render(source, names);
  if (!text.has_value()) return text.error().message;
  std::string out;
  std::size_t begin = 0;
  for (const Text::Run& run : text->runs()) {
    const std::string part = text->bytes().substr(begin, run.end - begin);
    out += run.from_input() ? "[" + part + "]" : part;
    begin = run.end;
  }
  return out;
}

TEST(JinjaMarks, GoWithEveryByte) {
  const Names names = {{"x", Value::String("a<b>c", Origin::Input())},
                       {"y", Value::String(" In Put ", Origin::Input())}};
  EXPECT_EQ(Marked("<s>{{ x }}</s>", names), "<s>[a<b>c]</s>");
  EXPECT_EQ(Marked("{{ '<' + x + '>' }}", names), "<[a<b>c]>");
  EXPECT_EQ(Marked("{{ '<' ~ x[1:] ~ '>' }}", names), "<[<b>c]>");
  EXPECT_EQ(Marked("{{ y | trim | upper }}!", names), "[IN PUT]!");
  EXPECT_EQ(Marked("{{ ('t' + x).split('<') | join('|') }}", names), "t[a]|[b>c]");
  EXPECT_EQ(Marked("{{ x.replace('<b>', '<eot>') }}", names), "[a]<eot>[c]");
  EXPECT_EQ(Marked("{{ '{}-{}'.format(x, 1) }}", names), "[a<b>c]-1");
  EXPECT_EQ(Marked("{{ '%s.' % x }}", names), "[a<b>c].");
  EXPECT_EQ(Marked("{{ {'k': x} | tojson }}", names), "{\"k\": \"[a<b>c]\"}");
  EXPECT_EQ(Marked("{{ [x] }}", names), "['[a<b>c]']");
  EXPECT_EQ(Marked("{% set z %}<{{ x }}{% endset %}{{ z | indent }}", names), "<[a<b>c]");
  EXPECT_EQ(Marked("{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(x) | lower }}", names),
            "<[a<b>c]>");
  EXPECT_EQ(Marked("{{ x | reverse }}{{ x * 2 }}", names), "[c>b<aa<b>ca<b>c]");
}

void ExpectError(std::string_view source, ErrorCode code, const std::string& part,
                 const Limits& limits = {}) {
  const auto text = Render(source, {}, limits);
  ASSERT_FALSE(text.has_value()) << source;
  EXPECT_EQ(text.error().code, code) << text.error().message;
  EXPECT_THAT(text.error().message, HasSubstr(part));
}

TEST(JinjaErrors, NameLineAndConstruct) {
  constexpr auto kRefused = ErrorCode::kInvalidArgument;
  ExpectError("a\n{{ raise_exception('no system role') }}", kRefused,
              "line 2: call of raise_exception: no system role");
  ExpectError("\n\n{{ x.y }}", kRefused, "line 3: .y: 'x' is undefined");
  ExpectError("{{ 1 | nofilter }}", kRefused, "line 1: filter \"nofilter\": no filter named");
  ExpectError("{% for i in 5 %}{% endfor %}", kRefused,
              "line 1: for: 'int' object is not iterable");
  ExpectError("\n{% if x %}", ErrorCode::kCorruptFile, "\"{% endif %}\" expected, the end of");
  ExpectError("{{ a b }}", ErrorCode::kCorruptFile, "\"}}\" expected, \"b\" found");
  ExpectError("{% include 'x' %}", ErrorCode::kUnsupported, "{% include %} is not supported");
}

TEST(JinjaErrors, PlacesOfStartswithMustBeNumbers) {
  ExpectError("{{ 'abc'.startswith(*'ab'|sort) }}", ErrorCode::kInvalidArgument, "whole numbers");
  ExpectError("{{ 'abc'.endswith('c', 0, 'b') }}", ErrorCode::kInvalidArgument, "whole numbers");
}

TEST(JinjaLimits, EndlessAndHugeTemplatesEnd) {
  constexpr auto kLimit = ErrorCode::kUnsupported;
  const std::string loops =
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  ExpectError(loops, kLimit, "an endless loop?", {.max_steps = 100'000});
  ExpectError("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", kLimit, "nested deeper than");
  ExpectError("{{ 'x' * 1073741824 }}", kLimit, "1073741824 bytes");
  ExpectError("{{ 'x'.center(1073741824) }}", kLimit, "1073741824 bytes");
  ExpectError("{{ '%1000000000d' % 1 ~ '{:>999999999}'.format('') * 100 }}", kLimit, "bytes");
  ExpectError(
      "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(60) %}"
      "{% set ns.s = ns.s + ns.s %}{% endfor %}",
      kLimit, "bytes");
  ExpectError(
      "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}"
      "{% endfor %}",
      kLimit, "bytes");
  ExpectError(
      "{% set ns = namespace(l=[1]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}"
      "{% endfor %}",
      kLimit, "nested deeper than");
  // Small to hold, large to look at.
  ExpectError(
      "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% endfor %}{{ ns.l }}",
      kLimit, "stopped after");
  ExpectError(
      "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(40) %}"
      "{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}"
      "{{ ns.l == ns.m }}",
      kLimit, "stopped after", {.max_steps = 100'000});
  ExpectError(std::string(5 << 20, 'x'), kLimit, "a template of at most");
}

TEST(JinjaLimits, DeepSourcesAreRefused) {
  for (const std::string part : {"(", "[", "{1:", "not ", "-", "x.a(", "1+(", "a if b else "}) {
    std::string source = "{{ ";
    for (int i = 0; i < 20000; ++i) source += part;
    EXPECT_FALSE(Render(source + " }}").has_value()) << part;
  }
  std::string chain = "{{ 1", nested, tests = "{{ 1";
  for (int i = 0; i < 20000; ++i) {
    chain += "+1";
    nested += "{% if 1 %}";
    tests += "|abs";
  }
  EXPECT_FALSE(Render(chain + " }}").has_value());
  EXPECT_FALSE(Render(tests + " }}").has_value());
  EXPECT_FALSE(Render(nested).has_value());
}

TEST(JinjaLimits, CyclesAreTakenApart) {  // seen by the leak sanitizer
  EXPECT_TRUE(
      Render("{% set ns = namespace() %}{% set ns.self = ns %}"
             "{% macro m() %}{{ m }}{% endmacro %}{% set ns.m = m %}{% set ns.l = [ns, m] %}"
             "{% for i in [1] %}{% macro n() %}{{ i }}{% endmacro %}{% set ns.n = n %}"
             "{% endfor %}{{ ns.n() }}")
          .has_value());
  // A long chain of namespaces is not destroyed by recursion.
  EXPECT_TRUE(Render("{% set ns = namespace(h=none) %}{% for i in range(20000) %}"
                     "{% set ns.h = namespace(n=ns.h) %}{% endfor %}{{ 'ok' }}")
                  .has_value());
}

TEST(FromJson, RefusesIntegersBeyond64Bits) {
  const auto json = Json::Parse("18446744073709551615", kJson);
  ASSERT_TRUE(json.has_value());
  const auto value = FromJson(*json, Origin::Input());
  ASSERT_FALSE(value.has_value());
  EXPECT_THAT(value.error().message, HasSubstr("18446744073709551615"));
}

}  // namespace
}  // namespace bittern::jinja
