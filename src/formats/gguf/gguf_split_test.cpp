// SPDX-License-Identifier: Apache-2.0
// Split models: put together from their first part, and each way in which parts do not belong
// together.
#include "formats/gguf/gguf_split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/checkpoint.hpp"
#include "formats/gguf/gguf_builder_for_test.hpp"

namespace bittern::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// The keys that llama-gguf-split writes into every part, in its types.
GgufBuilder Part(std::uint16_t index, std::uint16_t count, std::int32_t tensors) {
  GgufBuilder part;
  if (index == 0) part.Add("general.architecture", "bitnet-b1.58");
  part.Add("split.no", index).Add("split.count", count).Add("split.tensors.count", tensors);
  return part;
}

GgufBuilder WithTensor(GgufBuilder part, const char* name, float value) {
  const auto raw = GgufBuilder::Raw(value);
  part.AddTensor(name, 0, {1}, raw);
  return part;
}

class GgufSplitTest : public ::testing::Test {
 protected:
  GgufSplitTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("bittern_split_" + std::string(info->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  ~GgufSplitTest() override { fs::remove_all(folder_); }

  fs::path Write(const std::string& name, GgufBuilder builder) {
    const auto bytes = builder.Build();
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return folder_ / name;
  }
  /// A model of three parts, the first without tensors; returns its path.
  fs::path WriteModel() {
    Write("m-00002-of-00003.gguf", WithTensor(Part(1, 3, 2), "a", 1.5F));
    Write("m-00003-of-00003.gguf", WithTensor(Part(2, 3, 2), "b", 2.5F));
    return Write("m-00001-of-00003.gguf", Part(0, 3, 2));
  }
  /// How the model that begins with `path` is refused.
  Error Refusal(const fs::path& path) {
    auto result = Checkpoint::Open(path);
    if (result) return {ErrorCode::kInternal, "opened"};
    return std::move(result).error();
  }

  fs::path folder_;
};

float ValueOf(const Checkpoint& checkpoint, const char* name) {
  const Tensor* tensor = checkpoint.Find(name);
  if (tensor == nullptr || tensor->bytes.size() != sizeof(float)) return -1;
  float value;
  std::memcpy(&value, tensor->bytes.data(), sizeof(value));
  return value;
}

TEST_F(GgufSplitTest, OpensAllPartsFromTheFirst) {
  auto opened = Checkpoint::Open(WriteModel());
  ASSERT_TRUE(opened) << opened.error().message;
  const Checkpoint model = std::move(*opened);
  EXPECT_EQ(model.kind(), "GGUF v3 in 3 files");
  EXPECT_EQ(model.metadata().GetString("general.architecture").value(), "bitnet-b1.58");
  ASSERT_EQ(model.tensors().size(), 2u);
  EXPECT_EQ(ValueOf(model, "a"), 1.5F);
  EXPECT_EQ(ValueOf(model, "b"), 2.5F);
  std::uint64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder_)) bytes += file.file_size();
  EXPECT_EQ(model.file_bytes(), bytes);
  model.Release(*model.Find("b"));
  EXPECT_EQ(ValueOf(model, "b"), 2.5F);
}

TEST_F(GgufSplitTest, WholeModelsThatWereSplitOnce) {
  const auto path = Write("merged.gguf", WithTensor(Part(0, 0, 1), "a", 3.5F));
  auto model = Checkpoint::Open(path);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->kind(), "GGUF v3");
  EXPECT_EQ(ValueOf(*model, "a"), 3.5F);
}

TEST_F(GgufSplitTest, NamesTheFirstPartWhenAnotherIsGiven) {
  WriteModel();
  const Error error = Refusal(folder_ / "m-00002-of-00003.gguf");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("part 2 of 3 of a split model; give the first part, "
                                       "m-00001-of-00003.gguf"));
}

TEST_F(GgufSplitTest, RefusesARenamedPart) {
  fs::rename(WriteModel(), folder_ / "first.gguf");
  const Error error = Refusal(folder_ / "first.gguf");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("its name must end in -00001-of-00003.gguf"));
}

TEST_F(GgufSplitTest, NamesAMissingPart) {
  const auto path = WriteModel();
  fs::remove(folder_ / "m-00003-of-00003.gguf");
  const Error error = Refusal(path);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, AllOf(HasSubstr("part 3 of 3: "), HasSubstr("m-00003-of-00003.gguf")));
}

TEST_F(GgufSplitTest, RefusesPartsOfOtherModels) {
  const auto path = WriteModel();
  const std::string second = "m-00002-of-00003.gguf";
  const std::pair<GgufBuilder, const char*> wrong[] = {
      {WithTensor(Part(2, 3, 2), "a", 1), "part 2 of 3 (2 tensors in all) expected, part 3 of 3"},
      {WithTensor(Part(1, 4, 2), "a", 1), "part 2 of 4 (2) found"},
      {WithTensor(Part(1, 3, 7), "a", 1), "part 2 of 3 (7) found"},
      {WithTensor(GgufBuilder(), "a", 1), "no part of a split model"},
      {WithTensor(Part(1, 3, 2), "b", 1), "tensor \"b\" is in an earlier part already"},
      {Part(1, 3, 2), "says 2 tensors, the 3 parts hold 1"},
  };
  for (const auto& [builder, words] : wrong) {
    Write(second, builder);
    const Error error = Refusal(path);
    EXPECT_EQ(error.code, ErrorCode::kCorruptFile) << words;
    EXPECT_THAT(error.message, HasSubstr(words));
  }
}

TEST_F(GgufSplitTest, RefusesADamagedPartUnderItsName) {
  const auto path = WriteModel();
  fs::resize_file(folder_ / "m-00003-of-00003.gguf", 20);
  const Error error = Refusal(path);
  EXPECT_EQ(error.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(error.message, HasSubstr("m-00003-of-00003.gguf: "));
}

TEST_F(GgufSplitTest, RefusesNumbersThatCannotBe) {
  const Error high = Refusal(Write("m-00004-of-00003.gguf", Part(3, 3, 2)));
  EXPECT_EQ(high.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(high.message, HasSubstr("less than 3 (split.count) expected, 3 found"));
  const Error many = Refusal(Write("m-00001-of-65535.gguf", Part(0, 65535, 2)));
  EXPECT_EQ(many.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(many.message, HasSubstr("at most 1024 expected, 65535 found"));
  const Error text = Refusal(Write("t.gguf", GgufBuilder().Add("split.count", "three")));
  EXPECT_EQ(text.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(text.message, HasSubstr("split.count"));
}

TEST_F(GgufSplitTest, MemoryHoldsWholeModelsOnly) {
  const auto bytes = Part(0, 3, 2).Build();
  const auto result = Checkpoint::OpenBytes(bytes, "x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "x: a part of a split model; the whole one expected");
}

}  // namespace
}  // namespace bittern::formats
