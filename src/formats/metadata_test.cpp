// SPDX-License-Identifier: Apache-2.0
// Typed look-up, conversions that are allowed and refused, and --override-kv.
#include "formats/metadata.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace bittern::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MetaValue Unsigned(std::uint64_t value) { return {MetaType::kU32, value}; }

template <class T>
MetaValue Array(MetaType type, const std::vector<T>& values) {
  MetaArray array;
  array.element_type = type;
  array.count = values.size();
  array.raw = std::as_bytes(std::span(values));
  return {MetaType::kArray, array};
}

TEST(Metadata, AbsentKeysAreNotErrors) {
  const Metadata metadata;
  EXPECT_EQ(metadata.Find("a"), nullptr);
  EXPECT_EQ(metadata.GetUint("a").value(), std::nullopt);
  EXPECT_EQ(metadata.GetFloat("a").value(), std::nullopt);
  EXPECT_EQ(metadata.GetBool("a").value(), std::nullopt);
  EXPECT_EQ(metadata.GetString("a").value(), std::nullopt);
  EXPECT_FALSE(metadata.GetStrings("a").value().has_value());
  EXPECT_FALSE(metadata.GetInts("a").value().has_value());
  EXPECT_FALSE(metadata.GetFloats("a").value().has_value());
}

TEST(Metadata, UnsignedFromAnyIntegerType) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("u", {MetaType::kU64, ~std::uint64_t{0}}));
  ASSERT_TRUE(metadata.Add("i", {MetaType::kI16, std::int64_t{7}}));
  ASSERT_TRUE(metadata.Add("minus", {MetaType::kI8, std::int64_t{-7}}));
  ASSERT_TRUE(metadata.Add("f", {MetaType::kF32, 1.0}));
  EXPECT_EQ(metadata.GetUint("u").value(), ~std::uint64_t{0});
  EXPECT_EQ(metadata.GetUint("i").value(), 7u);
  const auto minus = metadata.GetUint("minus");
  ASSERT_FALSE(minus);
  EXPECT_EQ(minus.error().code, ErrorCode::kCorruptFile);
  EXPECT_EQ(minus.error().message, "key \"minus\": an integer of 0 or more expected, -7 found");
  EXPECT_EQ(metadata.GetUint("f").error().message, "key \"f\": an integer expected, f32 found");
}

TEST(Metadata, FloatFromAnyNumber) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("f", {MetaType::kF32, 0.5}));
  ASSERT_TRUE(metadata.Add("u", Unsigned(10000)));
  ASSERT_TRUE(metadata.Add("i", {MetaType::kI32, std::int64_t{-3}}));
  ASSERT_TRUE(metadata.Add("s", {MetaType::kString, std::string_view("1")}));
  EXPECT_EQ(metadata.GetFloat("f").value(), 0.5);
  EXPECT_EQ(metadata.GetFloat("u").value(), 10000.0);
  EXPECT_EQ(metadata.GetFloat("i").value(), -3.0);
  EXPECT_EQ(metadata.GetFloat("s").error().message, "key \"s\": a number expected, str found");
}

TEST(Metadata, WrongTypesNameKeyExpectedAndFound) {
  Metadata metadata;
  const std::vector<std::uint8_t> bytes = {1, 2};
  ASSERT_TRUE(metadata.Add("n", Unsigned(1)));
  ASSERT_TRUE(metadata.Add("a", Array(MetaType::kU8, bytes)));
  EXPECT_EQ(metadata.GetBool("n").error().message, "key \"n\": a bool expected, u32 found");
  EXPECT_EQ(metadata.GetString("a").error().message,
            "key \"a\": a string expected, array of u8 found");
  EXPECT_EQ(metadata.GetStrings("a").error().message,
            "key \"a\": an array of str expected, array of u8 found");
  EXPECT_EQ(metadata.GetInts("a").error().message,
            "key \"a\": an array of i32, u32 or i8 expected, array of u8 found");
  EXPECT_EQ(metadata.GetFloats("n").error().message,
            "key \"n\": an array of f32 expected, u32 found");
}

TEST(Metadata, ArraysOfNumbersMayBeUnaligned) {
  std::vector<std::byte> file(1 + 8);
  const std::int32_t numbers[] = {-5, 6};
  std::memcpy(file.data() + 1, numbers, 8);
  MetaArray array{MetaType::kI32, 2, std::span(file).subspan(1), {}};
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("i", {MetaType::kArray, array}));
  array.element_type = MetaType::kF32;
  ASSERT_TRUE(metadata.Add("f", {MetaType::kArray, array}));
  EXPECT_THAT(metadata.GetInts("i").value().value(), ElementsAre(-5, 6));
  EXPECT_EQ(metadata.GetFloats("f").value().value().size(), 2u);
}

TEST(Metadata, BytesWithASignAreInts) {
  const std::vector<std::int8_t> bytes = {1, -1, -128};
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("b", Array(MetaType::kI8, bytes)));
  EXPECT_THAT(metadata.GetInts("b").value().value(), ElementsAre(1, -1, -128));
}

TEST(Metadata, UnsignedArraysMustFitInts) {
  const std::vector<std::uint32_t> good = {0, 0x7fffffff}, bad = {1, 0x80000000};
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("good", Array(MetaType::kU32, good)));
  ASSERT_TRUE(metadata.Add("bad", Array(MetaType::kU32, bad)));
  EXPECT_THAT(metadata.GetInts("good").value().value(), ElementsAre(0, 0x7fffffff));
  EXPECT_THAT(metadata.GetInts("bad").error().message,
              HasSubstr("key \"bad\": element 1 is 2147483648"));
}

TEST(Metadata, KeysAreUniqueAndOrdered) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("b", Unsigned(1)));
  ASSERT_TRUE(metadata.Add("a", Unsigned(2)));
  const auto again = metadata.Add("b", Unsigned(3));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "key \"b\" appears twice");
  ASSERT_EQ(metadata.entries().size(), 2u);
  EXPECT_EQ(metadata.entries()[0].key, "b");
  EXPECT_EQ(metadata.GetUint("b").value(), 1u);
}

TEST(MetadataOverride, TellsWhetherAKeyWasRead) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Override("n=int:1"));
  ASSERT_TRUE(metadata.Override("m=int:1"));
  EXPECT_TRUE(metadata.GetUint("n").has_value());
  EXPECT_TRUE(metadata.WasRead("n"));
  EXPECT_FALSE(metadata.WasRead("m"));
  EXPECT_FALSE(metadata.WasRead("absent"));
  ASSERT_TRUE(metadata.Override("n=int:2"));
  EXPECT_FALSE(metadata.WasRead("n"));
}

TEST(MetadataOverride, ReplacesAndAdds) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("n", Unsigned(1)));
  ASSERT_TRUE(metadata.Override("n=int:-12"));
  ASSERT_TRUE(metadata.Override("f=float:1e-5"));
  ASSERT_TRUE(metadata.Override("t=bool:true"));
  ASSERT_TRUE(metadata.Override("b=bool:false"));
  ASSERT_TRUE(metadata.Override("tokenizer.ggml.pre=str:llama-bpe"));
  ASSERT_TRUE(metadata.Override("odd=str:a=b:c"));  // only the first = and : count
  ASSERT_TRUE(metadata.Override("none=str:"));
  EXPECT_THAT(metadata.GetUint("n").error().message, HasSubstr("-12 found"));
  EXPECT_EQ(metadata.GetFloat("f").value(), 1e-5);
  EXPECT_EQ(metadata.GetBool("t").value(), true);
  EXPECT_EQ(metadata.GetBool("b").value(), false);
  EXPECT_EQ(metadata.GetString("tokenizer.ggml.pre").value(), "llama-bpe");
  EXPECT_EQ(metadata.GetString("odd").value(), "a=b:c");
  EXPECT_EQ(metadata.GetString("none").value(), "");
  EXPECT_EQ(metadata.entries().size(), 7u);
  EXPECT_TRUE(metadata.entries()[0].overridden);
}

TEST(MetadataOverride, AnotherArchitectureFindsTheNumbersOfTheFirst) {
  Metadata metadata;
  ASSERT_TRUE(metadata.AddString("general.architecture", "llama"));
  ASSERT_TRUE(metadata.AddUint("llama.block_count", 6));
  ASSERT_TRUE(metadata.AddUint("llama.context_length", 64));
  ASSERT_TRUE(metadata.AddUint("llamas.block_count", 7));
  ASSERT_TRUE(metadata.AddUint("bitnet.context_length", 32));
  ASSERT_TRUE(metadata.Override("general.architecture=str:bitnet"));
  EXPECT_EQ(metadata.GetString("general.architecture").value(), "bitnet");
  EXPECT_EQ(metadata.GetUint("bitnet.block_count").value(), 6u);
  EXPECT_EQ(metadata.Find("llama.block_count"), nullptr);
  EXPECT_EQ(metadata.GetUint("bitnet.context_length").value(), 32u);  // was there: stays
  EXPECT_EQ(metadata.GetUint("llamas.block_count").value(), 7u);
  ASSERT_TRUE(metadata.Override("bitnet.block_count=int:5"));
  EXPECT_EQ(metadata.GetUint("bitnet.block_count").value(), 5u);
}

TEST(MetadataOverride, TextsSurviveAMove) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Override("a=str:x"));  // short enough to live inside a std::string
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(metadata.Override(fmt::format("k{}=int:1", i)));
  const Metadata moved = std::move(metadata);
  EXPECT_EQ(moved.GetString("a").value(), "x");
}

TEST(MetadataOverride, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"",
                           "key",
                           "=int:1",
                           "key=",
                           "key=int",
                           "key=int:",
                           "key=int:1x",
                           "key=int: 1",
                           "key=int:9223372036854775808",
                           "key=int:1.5",
                           "key=float:",
                           "key=float:x",
                           "key=float:nan",
                           "key=float:inf",
                           "key=float:1e999",
                           "key=bool:1",
                           "key=bool:True",
                           "key=u32:1",
                           "key=STR:x",
                           "key:int=1"}) {
    Metadata metadata;
    const auto result = metadata.Override(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(result.error().message, HasSubstr(std::string("override \"") + text)) << text;
    EXPECT_TRUE(metadata.entries().empty()) << text;
  }
}

TEST(MetaTypeName, KnowsAllAndNothingElse) {
  EXPECT_EQ(MetaTypeName(MetaType::kU8), "u8");
  EXPECT_EQ(MetaTypeName(MetaType::kBool), "bool");
  EXPECT_EQ(MetaTypeName(MetaType::kF64), "f64");
  EXPECT_EQ(MetaTypeName(static_cast<MetaType>(13)), "unknown type");
}

TEST(Metadata, OwnsWhatComesFromNoFile) {
  Metadata metadata;
  {
    const std::vector<std::string> texts = {"a", "", std::string(100, 'b')};
    ASSERT_TRUE(metadata.AddStrings("texts", texts));
    ASSERT_TRUE(metadata.AddString("text", std::string(50, 'c')));
    ASSERT_TRUE(metadata.AddInts("ints", std::vector<std::int32_t>{-1, 2}));
    ASSERT_TRUE(metadata.AddFloats("floats", std::vector<float>{0.5f}));
  }
  ASSERT_TRUE(metadata.AddUint("uint", 4294967295u));
  ASSERT_TRUE(metadata.AddFloat("float", 1e-5f));
  ASSERT_TRUE(metadata.AddBool("bool", true));
  const Metadata moved = std::move(metadata);
  const auto texts = moved.GetStrings("texts").value().value();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0], "a");
  EXPECT_EQ(texts[1], "");
  EXPECT_EQ(texts[2], std::string(100, 'b'));
  EXPECT_EQ(moved.GetString("text").value(), std::string(50, 'c'));
  EXPECT_EQ(moved.GetInts("ints").value(), (std::vector<std::int32_t>{-1, 2}));
  EXPECT_EQ(moved.GetFloats("floats").value(), (std::vector<float>{0.5f}));
  EXPECT_EQ(moved.GetUint("uint").value(), 4294967295u);
  EXPECT_EQ(moved.GetFloat("float").value(), static_cast<double>(1e-5f));
  EXPECT_EQ(moved.GetBool("bool").value(), true);
}

}  // namespace
}  // namespace bittern::formats
