// SPDX-License-Identifier: Apache-2.0
// The meaning of a good GGUF file, and one test for each rule a bad one can break.
#include "formats/gguf/gguf_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "formats/gguf/gguf_builder_for_test.hpp"

namespace bittern::formats {
namespace {

using quant::WeightFormat;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = GgufBuilder::Bytes;
constexpr std::uint32_t kF32 = 0;

/// Parses an exact-size heap copy, so that AddressSanitizer sees a read past the end.
Result<GgufContents> Parse(const Bytes& bytes) {
  static std::vector<std::unique_ptr<Bytes>> kept;  // results view into the bytes
  kept.push_back(std::make_unique<Bytes>(bytes));
  return ParseGguf(*kept.back());
}

void ExpectError(const Bytes& bytes, ErrorCode code, const ::testing::Matcher<std::string>& words) {
  const auto result = Parse(bytes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_THAT(result.error().message, words);
}

void ExpectCorrupt(const Bytes& bytes, const ::testing::Matcher<std::string>& words) {
  ExpectError(bytes, ErrorCode::kCorruptFile, words);
}

/// Overwrites a field of a built file.
template <class T>
Bytes Patch(Bytes bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

std::size_t OffsetOf(const GgufBuilder& builder, std::string_view what, std::string_view place) {
  for (const auto& field : builder.fields()) {
    if (field.what == what && field.place == place) return field.offset;
  }
  ADD_FAILURE() << "no field " << what << " of " << place;
  return 0;
}

TEST(GgufReader, ReadsEveryValueType) {
  const auto contents = Parse(GgufBuilder()
                                  .Add("u8", std::uint8_t{200})
                                  .Add("i8", std::int8_t{-100})
                                  .Add("u16", std::uint16_t{60000})
                                  .Add("i16", std::int16_t{-30000})
                                  .Add("u32", std::uint32_t{4000000000u})
                                  .Add("i32", std::int32_t{-2000000000})
                                  .Add("u64", ~std::uint64_t{0})
                                  .Add("i64", std::numeric_limits<std::int64_t>::min())
                                  .Add("f32", 0.1f)
                                  .Add("f64", 0.1)
                                  .Add("bool", true)
                                  .Add("str", "Ġthe")
                                  .AddRaw("seven", MetaType::kBool, {std::byte{7}})
                                  .AddArray("ints", std::vector<std::int32_t>{1, -2})
                                  .AddArray("none", std::vector<float>{})
                                  .AddStrings("texts", {"a", "", "ccc"})
                                  .Build());
  ASSERT_TRUE(contents) << contents.error().message;
  const Metadata& metadata = contents->metadata;
  EXPECT_EQ(metadata.GetUint("u8").value(), 200u);
  EXPECT_EQ(metadata.GetFloat("i8").value(), -100);
  EXPECT_EQ(metadata.GetUint("u16").value(), 60000u);
  EXPECT_EQ(metadata.GetFloat("i16").value(), -30000);
  EXPECT_EQ(metadata.GetUint("u32").value(), 4000000000u);
  EXPECT_EQ(metadata.GetFloat("i32").value(), -2e9);
  EXPECT_EQ(metadata.GetUint("u64").value(), ~std::uint64_t{0});
  EXPECT_EQ(metadata.GetFloat("i64").value(), -0x1p63);
  EXPECT_EQ(metadata.GetFloat("f32").value(), double{0.1f});
  EXPECT_EQ(metadata.GetFloat("f64").value(), 0.1);
  EXPECT_EQ(metadata.GetBool("bool").value(), true);
  EXPECT_EQ(metadata.GetBool("seven").value(), true);
  EXPECT_EQ(metadata.GetString("str").value(), "Ġthe");
  EXPECT_THAT(metadata.GetInts("ints").value().value(), ElementsAre(1, -2));
  EXPECT_TRUE(metadata.GetFloats("none").value().value().empty());
  const auto texts = metadata.GetStrings("texts").value().value();
  EXPECT_THAT(std::vector(texts.begin(), texts.end()), ElementsAre("a", "", "ccc"));
  EXPECT_EQ(metadata.entries().size(), 16u);
  EXPECT_EQ(metadata.Find("i16")->type, MetaType::kI16);
}

TEST(GgufReader, PlacesTensors) {
  Bytes first(12), second(64 + 32);
  first[0] = std::byte{1};
  second[95] = std::byte{2};
  const Bytes file = GgufBuilder()
                         .AddTensor("a", kF32, {3}, first)
                         .AddTensor("b", 36, {128, 2}, second)
                         .AddTensor("scalar", kF32, {}, Bytes(4))
                         .AddTensor("four", kF32, {2, 3, 4, 5}, Bytes(480))
                         .Build();
  const auto contents = Parse(file);
  ASSERT_TRUE(contents) << contents.error().message;
  ASSERT_EQ(contents->tensors.size(), 4u);
  EXPECT_EQ(contents->version, 3u);
  EXPECT_EQ(contents->alignment, 32u);
  EXPECT_EQ(contents->data_start % 32, 0u);
  const Tensor& b = contents->tensors[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.format, WeightFormat::kI2_S);
  EXPECT_EQ(b.rank, 2);
  EXPECT_EQ(b.shape, (std::array<std::uint64_t, 4>{128, 2, 1, 1}));
  EXPECT_EQ(b.file_offset, contents->data_start + 32);
  EXPECT_EQ(b.bytes.size(), 96u);
  EXPECT_EQ(b.bytes[95], std::byte{2});
  EXPECT_EQ(contents->tensors[0].bytes[0], std::byte{1});
  EXPECT_EQ(contents->tensors[2].rank, 0);
  EXPECT_EQ(contents->tensors[2].num_elements(), 1u);
  EXPECT_EQ(contents->tensors[3].num_elements(), 120u);
  EXPECT_EQ(contents->tensors[3].rows(), 60u);
  EXPECT_EQ(contents->tensors[3].file_offset + 480, file.size());
}

TEST(GgufReader, AcceptsAPaddedEnd) {
  Bytes file = GgufBuilder().AddTensor("a", WeightFormat::kF32, {3}).Build();
  file.resize(file.size() + 20);
  EXPECT_TRUE(Parse(file));
}

TEST(GgufReader, AVocabularyNeedsNoTensorsAndNoPadding) {
  const auto contents = Parse(GgufBuilder().Add("k", "v").Build());
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->tensors.empty());
  EXPECT_TRUE(Parse(GgufBuilder().Build()));
}

TEST(GgufReader, Alignment) {
  for (const std::uint32_t alignment : {1u, 8u, 64u, 65536u}) {
    const auto contents = Parse(GgufBuilder()
                                    .Add("general.alignment", alignment)
                                    .PadTo(alignment)
                                    .AddTensor("a", WeightFormat::kF16, {3})
                                    .AddTensor("b", WeightFormat::kF16, {3})
                                    .Build());
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->alignment, alignment);
    EXPECT_EQ(contents->tensors[1].file_offset % alignment, 0u);
  }
  for (const std::uint32_t alignment : {0u, 3u, 33u, 131072u, 0x80000000u}) {
    ExpectCorrupt(GgufBuilder().Add("general.alignment", alignment).Build(),
                  HasSubstr("key \"general.alignment\": a power of two up to 65536 expected, " +
                            std::to_string(alignment) + " found"));
  }
  ExpectCorrupt(GgufBuilder().Add("general.alignment", std::uint64_t{32}).Build(),
                HasSubstr("key \"general.alignment\": u32 expected, u64 found"));
}

TEST(GgufRefuses, MagicAndVersion) {
  const Bytes good = GgufBuilder().Build();
  ExpectCorrupt(Patch(good, 0, 'g'), HasSubstr("\"gGUF\" found"));
  ExpectCorrupt(Patch(good, 4, 0u), HasSubstr("version 2 or 3 expected at offset 4, 0 found"));
  ExpectError(Patch(good, 4, 1u), ErrorCode::kUnsupported, HasSubstr("version 1"));
  EXPECT_TRUE(Parse(Patch(good, 4, 2u)));
  ExpectError(Patch(good, 4, 4u), ErrorCode::kUnsupported, HasSubstr("4 found"));
  ExpectError(Patch(good, 4, 0x03000000u), ErrorCode::kUnsupported, HasSubstr("big-endian"));
  ExpectError(Patch(good, 4, 0x00030000u), ErrorCode::kUnsupported, HasSubstr("big-endian"));
}

TEST(GgufRefuses, CountsBeyondLimits) {
  const Bytes good = GgufBuilder().Build();
  for (const std::uint64_t count :
       {std::uint64_t{65537}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    ExpectCorrupt(Patch(good, 8, count), HasSubstr("tensor count at offset 8: at most 65536"));
    ExpectCorrupt(Patch(good, 16, count), HasSubstr("key count at offset 16: at most 65536"));
  }
  ExpectCorrupt(Patch(good, 8, std::uint64_t{65536}), HasSubstr("1572864 bytes, but only 0"));
  ExpectCorrupt(Patch(good, 16, std::uint64_t{65536}), HasSubstr("851968 bytes, but only 0"));
}

TEST(GgufRefuses, Keys) {
  ExpectCorrupt(GgufBuilder().Add("", "v").Build(),
                HasSubstr("metadata key 1 of 1 at offset 24: a name expected, an empty one"));
  ExpectCorrupt(GgufBuilder().Add("a", 1).Add("b", 1).Add("a", "x").Build(),
                HasSubstr("key \"a\" appears twice"));
  EXPECT_TRUE(Parse(GgufBuilder().Add(std::string(65535, 'k'), 1).Build()));
  ExpectCorrupt(GgufBuilder().Add(std::string(65536, 'k'), 1).Build(),
                HasSubstr("key at offset 24: at most 65535 bytes expected, a length of 65536"));
}

TEST(GgufRefuses, ValueTypes) {
  for (const std::uint32_t type : {13u, 14u, 255u, 0xffffffffu}) {
    const auto id = static_cast<MetaType>(type);
    const std::string found = std::to_string(type) + " found";
    ExpectCorrupt(
        GgufBuilder().AddRaw("k", id, Bytes(64)).Build(),
        AllOf(HasSubstr("key \"k\": value type 0 to 12 expected at offset 33"), HasSubstr(found)));
    ExpectCorrupt(GgufBuilder().AddRawArray("k", id, 1, Bytes(64)).Build(),
                  AllOf(HasSubstr("key \"k\": array element type 0 to 12 expected at offset 37"),
                        HasSubstr(found)));
  }
  ExpectError(GgufBuilder().AddRawArray("k", MetaType::kArray, 1, Bytes(64)).Build(),
              ErrorCode::kUnsupported, HasSubstr("key \"k\": an array of arrays"));
}

TEST(GgufRefuses, StringsAndArraysLongerThanTheFile) {
  const std::uint64_t longer = (std::uint64_t{64} << 20) + 1;
  GgufBuilder text;
  const Bytes file = text.Add("k", "v").Build();
  const std::size_t length = OffsetOf(text, "string length", "k");
  ExpectCorrupt(Patch(file, length, std::uint64_t{2}),
                HasSubstr("key \"k\": string needs 2 bytes at offset 45, but only 1 are left"));
  ExpectCorrupt(Patch(file, length, longer), HasSubstr("at most 67108864 bytes expected"));

  ExpectCorrupt(GgufBuilder().AddRawArray("k", MetaType::kU32, 3, Bytes(8)).Build(),
                HasSubstr("key \"k\": array count at offset 41: 3 elements need at least 12 "
                          "bytes, but only 8 are left"));
  ExpectCorrupt(GgufBuilder().AddRawArray("k", MetaType::kString, 2, Bytes(8)).Build(),
                HasSubstr("2 elements need at least 16 bytes, but only 8 are left"));
  ExpectCorrupt(
      GgufBuilder().AddRawArray("k", MetaType::kU8, (std::uint64_t{1} << 30) + 1, {}).Build(),
      HasSubstr("array count at offset 41: at most 1073741824 expected, 1073741825 found"));
  ExpectCorrupt(
      GgufBuilder().AddRawArray("k", MetaType::kString, (std::uint64_t{1} << 24) + 1, {}).Build(),
      HasSubstr("at most 16777216 expected, 16777217 found"));
  // The count fits, a string inside does not.
  Bytes strings = GgufBuilder::Raw(std::uint64_t{0});
  const Bytes too_long = GgufBuilder::Raw(std::uint64_t{9});
  strings.insert(strings.end(), too_long.begin(), too_long.end());
  ExpectCorrupt(GgufBuilder().AddRawArray("k", MetaType::kString, 2, strings).Build(),
                HasSubstr("key \"k\": element 1 of 2: string needs 9 bytes at offset 65"));
}

TEST(GgufRefuses, TensorNames) {
  EXPECT_TRUE(
      Parse(GgufBuilder().AddTensor(std::string(63, 'n'), WeightFormat::kF32, {1}).Build()));
  ExpectCorrupt(GgufBuilder().AddTensor(std::string(64, 'n'), WeightFormat::kF32, {1}).Build(),
                HasSubstr("tensor 1 of 1 at offset 24: name at offset 24: at most 63 bytes"));
  ExpectCorrupt(GgufBuilder().AddTensor("", WeightFormat::kF32, {1}).Build(),
                HasSubstr("tensor 1 of 1 at offset 24: a name expected, an empty one found"));
  ExpectCorrupt(GgufBuilder()
                    .AddTensor("a", WeightFormat::kF32, {1})
                    .AddTensor("a", WeightFormat::kF32, {1})
                    .Build(),
                HasSubstr("tensor \"a\": the name appears twice"));
}

TEST(GgufRefuses, Shapes) {
  const auto with = [](std::vector<std::uint64_t> shape) {
    return GgufBuilder().AddTensor("t", kF32, std::move(shape), Bytes(64)).Build();
  };
  ExpectCorrupt(with({1, 1, 1, 1, 1}),
                HasSubstr("tensor \"t\": at most 4 dimensions expected at offset 33, 5 found"));
  ExpectCorrupt(with({0}), HasSubstr("tensor \"t\": dimension 0 at offset 37: 1 or more"));
  ExpectCorrupt(with({4, 0}), HasSubstr("tensor \"t\": dimension 1 at offset 45: 1 or more"));
  const std::uint64_t big = std::uint64_t{1} << 32;
  ExpectCorrupt(with({big, big}), HasSubstr("dimension 1 at offset 45: 4294967296 makes more"));
  ExpectCorrupt(with({big, big / 2}), HasSubstr("more elements than 63 bits count"));
  ExpectCorrupt(with({std::uint64_t{1} << 63}), HasSubstr("more elements than 63 bits count"));
  ExpectCorrupt(with({3, 0x5555555555555556u}), HasSubstr("more elements than 63 bits count"));
  ExpectCorrupt(with({big, big / 4}), HasSubstr("tensor \"t\": 1073741824 rows of 4294967296 "
                                                "elements are more than memory can address"));
}

TEST(GgufRefuses, TensorTypesByName) {
  const auto with = [](std::uint32_t type) {
    return GgufBuilder().AddTensor("t", type, {256}, Bytes(4096)).Build();
  };
  ExpectError(
      with(10), ErrorCode::kUnsupported,
      AllOf(HasSubstr("tensor \"t\": type 10 (Q2_K) is not supported yet; supported: F32, "
                      "F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, BF16, TQ1_0, "
                      "TQ2_0, I2_S, TL1")));
  for (const std::uint32_t type : {4u, 99u, 0x7fffffffu, 0xffffffffu}) {
    ExpectError(with(type), ErrorCode::kUnsupported,
                HasSubstr("tensor \"t\": type " + std::to_string(type) +
                          " at offset 45 is unknown; supported: F32"));
  }
}

TEST(GgufRefuses, RowsThatAreNotWholeBlocks) {
  for (const auto& [format, row] : {std::pair{WeightFormat::kI2_S, 66u},
                                    {WeightFormat::kTQ2_0, 192u},
                                    {WeightFormat::kQ8_0, 48u},
                                    {WeightFormat::kQ6_K, 128u}}) {
    const auto type = static_cast<std::uint32_t>(format);
    ExpectCorrupt(GgufBuilder().AddTensor("t", type, {row, 256}, Bytes(65536)).Build(),
                  AllOf(HasSubstr("tensor \"t\": "), HasSubstr("come in blocks of"),
                        HasSubstr("but a row has " + std::to_string(row))));
  }
}

/// Type 42 was given to two block sizes; the place of what follows tells which is meant.
TEST(GgufReader, TheSpanOfType42SaysItsGroups) {
  constexpr std::uint32_t kType = 42;
  for (const auto& [format, bytes] :
       {std::pair{WeightFormat::kQ2_0, 8 * 18 * 4}, {WeightFormat::kPQ2_0, 4 * 34 * 4}}) {
    for (const bool last : {false, true}) {
      GgufBuilder builder;
      builder.AddTensor("t", kType, {512, 4}, Bytes(static_cast<std::size_t>(bytes)));
      if (!last) builder.AddTensor("u", WeightFormat::kF32, {3});
      const Bytes file = builder.Build();
      const auto contents = Parse(file);
      ASSERT_TRUE(contents) << contents.error().message;
      EXPECT_EQ(contents->tensors[0].format, format);
      EXPECT_EQ(contents->tensors[0].bytes.size(), static_cast<std::size_t>(bytes));
    }
  }
}

/// Programs of 2026 use these ids for each other's formats.
TEST(GgufReader, TheSpanOfATensorSaysItsFormat) {
  constexpr std::uint64_t kRow = 512, kRows = 4;
  for (const std::uint32_t id : {40u, 41u, 42u, 43u, 142u, 143u}) {
    for (const auto& [format, block, bytes] : {std::tuple{WeightFormat::kQ2_0, 64, 18},
                                               {WeightFormat::kPQ2_0, 128, 34},
                                               {WeightFormat::kPTQ1_0, 128, 28},
                                               {WeightFormat::kQ1_0, 128, 18},
                                               {WeightFormat::kSTQ1_0, 256, 42}}) {
      const std::uint64_t size =
          kRow * kRows / static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(bytes);
      for (const bool last : {false, true}) {
        GgufBuilder builder;
        builder.AddTensor("t", id, {kRow, kRows}, Bytes(size));
        if (!last) builder.AddTensor("u", WeightFormat::kF32, {3});
        const Bytes file = builder.Build();
        const auto contents = Parse(file);
        ASSERT_TRUE(contents) << id << ": " << contents.error().message;
        EXPECT_EQ(contents->tensors[0].format, format) << id;
        EXPECT_EQ(contents->tensors[0].bytes.size(), size) << id;
      }
    }
  }
}

/// 512 weights take 144 bytes as Q2_0 and 136 as PQ2_0, which both end at 160: a large tensor
/// tells.
TEST(GgufReader, ASmallTensorHasTheFormatOfTheOthers) {
  for (const auto& [format, large, small] :
       {std::tuple{WeightFormat::kQ2_0, 576u, 144u}, {WeightFormat::kPQ2_0, 544u, 136u}}) {
    GgufBuilder builder;
    builder.AddTensor("small", 42, {512}, Bytes(small));
    builder.AddTensor("large", 42, {512, 4}, Bytes(large));
    builder.AddTensor("u", WeightFormat::kF32, {3});
    const Bytes file = builder.Build();
    const auto contents = Parse(file);
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->tensors[0].format, format);
    EXPECT_EQ(contents->tensors[0].bytes.size(), small);
  }
}

TEST(GgufRefuses, SpansOfNoFormatByName) {
  GgufBuilder neither;
  neither.AddTensor("t", 42, {512, 4}, Bytes(600)).AddTensor("u", WeightFormat::kF32, {3});
  ExpectCorrupt(neither.Build(),
                AllOf(HasSubstr("tensor \"t\": type 42 means several formats"),
                      HasSubstr("expected 576 (Q2_0), 544 (PQ2_0), 336 (STQ1_0), 288 (Q1_0)"),
                      HasSubstr("found 608 up to the next tensor")));
  GgufBuilder mixed;  // no program writes two formats under one id
  mixed.AddTensor("a", 42, {512, 4}, Bytes(576)).AddTensor("b", 42, {512, 4}, Bytes(336));
  mixed.AddTensor("c", 42, {512, 4}, Bytes(576)).AddTensor("u", WeightFormat::kF32, {3});
  ExpectCorrupt(mixed.Build(), HasSubstr("tensor \"b\": type 42 means several formats, and its "
                                         "bytes tell which: expected 576 (Q2_0), found 352"));
  GgufBuilder odd;
  odd.AddTensor("t", 42, {100, 4}, Bytes(576)).AddTensor("u", WeightFormat::kF32, {3});
  ExpectCorrupt(odd.Build(), HasSubstr("tensor \"t\": Q2_0 rows come in blocks of 64"));
  GgufBuilder short_file;
  short_file.AddTensor("a", 42, {512, 4}, Bytes(544)).AddTensor("b", 42, {512, 4}, Bytes(500));
  ExpectCorrupt(short_file.Build(), HasSubstr("tensor \"b\": its 544 bytes of data"));
}

TEST(GgufReader, BytesBehindTheLastTensorChangeNothing) {
  GgufBuilder builder;
  builder.AddTensor("a", 42, {512, 4}, Bytes(544)).AddTensor("b", 42, {512, 4}, Bytes(5000));
  const Bytes file = builder.Build();
  const auto contents = Parse(file);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(contents->tensors[1].format, WeightFormat::kPQ2_0);
  EXPECT_EQ(contents->tensors[1].bytes.size(), 544u);
}

TEST(GgufRefuses, FormatsOfTheSharedIdsThatAreNotTernary) {
  for (const auto& [name, block, bytes] :
       {std::tuple{"Q2_0C, whose weights are -3, -1, 1 and 3", 512, 130},
        {"NVFP4, which is not supported", 64, 36}}) {
    GgufBuilder builder;
    builder.AddTensor("t", 40, {1024, 3},
                      Bytes(static_cast<std::size_t>(1024 * 3 / block * bytes)));
    builder.AddTensor("u", WeightFormat::kF32, {3});
    const Bytes file = builder.Build();
    const auto contents = Parse(file);
    ASSERT_FALSE(contents);
    EXPECT_EQ(contents.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(contents.error().message,
                HasSubstr(std::string("tensor \"t\": type 40 with the size of ") + name));
  }
}

/// llama.cpp has MXFP4 under the id that TL2 has here: blocks of 32 in 17 bytes.
TEST(GgufRefuses, Mxfp4UnderTheIdOfTl2IsNamed) {
  constexpr std::uint32_t kType = 39;
  for (const bool last : {false, true}) {
    GgufBuilder builder;
    builder.AddTensor("t", kType, {512, 4}, Bytes(512 / 32 * 17 * 4));
    if (!last) builder.AddTensor("u", WeightFormat::kF32, {3});
    const Bytes file = builder.Build();
    const auto contents = Parse(file);
    ASSERT_FALSE(contents);
    EXPECT_EQ(contents.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(contents.error().message, AllOf(HasSubstr("tensor \"t\": type 39"),
                                                HasSubstr("size of MXFP4, which is not supp")));
  }
  GgufBuilder neither;
  neither.AddTensor("t", kType, {512, 4}, Bytes(600)).AddTensor("u", WeightFormat::kF32, {3});
  ExpectCorrupt(neither.Build(), HasSubstr("tensor \"t\": type 39 means several formats"));
}

/// Two tensors of 12 bytes; the data offset of one is replaced.
Bytes WithOffset(std::string_view name, std::uint64_t offset) {
  GgufBuilder builder;
  builder.AddTensor("a", WeightFormat::kF32, {3}).AddTensor("b", WeightFormat::kF32, {3});
  const Bytes file = builder.Build();
  return Patch(file, OffsetOf(builder, "data offset", name), offset);
}

TEST(GgufRefuses, Offsets) {
  EXPECT_TRUE(Parse(WithOffset("b", 32)));
  ExpectCorrupt(WithOffset("b", 12), HasSubstr("tensor \"b\": data offset: a multiple of the "
                                               "alignment 32 expected, 12 found"));
  ExpectCorrupt(WithOffset("b", 0), HasSubstr("tensor \"b\": data offset: 32, the padded end of "
                                              "the tensors before it, expected, 0 found"));
  ExpectCorrupt(WithOffset("b", 64), HasSubstr("expected, 64 found"));
  ExpectCorrupt(WithOffset("a", 32), HasSubstr("tensor \"a\": data offset: 0, the padded end"));
  ExpectCorrupt(WithOffset("b", ~std::uint64_t{31}), HasSubstr("tensor \"b\": data offset"));
}

TEST(GgufRefuses, DataPastTheEnd) {
  Bytes file = GgufBuilder()
                   .AddTensor("a", WeightFormat::kF32, {3})
                   .AddTensor("b", WeightFormat::kF32, {3})
                   .Build();
  file.pop_back();
  ExpectCorrupt(file, AllOf(HasSubstr("tensor \"b\": its 12 bytes of data at offset 128 go past "
                                      "the end of the file, which has 139 bytes"),
                            HasSubstr("incomplete download")));
  file.resize(107);
  ExpectCorrupt(file, HasSubstr("tensor \"a\": its 12 bytes"));
}

TEST(GgufReader, HostileNamesAreHarmlessInMessages) {
  ExpectCorrupt(GgufBuilder().AddTensor("\x1b[2J\n", kF32, {0}, {}).Build(),
                HasSubstr("tensor \"\\u{1b}[2J\\n\": dimension 0"));
}

}  // namespace
}  // namespace bittern::formats
