// SPDX-License-Identifier: Apache-2.0
// Damages good files in every systematic way: cut at every byte, every length, count, type and
// offset set to extremes, every header byte changed. A damaged file may still be a good one, but
// it must never crash, and a refusal must name the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/files/mapped_file.hpp"
#include "formats/gguf/gguf_builder_for_test.hpp"
#include "formats/gguf/gguf_reader.hpp"
#include "formats/gguf/gguf_touch_for_test.hpp"

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;
using Bytes = GgufBuilder::Bytes;

/// A bit of everything: each value type, arrays, each supported tensor format.
GgufBuilder MakeBuilder() {
  GgufBuilder builder;
  builder.Add("general.architecture", "bitnet-b1.58")
      .Add("general.alignment", std::uint32_t{32})
      .Add("a.u8", std::uint8_t{1})
      .Add("a.i16", std::int16_t{-2})
      .Add("a.u64", std::uint64_t{3})
      .Add("a.f32", 1e-5f)
      .Add("a.f64", 0.5)
      .Add("a.bool", true)
      .AddStrings("tokenizer.tokens", {"!", "", "Ġthe"})
      .AddArray("tokenizer.scores", std::vector<float>{0, 1, 2})
      .AddArray("tokenizer.types", std::vector<std::int32_t>{1, 1, 3})
      .AddTensor("embedding", quant::WeightFormat::kF16, {8, 4})
      .AddTensor("scalar", quant::WeightFormat::kF32, {})
      .AddTensor("ternary", quant::WeightFormat::kI2_S, {128, 2})
      .AddTensor("head", quant::WeightFormat::kQ6_K, {256, 1, 2})
      .AddTensor("q8", quant::WeightFormat::kQ8_0, {32, 2, 2, 2})
      .AddTensor("norm", quant::WeightFormat::kF32, {3});
  return builder;
}

/// Parses an exact-size heap copy (AddressSanitizer sees any read past its end) and reads all
/// that was found.
Result<std::uint64_t> ParseAndTouch(std::span<const std::byte> bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return TouchEverything(BITTERN_TRY(ParseGguf({copy.get(), bytes.size()})));
}

TEST(GgufMutation, TheFileIsGoodToBeginWith) {
  const auto result = ParseAndTouch(MakeBuilder().Build());
  EXPECT_TRUE(result) << result.error().message;
}

TEST(GgufMutation, CutAtEveryByte) {
  const Bytes file = MakeBuilder().Build();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto result = ParseAndTouch(std::span(file).first(size));
    ASSERT_FALSE(result) << "cut to " << size << " of " << file.size();
    ASSERT_EQ(result.error().code, ErrorCode::kCorruptFile) << result.error().message;
    ASSERT_THAT(result.error().message, HasSubstr("offset")) << "cut to " << size;
  }
}

/// The refusal of a file with `field` set to `value` must name the key or tensor it belongs to.
/// Changed lengths shift what follows, so a later place may be the first that is wrong.
void ExpectNamesThePlace(const GgufBuilder::Field& field, std::uint64_t value, const Error& error) {
  const std::string& message = error.message;
  if (field.what == "version") {
    EXPECT_THAT(message, HasSubstr("version"));
    return;
  }
  EXPECT_THAT(message,
              testing::AnyOf(HasSubstr("offset"), HasSubstr("key \""), HasSubstr("tensor \"")))
      << field.what << " of " << field.place << " = " << value;
  const std::string tensor = "tensor \"" + field.place + "\"";
  if (field.what == "data offset") {
    EXPECT_THAT(message, HasSubstr(tensor + ": data offset"));
  }
  // A size that is possible moves the tensors behind, so that one of them may be named.
  const bool impossible = value == 0 || value >= std::uint64_t{1} << 31;
  if (field.what == "dimension" && impossible) {
    EXPECT_THAT(message, HasSubstr(tensor));
  }
}

TEST(GgufMutation, EveryFieldSetToExtremes) {
  GgufBuilder builder = MakeBuilder();
  const Bytes good = builder.Build();
  int refused = 0;
  for (const auto& field : builder.fields()) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{9}, std::uint64_t{12},
          std::uint64_t{13}, std::uint64_t{0x7fffffff}, std::uint64_t{1} << 31,
          std::uint64_t{0xffffffff}, std::uint64_t{1} << 32, (std::uint64_t{1} << 63) - 1,
          std::uint64_t{1} << 63, ~std::uint64_t{0} - 31, ~std::uint64_t{0}}) {
      Bytes bad = good;
      std::memcpy(bad.data() + field.offset, &value, field.size);
      const auto result = ParseAndTouch(bad);
      if (result) continue;
      ++refused;
      ExpectNamesThePlace(field, value, result.error());
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(GgufMutation, LengthsThatCannotBeNameTheirOwnPlace) {
  GgufBuilder builder = MakeBuilder();
  const Bytes good = builder.Build();
  for (const auto& field : builder.fields()) {
    const bool length = field.what.ends_with("length") || field.what == "array count";
    if (!length) continue;
    for (const std::uint64_t value : {std::uint64_t{1} << 31, std::uint64_t{1} << 63,
                                      ~std::uint64_t{0}, std::uint64_t{good.size()}}) {
      Bytes bad = good;
      std::memcpy(bad.data() + field.offset, &value, sizeof value);
      const auto result = ParseAndTouch(bad);
      ASSERT_FALSE(result) << field.what << " of " << field.place << " = " << value;
      const bool in_name = field.what == "key length" || field.what == "name length";
      const std::string place =
          in_name ? "at offset " + std::to_string(field.offset) : "key \"" + field.place + "\"";
      EXPECT_THAT(result.error().message, HasSubstr(place));
    }
  }
}

TEST(GgufMutation, EveryHeaderByteChanged) {
  GgufBuilder builder = MakeBuilder();
  const Bytes good = builder.Build();
  Bytes bad = good;
  for (std::size_t i = 0; i < builder.header_bytes(); ++i) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu, 0x20u}) {
      bad[i] = good[i] ^ static_cast<std::byte>(flip);
      const auto result = ParseAndTouch(bad);
      if (!result) {
        EXPECT_FALSE(result.error().message.empty());
      }
    }
    bad[i] = good[i];
  }
}

/// Cuts the real file all over the ends of its header and at tensor borders.
TEST(GgufMutation, RealFileCutAtItsBorders) {
  const char* shared = std::getenv("BITTERN_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? shared : std::filesystem::path(BITTERN_SOURCE_DIR) / "../shared";
  const auto path = root / "models/kjv-5m/kjv-5m-i2s.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file);
  const auto whole = ParseGguf(file->bytes());
  ASSERT_TRUE(whole);
  std::vector<std::uint64_t> cuts;
  for (std::uint64_t i = 0; i < 2000; ++i) cuts.push_back(i);
  for (std::uint64_t i = whole->data_start - 6000; i < whole->data_start + 64; i += 7) {
    cuts.push_back(i);
  }
  for (const Tensor& tensor : whole->tensors) {
    cuts.push_back(tensor.file_offset);
    cuts.push_back(tensor.file_offset + tensor.bytes.size() - 1);
  }
  for (const std::uint64_t cut : cuts) {
    // No copy here: the reader must not go past the span even where the mapping goes on.
    const auto result = ParseGguf(file->bytes().first(cut));
    ASSERT_FALSE(result) << "cut to " << cut;
    EXPECT_THAT(result.error().message, HasSubstr("offset")) << "cut to " << cut;
  }
}

}  // namespace
}  // namespace bittern::formats
