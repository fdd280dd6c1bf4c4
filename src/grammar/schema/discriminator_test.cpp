// SPDX-License-Identifier: Apache-2.0
#include "grammar/schema/discriminator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.hpp"

namespace bittern::grammar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The rivals of each branch of a schema with "oneOf".
std::vector<std::vector<std::size_t>> RivalsIn(const std::string& text) {
  const Json schema = *Json::Parse(text, {});
  SchemaDocument document(schema);
  std::vector<SchemaAt> branches;
  for (const Json& branch : schema["oneOf"].elements()) branches.push_back({&branch, "/oneOf"});
  const Discriminator discriminator(&document, branches);
  std::vector<std::vector<std::size_t>> rivals;
  for (std::size_t i = 0; i < branches.size(); ++i) rivals.push_back(discriminator.RivalsOf(i));
  return rivals;
}

std::string Branch(const std::string& property, const std::string& more = R"(,"type":"object")") {
  return R"({"properties":{)" + property + R"(},"required":["k"])" + more + "}";
}

std::string OneOf(const std::vector<std::string>& branches) {
  std::string list;
  for (const std::string& branch : branches) list += (list.empty() ? "" : ",") + branch;
  return R"({"oneOf":[)" + list + R"(],"$defs":{"b":)" + Branch(R"("k":{"const":"b"})") + "}}";
}

TEST(Discriminator, TellsBranchesApartByAConstant) {
  EXPECT_THAT(
      RivalsIn(OneOf({Branch(R"("k":{"const":"a"})"), R"({"$ref":"#/$defs/b"})",
                      Branch(R"("k":{"enum":["c","a"]})"), Branch(R"("k":{"const":1})"),
                      Branch(R"("k":{"const":"1"})"), Branch(R"("k":{"const":null})")})),
      ElementsAre(ElementsAre(2), IsEmpty(), ElementsAre(0), IsEmpty(), IsEmpty(), IsEmpty()));
}

/// Whole or not, a number is its value.
TEST(Discriminator, KnowsEqualNumbers) {
  EXPECT_THAT(RivalsIn(OneOf({Branch(R"("k":{"const":1})"), Branch(R"("k":{"const":1.0})"),
                              Branch(R"("k":{"const":0})"), Branch(R"("k":{"const":-0.0})")})),
              ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(3), ElementsAre(2)));
}

/// A branch whose constant tells nothing for sure stays a rival of all.
TEST(Discriminator, LeavesOthersToALook) {
  const std::string sure = Branch(R"("k":{"const":"a"})");
  for (const std::string& other :
       {Branch(R"("k":{"const":"b"})", ""), Branch(R"("k":{"const":["b"]})"), Branch(R"("k":{})"),
        Branch(R"("k":{"const":"b","$ref":"#/$defs/b"})"),
        std::string(R"({"type":"object","properties":{"k":{"const":"b"}}})"),
        Branch(R"("k":{"const":"b"})", R"(,"type":["object","string"])"), std::string("true"),
        std::string(R"({"$ref":"#/$defs/none"})")}) {
    EXPECT_THAT(RivalsIn(OneOf({sure, Branch(R"("k":{"const":"c"})"), other})),
                ElementsAre(ElementsAre(2), ElementsAre(2), ElementsAre(0, 1)))
        << other;
  }
}

}  // namespace
}  // namespace bittern::grammar
