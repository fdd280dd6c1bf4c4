// SPDX-License-Identifier: Apache-2.0
// A written file is read back equal: every value type, every kind of shape, both alignments.
#include "formats/gguf/gguf_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/files/mapped_file.hpp"
#include "formats/gguf/gguf_reader.hpp"
#include "formats/metadata_draft.hpp"

namespace bittern::formats {
namespace {

std::filesystem::path TempPath() {
  return std::filesystem::path(testing::TempDir()) /
         ("gguf-writer-" + std::to_string(getpid()) + ".gguf");
}

std::vector<std::byte> Pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 31 + seed);
  return data;
}

/// The entries as bytes: equal bytes are equal values.
std::string Serialised(std::span<const Metadata::Entry> entries) {
  std::string out;
  for (const auto& entry : entries) AppendGgufEntry(entry.key, entry.value, &out);
  return out;
}

MetadataDraft EveryType() {
  MetadataDraft draft;
  draft.Set("u8", {MetaType::kU8, std::uint64_t{255}});
  draft.Set("i8", {MetaType::kI8, std::int64_t{-128}});
  draft.Set("u16", {MetaType::kU16, std::uint64_t{65535}});
  draft.Set("i16", {MetaType::kI16, std::int64_t{-32768}});
  draft.SetUint32("u32", 0xffffffff);
  draft.Set("i32", {MetaType::kI32, std::int64_t{-2147483647 - 1}});
  draft.SetFloat("f32", 1e-5f);
  draft.SetBool("true", true);
  draft.SetBool("false", false);
  draft.SetString("text", "h\xc3\xa9llo\n");
  draft.SetString("empty", "");
  draft.Set("u64", {MetaType::kU64, ~std::uint64_t{0}});
  draft.Set("i64", {MetaType::kI64, std::int64_t{-1}});
  draft.Set("f64", {MetaType::kF64, 0.1});
  draft.SetUint32s("numbers", std::vector<std::uint32_t>{1, 2, 0xfffffffe});
  draft.SetUint32s("none", {});
  draft.SetStrings("texts", {"", "a", std::string("\0b", 2)});
  return draft;
}

TEST(GgufWriter, EveryTypeComesBack) {
  const MetadataDraft draft = EveryType();
  const auto path = TempPath();
  const std::vector<GgufTensor> tensors = {{"a", 2, {5, 3, 1, 1}, 0, 60},
                                           {"scalar", 0, {1, 1, 1, 1}, 1, 2},
                                           {"b", 4, {2, 2, 2, 2}, 30, 32}};
  auto writer = GgufWriter::Create(path, draft.entries(), tensors);
  ASSERT_TRUE(writer) << writer.error().message;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto data = Pattern(tensors[i].bytes, static_cast<unsigned>(i));
    ASSERT_TRUE(writer->Append(std::span(data).first(1)));
    ASSERT_TRUE(writer->Append(std::span(data).subspan(1)));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->Finish());
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file);
  const auto read = ParseGguf(file->bytes());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->version, 3u);
  EXPECT_EQ(Serialised(read->metadata.entries()), Serialised(draft.entries()));
  ASSERT_EQ(read->tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = read->tensors[i];
    EXPECT_EQ(tensor.name, tensors[i].name);
    EXPECT_EQ(tensor.rank, tensors[i].rank);
    EXPECT_EQ(tensor.shape, tensors[i].shape);
    const auto data = Pattern(tensors[i].bytes, static_cast<unsigned>(i));
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, data));
  }
  std::filesystem::remove(path);
}

TEST(GgufWriter, AlignmentOfTheFile) {
  MetadataDraft draft;
  draft.SetUint32("general.alignment", 4096);
  const auto path = TempPath();
  auto writer = GgufWriter::Create(path, draft.entries(), {{"a", 1, {3, 1, 1, 1}, 0, 12}});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Append(Pattern(12, 1)));
  ASSERT_TRUE(writer->Finish());
  EXPECT_EQ(std::filesystem::file_size(path), 8192u);
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file);
  const auto read = ParseGguf(file->bytes());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tensors[0].file_offset, 4096u);
  std::filesystem::remove(path);
}

TEST(GgufWriter, RefusesWhatTheReaderWould) {
  const auto path = TempPath();
  MetadataDraft odd;
  odd.SetUint32("general.alignment", 48);
  EXPECT_FALSE(GgufWriter::Create(path, odd.entries(), {}));
  EXPECT_FALSE(GgufWriter::Create(path, {}, {{std::string(64, 'n'), 0, {1, 1, 1, 1}, 0, 4}}));
  MetadataDraft unnamed;
  unnamed.SetBool("", true);
  EXPECT_FALSE(GgufWriter::Create(path, unnamed.entries(), {}));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(GgufWriter, CountsTheBytes) {
  const auto path = TempPath();
  auto writer = GgufWriter::Create(path, {}, {{"a", 1, {3, 1, 1, 1}, 0, 12}});
  ASSERT_TRUE(writer);
  EXPECT_FALSE(writer->Append(Pattern(13, 0)));
  ASSERT_TRUE(writer->Append(Pattern(11, 0)));
  EXPECT_FALSE(writer->Finish());
  ASSERT_TRUE(writer->Append(Pattern(1, 0)));
  EXPECT_FALSE(writer->Append(Pattern(1, 0)));
  EXPECT_TRUE(writer->Finish());
  std::filesystem::remove(path);
}

TEST(MetadataDraft, SetReplacesInPlaceAndRemoves) {
  MetadataDraft draft;
  draft.SetUint32("a", 1);
  draft.SetUint32("b", 2);
  draft.SetString("a", "text");
  ASSERT_EQ(draft.entries().size(), 2u);
  EXPECT_EQ(draft.entries()[0].key, "a");
  EXPECT_EQ(draft.Text("a"), "text");
  EXPECT_EQ(draft.Text("b"), "");
  EXPECT_TRUE(draft.Remove("a"));
  EXPECT_FALSE(draft.Remove("a"));
  EXPECT_EQ(draft.Find("a"), nullptr);
}

}  // namespace
}  // namespace bittern::formats
