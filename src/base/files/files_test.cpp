// SPDX-License-Identifier: Apache-2.0
// Mapped files, the byte reader and aligned memory at their edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <limits>

#include "base/bytes.hpp"
#include "base/files/mapped_file.hpp"
#include "base/files/npy.hpp"
#include "base/memory/aligned_buffer.hpp"

namespace bittern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::filesystem::path TempPath(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + std::to_string(getpid()));
}

TEST(MappedFile, MapsWhatWasWrittenAndReleasesPages) {
  const auto path = TempPath("bittern_map");
  std::string text(100000, 'x');
  text.back() = 'y';
  std::ofstream(path) << text;
  auto file = MappedFile::Open(path).value();
  std::filesystem::remove(path);
  ASSERT_EQ(file.bytes().size(), text.size());
  file.Release(file.bytes());  // still readable afterwards
  EXPECT_EQ(file.bytes().back(), std::byte{'y'});
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().front(), std::byte{'x'});
}

TEST(MappedFile, RefusalsNameThePathAndTheCause) {
  const auto missing = MappedFile::Open("/nonexistent/model.gguf").error();
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.message, HasSubstr("/nonexistent/model.gguf"));
  EXPECT_THAT(MappedFile::Open("/tmp").error().message, HasSubstr("not a regular file"));
  const auto path = TempPath("bittern_empty");
  std::ofstream{path};
  EXPECT_THAT(MappedFile::Open(path).error().message, HasSubstr("empty"));
  std::filesystem::remove(path);
}

Result<NpyArray> ReadText(std::string_view file) {
  return ReadNpy(std::as_bytes(std::span(file.data(), file.size())));
}

TEST(Npy, IsReadAsWritten) {
  const std::string file = NpyHeader(2, 3) + std::string(24, 'x');
  const auto array = ReadText(file);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(array->values.size(), 24u);
  // Format 2.0 has four bytes of length.
  std::string second = file;
  second[6] = 2;
  second.insert(10, 2, '\0');
  EXPECT_EQ(ReadText(second)->shape, array->shape);
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ReadText(std::string_view(file).substr(0, size))) << size;
  }
}

TEST(Npy, RefusalsSayWhatWasFound) {
  const auto refused = [](std::string_view from, const std::string& to) {
    std::string file = NpyHeader(2, 3) + std::string(24, 'x');
    file.replace(file.find(from), from.size(), to);
    const auto array = ReadText(file);
    return array ? std::string("read") : array.error().message;
  };
  EXPECT_THAT(refused("<f4", "<f8"), HasSubstr("(little-endian float32) expected, '<f8' found"));
  EXPECT_THAT(refused("False", "True "), HasSubstr("column by column found"));
  EXPECT_THAT(refused("(2, 3)", "(2, 4)"), HasSubstr("the shape (2, 4) and the 24 bytes"));
  EXPECT_THAT(refused("(2, 3)", "(2, x)"), HasSubstr("no shape"));
  EXPECT_THAT(refused("(2, 3), }  ", "(4294967296, 4294967296), }"), Not(HasSubstr("read")));
  EXPECT_THAT(refused("'shape'", "'shpae'"), HasSubstr("no shape"));
}

TEST(ByteReader, StopsAtTheEndWithFieldAndOffset) {
  const std::byte bytes[6] = {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{7}};
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Number<std::uint32_t>("count").value(), 1u);
  const auto error = reader.Number<std::uint32_t>("length").error();
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("length"), HasSubstr("offset 4"), HasSubstr("only 2")));
  EXPECT_EQ(reader.position(), 4u);
  EXPECT_FALSE(reader.Bytes(~std::uint64_t{0}, "text").has_value());
  EXPECT_EQ(reader.Chars(2, "text").value().size(), 2u);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Checked, ArithmeticReportsOverflow) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t out = 0;
  EXPECT_TRUE(CheckedAdd(kMax - 1, 1, &out));
  EXPECT_FALSE(CheckedAdd(kMax, 1, &out));
  EXPECT_FALSE(CheckedMultiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32, &out));
  EXPECT_TRUE(CheckedRoundUp(33, 32, &out));
  EXPECT_EQ(out, 64u);
  EXPECT_FALSE(CheckedRoundUp(kMax, 32, &out));
}

TEST(AlignedBuffer, IsZeroedAlignedAndRefusesTheImpossible) {
  for (std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{6} << 20}) {
    auto buffer = AlignedBuffer<float>::Create(size, "test").value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_NE(buffer.data(), nullptr);
    for (float x : buffer.span()) ASSERT_EQ(x, 0.0f);
    if (size > 0) buffer[size - 1] = 1;
    const auto moved = std::move(buffer);
    EXPECT_EQ(moved.size(), size);
  }
  for (std::size_t size : {~std::size_t{0}, ~std::size_t{0} / 4, std::size_t{1} << 60}) {
    const auto error = AlignedBuffer<float>::Create(size, "the moon").error();
    EXPECT_EQ(error.code, ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message, HasSubstr("the moon"));
  }
}

}  // namespace
}  // namespace bittern
