// SPDX-License-Identifier: Apache-2.0
// A good file, then one test for each way in which a hostile one can lie.
#include "formats/safetensors/safetensors_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "formats/safetensors/safetensors_builder_for_test.hpp"

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;
using Bytes = SafetensorsBuilder::Bytes;

/// Three tensors: "a" F32 [2,3], "b" U8 [4], "s" BF16 [].
SafetensorsBuilder Good() {
  SafetensorsBuilder builder;
  builder.AddZeros("a", "F32", {2, 3}, 24).AddZeros("b", "U8", {4}, 4).AddZeros("s", "BF16", {}, 2);
  return builder;
}

/// Parses an exact-size heap copy, so that AddressSanitizer sees any read past its end.
Error Refusal(const Bytes& bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  const auto contents = ParseSafetensors({copy.get(), bytes.size()});
  if (contents) return {ErrorCode::kInternal, "parsed"};
  return contents.error();
}
std::string Message(const Bytes& bytes) { return Refusal(bytes).message; }
/// The message for the good file with one part of its header replaced.
std::string WithHeader(std::string_view from, std::string_view to) {
  return Message(Good().BuildWith(from, to));
}
std::string OfHeader(std::string_view header, std::size_t data_bytes = 0) {
  return Message(SafetensorsBuilder::Assemble(header, Bytes(data_bytes)));
}

TEST(SafetensorsReader, ReadsNamesTypesShapesAndPlaces) {
  const Bytes file = SafetensorsBuilder()
                         .Add("x", "U8", {2, 1}, {std::byte{7}, std::byte{8}})
                         .AddZeros("empty", "F32", {0, 4}, 0)
                         .AddZeros("y", "I64", {1}, 8)
                         .Build();
  const auto contents = ParseSafetensors(file);
  ASSERT_TRUE(contents) << contents.error().message;
  ASSERT_EQ(contents->entries.size(), 3u);
  const SafetensorsEntry& x = contents->entries[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, "U8");
  EXPECT_EQ(x.shape, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(x.elements, 2u);
  EXPECT_EQ(x.file_offset, contents->data_start);
  EXPECT_EQ(x.bytes[1], std::byte{8});
  EXPECT_EQ(contents->entries[1].bytes.size(), 0u);
  EXPECT_EQ(contents->entries[2].file_offset, contents->data_start + 2);
  EXPECT_EQ(contents->data_start, file.size() - 10);
}

TEST(SafetensorsReader, GoodFilesOfOddForm) {
  EXPECT_EQ(Message(Good().Build()), "parsed");
  EXPECT_EQ(OfHeader("{}"), "parsed");
  EXPECT_EQ(OfHeader("{}      "), "parsed");  // padding
  EXPECT_EQ(OfHeader(R"({"__metadata__":{"format":"pt"}})"), "parsed");
  // Offsets need not be in the header's order.
  EXPECT_EQ(OfHeader(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                     R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                     2),
            "parsed");
}

TEST(SafetensorsReader, RefusesLengthsThatLie) {
  EXPECT_THAT(Message({}), HasSubstr("header's length needs 8 bytes"));
  EXPECT_THAT(Message(Bytes(7)), HasSubstr("header's length needs 8 bytes"));
  Bytes file = Good().Build();
  const std::uint64_t too_long = file.size() - 8 + 1;
  std::memcpy(file.data(), &too_long, 8);
  EXPECT_THAT(Message(file), HasSubstr("only"));
  for (const std::uint64_t length : {std::uint64_t{100'000'001}, ~std::uint64_t{0}}) {
    std::memcpy(file.data(), &length, 8);
    EXPECT_THAT(Message(file), HasSubstr("at most 100000000 bytes"));
  }
}

TEST(SafetensorsReader, RefusesHeadersThatAreNoObject) {
  EXPECT_THAT(OfHeader(""), HasSubstr("does not begin with"));
  EXPECT_THAT(OfHeader(" {}"), HasSubstr("does not begin with"));
  EXPECT_THAT(OfHeader("[]"), HasSubstr("does not begin with"));
  EXPECT_THAT(OfHeader("{\"a\":"), HasSubstr("not valid JSON"));
  EXPECT_THAT(OfHeader("{}{}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(OfHeader("{\"a\":[[[[[[]]]]]]}"), HasSubstr("nested deeper"));
}

TEST(SafetensorsReader, RefusesRepeatedNames) {
  EXPECT_THAT(WithHeader("\"b\"", "\"a\""), HasSubstr("key \"a\" appears twice"));
}

TEST(SafetensorsReader, RefusesTypes) {
  const Error error = Refusal(Good().BuildWith("\"U8\"", "\"F4\""));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("tensor \"b\": dtype \"F4\" is not supported"));
  EXPECT_THAT(WithHeader("\"U8\"", "8"), HasSubstr("dtype is missing or no string"));
  EXPECT_THAT(WithHeader("\"dtype\"", "\"type\""), HasSubstr("dtype is missing"));
}

TEST(SafetensorsReader, RefusesShapes) {
  EXPECT_THAT(WithHeader("[2,3]", "[2,-3]"), HasSubstr("integers of 0 or more"));
  EXPECT_THAT(WithHeader("[2,3]", "[2,3.0]"), HasSubstr("integers of 0 or more"));
  EXPECT_THAT(WithHeader("[2,3]", "[2,\"3\"]"), HasSubstr("integers of 0 or more"));
  EXPECT_THAT(WithHeader("[2,3]", "6"), HasSubstr("shape: an array expected"));
  EXPECT_THAT(WithHeader("\"shape\"", "\"form\""), HasSubstr("shape is missing"));
  EXPECT_THAT(WithHeader("[2,3]", "[1,1,1,1,1,1,1,2,3]"), HasSubstr("at most 8 dimensions"));
  // 2^32 * 2^32 elements, and 2^62 elements of four bytes: both wrap to 0 if unchecked.
  EXPECT_THAT(WithHeader("[2,3]", "[4294967296,4294967296]"),
              HasSubstr("more elements than 64 bits"));
  EXPECT_THAT(WithHeader("[2,3]", "[4611686018427387904]"), HasSubstr("more bytes than 64 bits"));
}

TEST(SafetensorsReader, RefusesOffsets) {
  EXPECT_THAT(WithHeader("[0,24]", "[24,0]"), HasSubstr("not inside"));
  EXPECT_THAT(WithHeader("[28,30]", "[28,31]"), HasSubstr("not inside the 30 bytes"));
  EXPECT_THAT(WithHeader("[28,30]", "[18446744073709551614,18446744073709551615]"),
              HasSubstr("not inside"));
  EXPECT_THAT(WithHeader("[0,24]", "[0,-1]"), HasSubstr("data_offsets: integers"));
  EXPECT_THAT(WithHeader("[0,24]", "[0.0,24.0]"), HasSubstr("data_offsets: integers"));
  EXPECT_THAT(WithHeader("[0,24]", "[0]"), HasSubstr("two integers expected, 1 found"));
  EXPECT_THAT(WithHeader("[0,24]", "[0,24,24]"), HasSubstr("two integers expected, 3 found"));
  EXPECT_THAT(WithHeader("\"data_offsets\"", "\"offsets\""), HasSubstr("data_offsets is missing"));
}

TEST(SafetensorsReader, RefusesSizesThatDisagreeWithTheShape) {
  EXPECT_THAT(WithHeader("[2,3]", "[2,2]"), HasSubstr("needs 16 bytes, but data_offsets hold 24"));
  EXPECT_THAT(WithHeader("\"F32\"", "\"F16\""),
              HasSubstr("needs 12 bytes, but data_offsets hold 24"));
}

TEST(SafetensorsReader, RefusesHolesOverlapsAndRests) {
  EXPECT_THAT(OfHeader(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2),
              HasSubstr("begin at 1, but 0"));
  EXPECT_THAT(OfHeader(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                       3),
              HasSubstr("tensor \"b\": data_offsets begin at 1, but 2"));
  EXPECT_THAT(OfHeader(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 3),
              HasSubstr("cover 2 of the 3 bytes"));
}

TEST(SafetensorsReader, RefusesNames) {
  EXPECT_THAT(WithHeader("\"a\"", "\"\""), HasSubstr("a name of 1 to 1024 bytes"));
  EXPECT_THAT(WithHeader("\"a\"", "\"" + std::string(1025, 'n') + "\""),
              HasSubstr("a name of 1 to"));
  EXPECT_THAT(OfHeader(R"({"a":3})"), HasSubstr("tensor \"a\": an object expected"));
}

TEST(SafetensorsReader, CutAtEveryByte) {
  const Bytes file = Good().Build();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(Message(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))),
              "parsed")
        << size;
  }
}

TEST(SafetensorsReader, TooManyTensors) {
  std::string header = "{";
  for (int i = 0; i <= 65536; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_THAT(OfHeader(header + "}"), HasSubstr("at most 65536 tensors"));
}

TEST(SafetensorsIndex, ReadsAndChecksFileNames) {
  const auto tensors = ParseSafetensorsIndex(
      R"({"metadata":{"total_size":9},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ((*tensors)[1].name, "b");
  EXPECT_EQ((*tensors)[1].file, "m-2.safetensors");
  for (const char* name :
       {"../m.safetensors", "/m.safetensors", "a/m.safetensors", "m.bin", "", ".safetensors",
        "..safetensors", "a\\\\m.safetensors", "C:m.safetensors", "a\\u0000.safetensors"}) {
    const auto bad = ParseSafetensorsIndex(R"({"weight_map":{"a":")" + std::string(name) + "\"}}");
    ASSERT_FALSE(bad) << name;
    EXPECT_THAT(bad.error().message, HasSubstr("the plain name of a .safetensors file expected"));
  }
}

TEST(SafetensorsIndex, RefusesOtherForms) {
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"a":1}})",
        R"({"weight_map":{"a":"m.safetensors","a":"n.safetensors"}})"}) {
    EXPECT_FALSE(ParseSafetensorsIndex(text)) << text;
  }
}

}  // namespace
}  // namespace bittern::formats
