// SPDX-License-Identifier: Apache-2.0
#include "proof/trace/subjects.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace bittern::proof {
namespace {

using Kind = TraceSubject::Kind;

TEST(Subjects, AreToldApartByTheirTexts) {
  EXPECT_EQ(ParseSubject("isa=scalar").value().kind, Kind::kIsa);
  EXPECT_EQ(ParseSubject("isa=scalar").value().text, "scalar");
  EXPECT_EQ(ParseSubject("kv=i8").value().kv_type, model::KvType::kI8);
  EXPECT_EQ(ParseSubject("kv=f32").value().kv_type, model::KvType::kF32);
  EXPECT_EQ(ParseSubject("a/model.gguf").value().kind, Kind::kModel);
  EXPECT_EQ(ParseSubject("").value().text, "");
  const auto wrong = ParseSubject("kv=f8");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "kv=f16, kv=f32 or kv=i8 expected, kv=f8 found");
}

TEST(Subjects, AFolderWithATraceIsADump) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "subject";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(ParseSubject(folder.string()).value().kind, Kind::kModel);
  std::ofstream(folder / "trace.json") << "{";
  EXPECT_EQ(ParseSubject(folder.string()).value().kind, Kind::kDump);
  const std::string specs[] = {folder.string()};
  EXPECT_FALSE(TraceSubjects(specs, {}));  // a broken one: nothing is loaded or run
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace bittern::proof
