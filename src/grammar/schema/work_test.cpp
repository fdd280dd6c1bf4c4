// SPDX-License-Identifier: Apache-2.0
// Small schemas that would take long: each is refused by the count of its work. The sizes below
// took from a second to minutes of CPU time before the work was counted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <string>

#include "grammar/constraint.hpp"

namespace bittern::grammar {
namespace {

using testing::HasSubstr;

/// A list of `count` parts with commas between them.
std::string ListOf(int count, const std::function<std::string(int)>& part) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + part(i);
  return list;
}

std::string Conditions(int count) {
  return fmt::format(
      R"({{"type":"object","allOf":[{}]}})", ListOf(count, [](int i) {
        return fmt::format(
            R"({{"if":{{"properties":{{"a{0}":{{"const":1}}}},"required":["a{0}"]}},)"
            R"("then":{{"required":["b{0}"]}},"else":{{"required":["c{0}"]}}}})",
            i);
      }));
}

/// Told apart by a constant.
std::string Kinds(int count) {
  return fmt::format(R"({{"oneOf":[{}]}})", ListOf(count, [](int i) {
                       return fmt::format(
                           R"({{"type":"object","properties":{{"k":{{"const":{0}}}}},)"
                           R"("required":["k","p{0}"]}})",
                           i);
                     }));
}

/// Told apart by what another one requires.
std::string OneOf(int count) {
  return fmt::format(R"({{"oneOf":[{}]}})", ListOf(count, [](int i) {
                       return fmt::format(R"({{"type":"object","required":["p{}"]}})", i);
                     }));
}

/// Property i brings in property i + 1.
std::string Ring(int count) {
  return fmt::format(R"({{"type":"object","dependentSchemas":{{{}}}}})", ListOf(count, [&](int i) {
                       return fmt::format(R"("a{}":{{"required":["a{}"]}})", i, (i + 1) % count);
                     }));
}

/// Each level says the next one twice.
std::string Levels(int count) {
  return fmt::format(R"({{"$defs":{{{},"d{}":{{"type":"integer"}}}},"$ref":"#/$defs/d0"}})",
                     ListOf(count,
                            [](int i) {
                              return fmt::format(R"("d{0}":{{"anyOf":[{{"$ref":"#/$defs/d{1}"}},)"
                                                 R"({{"$ref":"#/$defs/d{1}"}}]}})",
                                                 i, i + 1);
                            }),
                     count);
}

std::string Crossed(int count, int branches) {
  return fmt::format(R"({{"allOf":[{}]}})", ListOf(count, [&](int i) {
                       return fmt::format(R"({{"anyOf":[{}]}})", ListOf(branches, [&](int j) {
                                            return fmt::format(
                                                R"({{"type":"object","required":["p{}_{}"]}})", i,
                                                j);
                                          }));
                     }));
}

std::string Lists(int count) {
  const auto list = [&](int first) {
    return ListOf(count, [&](int i) { return fmt::format("{}", first + i); });
  };
  return fmt::format(R"({{"allOf":[{{"enum":[{}]}},{{"enum":[{}]}}]}})", list(0), list(count));
}

std::string Negations(int count) {
  return fmt::format(R"({{"type":"object","allOf":[{}]}})", ListOf(count, [](int i) {
                       return fmt::format(R"({{"not":{{"properties":{{"a{0}":{{"const":1}}}},)"
                                          R"("required":["a{0}"]}}}})",
                                          i);
                     }));
}

std::string Demands(int count) {
  const auto names = ListOf(count, [](int i) { return fmt::format(R"("p{}")", i); });
  const auto properties = ListOf(count, [](int i) { return fmt::format(R"("p{}":{{}})", i); });
  return fmt::format(
      R"({{"anyOf":[{{"type":"object","properties":{{{0}}},"required":[{1}]}},{{"type":"object"}}]}})",
      properties, names);
}

std::string Patterns(int count) {
  return fmt::format(
      R"({{"type":"object","properties":{{{}}},"patternProperties":{{{}}}}})",
      ListOf(count, [](int i) { return fmt::format(R"("p{}":{{}})", i); }),
      ListOf(count, [](int i) { return fmt::format(R"("^p{}[0-9]*x?$":{{}})", i); }));
}

/// Texts under two patterns whose product has many states, in each of many properties.
std::string Products(int count) {
  return fmt::format(R"({{"type":"object","properties":{{{}}}}})", ListOf(count, [](int i) {
                       return fmt::format(
                           R"("p{}":{{"pattern":"(a|b)*a(a|b){{{}}}$","maxLength":{}}})", i, 3,
                           40 + i);
                     }));
}

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(SchemaWork, IsCountedAndBounded) {
  const std::pair<const char*, std::string> kSchemas[] = {
      {"if", Conditions(16)},       {"oneOf", OneOf(4000)},        {"ring", Ring(40)},
      {"levels", Levels(40)},       {"anyOf", Crossed(12, 6)},     {"enum", Lists(20'000)},
      {"not", Negations(60)},       {"required", Demands(60'000)}, {"patterns", Patterns(1500)},
      {"products", Products(1500)},
  };
  for (const auto& [name, schema] : kSchemas) {
    const double begin = CpuSeconds();
    const auto grammar = GrammarOf({ConstraintKind::kJsonSchema, schema});
    const double seconds = CpuSeconds() - begin;
    ASSERT_FALSE(grammar.has_value()) << name;
    EXPECT_THAT(grammar.error().message, HasSubstr("steps of work")) << name;
    EXPECT_LT(seconds, 3) << name;  // a fifth of a second where nothing else runs
  }
}

/// Schemas of the same kinds in sizes that people write are far from the limit.
TEST(SchemaWork, IsEnoughForOrdinarySchemas) {
  for (const std::string& schema :
       {Conditions(4), Kinds(1000), OneOf(20), Ring(10), Levels(12), Crossed(3, 6), Lists(1),
        Negations(8), Demands(1000), Patterns(100)}) {
    const auto grammar = GrammarOf({ConstraintKind::kJsonSchema, schema});
    EXPECT_TRUE(grammar.has_value()) << schema.substr(0, 80) << ": " << grammar.error().message;
  }
}

}  // namespace
}  // namespace bittern::grammar
