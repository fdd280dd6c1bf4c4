// SPDX-License-Identifier: Apache-2.0
// Opening files by path: the good ones, and each kind of file people give us by mistake.
#include "formats/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "formats/gguf/gguf_builder_for_test.hpp"

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using std::string_literals::operator""s;

/// A folder of its own for every test, removed at the end.
class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("bittern_checkpoint_" + std::string(info->name()) + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::filesystem::path Write(const std::string& name, const std::vector<std::byte>& bytes) {
    return Write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  /// The refusal for a file with these contents, without the path it starts with.
  Error Refusal(std::string_view contents) {
    const auto path = Write("model.bin", contents);
    auto result = Checkpoint::Open(path);
    if (result) return {ErrorCode::kInternal, "opened"};
    EXPECT_THAT(result.error().message, StartsWith(path.string() + ": "));
    return {result.error().code, result.error().message.substr(path.string().size() + 2)};
  }

  std::filesystem::path folder_;
};

TEST_F(CheckpointTest, OpensGguf) {
  const auto path = Write("m.gguf", GgufBuilder(2)
                                        .Add("general.architecture", "bitnet-b1.58")
                                        .AddTensor("a", quant::WeightFormat::kF32, {3})
                                        .AddTensor("b", quant::WeightFormat::kI2_S, {128, 2})
                                        .Build());
  auto checkpoint = Checkpoint::Open(path);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const Checkpoint moved = std::move(*checkpoint);
  EXPECT_EQ(moved.path(), path.string());
  EXPECT_EQ(moved.kind(), "GGUF v2");
  EXPECT_EQ(moved.file_bytes(), std::filesystem::file_size(path));
  EXPECT_EQ(moved.metadata().GetString("general.architecture").value(), "bitnet-b1.58");
  ASSERT_NE(moved.Find("b"), nullptr);
  EXPECT_EQ(moved.Find("b")->bytes.size(), 96u);
  EXPECT_EQ(moved.Find("b")->file_offset, moved.data_start() + 32);
  EXPECT_EQ(moved.Find("c"), nullptr);
  moved.Release(*moved.Find("b"));
  EXPECT_EQ(moved.Find("b")->bytes[0], std::byte{0});
}

TEST_F(CheckpointTest, OpensBytesInMemory) {
  const auto bytes = GgufBuilder()
                         .Add("general.architecture", "bitnet-b1.58")
                         .AddTensor("a", quant::WeightFormat::kF32, {3})
                         .Build();
  auto checkpoint = Checkpoint::OpenBytes(bytes, "built-in x");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const Checkpoint moved = std::move(*checkpoint);
  EXPECT_EQ(moved.path(), "built-in x");
  EXPECT_EQ(moved.file_bytes(), bytes.size());
  ASSERT_NE(moved.Find("a"), nullptr);
  EXPECT_EQ(moved.Find("a")->bytes.data(), bytes.data() + moved.data_start());
  moved.Release(*moved.Find("a"));  // not ours to let go
  EXPECT_EQ(moved.Find("a")->bytes[0], std::byte{0});

  const auto cut = Checkpoint::OpenBytes(std::span(bytes).first(bytes.size() - 1), "built-in x");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kCorruptFile);
  EXPECT_THAT(cut.error().message, StartsWith("built-in x: "));
  EXPECT_FALSE(Checkpoint::OpenBytes({}, "nothing"));
}

TEST_F(CheckpointTest, MissingFile) {
  const auto result = Checkpoint::Open(folder_ / "none.gguf");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().message, StartsWith((folder_ / "none.gguf").string()));
}

TEST_F(CheckpointTest, EmptyFile) {
  const Error error = Refusal("");
  EXPECT_EQ(error.code, ErrorCode::kCorruptFile);
  EXPECT_EQ(error.message, "file is empty");
}

struct Mistake {
  const char* name;
  std::string contents;
  ErrorCode code;
  const char* words;
};

TEST_F(CheckpointTest, RefusesEachKindOfMistakeByName) {
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  const std::string nul(40, '\0');
  const Mistake mistakes[] = {
      {"safetensors", "\x10\0\0\0\0\0\0\0{\"a\":{}}"s, kUnsupported, "safetensors"},
      {"zip", "PK\x03\x04rest", kUnsupported, "zip archive"},
      {"pickle 2", "\x80\x02}q", kUnsupported, "pickle"},
      {"pickle 4", "\x80\x04\x95", kUnsupported, "pickle"},
      {"ggml", "lmgg\1\0\0\0", kUnsupported, "before GGUF"},
      {"ggjt", "tjgg\3", kUnsupported, "before GGUF"},
      {"ggla", "algg\1", kUnsupported, "before GGUF"},
      {"ggmf", "fmgg\1", kUnsupported, "before GGUF"},
      {"swapped magic", "FUGG", kUnsupported, "big-endian"},
      {"v1", "GGUF\1\0\0\0"s + nul, kUnsupported, "version 1"},
      {"big-endian", "GGUF\0\0\0\3"s + nul, kUnsupported, "big-endian GGUF file (version 3)"},
      {"v9", "GGUF\x09\0\0\0"s + nul, kUnsupported, "version 2 or 3 expected at offset 4, 9 found"},
      {"html", "\n <!DOCTYPE html><html>", kCorrupt, "a web page"},
      {"html with mark", "\xef\xbb\xbf<HTML>", kCorrupt, "a web page"},
      {"xml", "<?xml version=\"1.0\"?><Error>", kCorrupt, "a web page"},
      {"lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", kCorrupt,
       "a Git LFS pointer"},
      {"json", "{\"error\":\"Repository not found\"}", kCorrupt, "Repository not found"},
      {"text", "Entry not found", kCorrupt, "a text file, not a model: \"Entry not found\""},
      {"gzip", "\x1f\x8b\x08", kUnsupported, "compressed"},
      {"zstd", "\x28\xb5\x2f\xfd", kUnsupported, "compressed"},
      {"zeros", std::string(5000, '\0'), kCorrupt, "begins with zeros"},
      {"short", "GG", kCorrupt, "a text file"},
      {"noise", "\x01\xf2\x03\xf4\x05", kCorrupt, "expected first, 01 f2 03 f4 found"},
      {"one byte", "\0"s, kCorrupt, "begins with zeros"},
  };
  for (const Mistake& mistake : mistakes) {
    const Error error = Refusal(mistake.contents);
    EXPECT_EQ(error.code, mistake.code) << mistake.name;
    EXPECT_THAT(error.message, HasSubstr(mistake.words)) << mistake.name;
  }
}

TEST_F(CheckpointTest, FolderNamesTheModelsInIt) {
  Write("b.gguf", "x");
  Write("a.GGUF", "x");
  Write("model.safetensors", "x");
  const auto result = Checkpoint::Open(folder_);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("name the model file in it: a.GGUF, b.gguf"));
}

TEST_F(CheckpointTest, FolderOfSafetensors) {
  Write("model.safetensors", "x");
  const auto result = Checkpoint::Open(folder_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().message, HasSubstr("safetensors files, but without the config.json"));
}

TEST_F(CheckpointTest, OtherFolder) {
  const auto result = Checkpoint::Open(folder_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            folder_.string() + ": a folder; a GGUF file or a Hugging Face model expected");
}

TEST_F(CheckpointTest, RealFile) {
  const char* shared = std::getenv("BITTERN_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? shared : std::filesystem::path(BITTERN_SOURCE_DIR) / "../shared";
  const auto path = root / "models/kjv-5m/kjv-5m-i2s.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto checkpoint = Checkpoint::Open(path);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->kind(), "GGUF v3");
  EXPECT_EQ(checkpoint->metadata().entries().size(), 24u);
  EXPECT_EQ(checkpoint->tensors().size(), 68u);
  EXPECT_EQ(checkpoint->metadata().GetStrings("tokenizer.ggml.tokens").value()->size(), 4096u);
  const Tensor* down = checkpoint->Find("blk.5.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->format, quant::WeightFormat::kI2_S);
  EXPECT_EQ(down->row_elements(), 768u);
  EXPECT_EQ(down->rows(), 256u);
  EXPECT_EQ(down->bytes.size(), 768 * 256 / 4 + 32);
}

}  // namespace
}  // namespace bittern::formats
