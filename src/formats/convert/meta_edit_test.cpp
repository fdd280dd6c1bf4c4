// SPDX-License-Identifier: Apache-2.0
// Editing metadata changes metadata: every other byte, also of unknown tensor types, stays.
#include "formats/convert/meta_edit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "formats/gguf/gguf_builder_for_test.hpp"

namespace bittern::formats {
namespace {

using quant::WeightFormat;

constexpr std::uint32_t kUnknownType = 201;

class MetaEditTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("meta-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "in.gguf";
    out_ = folder_ / "out.gguf";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::vector<std::byte> Model() {
    std::vector<std::byte> data(777);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 13);
    return GgufBuilder()
        .Add("general.architecture", "bitnet")
        .Add("small", std::uint8_t{7})
        .AddStrings("tokenizer.ggml.tokens", {"a", "b"})
        .Add("nan", std::bit_cast<float>(0x7fa00001u))
        .AddTensor("odd.weight", kUnknownType, {32, 3}, data)
        .Build();
  }
  void Write(const std::vector<std::byte>& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  static std::vector<std::byte> Read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return {bytes.begin(), bytes.end()};
  }
  /// Applies one edit from path_ to out_ and gives the outline of the result, kept in bytes_.
  GgufOutline Edit(const MetaEdit& edit) {
    Write(Model());
    const auto report = EditGgufMetadata(path_, out_, std::span(&edit, 1));
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return {};
    EXPECT_EQ(report->hash_before, report->hash_after);
    bytes_ = Read(out_);
    auto outline = ReadGgufOutline(bytes_);
    EXPECT_TRUE(outline) << outline.error().message;
    return outline ? *outline : GgufOutline{};
  }
  std::string ErrorOf(const MetaEdit& edit) {
    std::filesystem::remove(out_);
    Write(Model());
    const auto report = EditGgufMetadata(path_, out_, std::span(&edit, 1));
    EXPECT_FALSE(report);
    EXPECT_FALSE(std::filesystem::exists(out_));
    return report ? "" : report.error().message;
  }

  std::filesystem::path folder_, path_, out_;
  std::vector<std::byte> bytes_;
};

template <class T>
T Value(const GgufOutline& outline, std::string_view key) {
  const auto* entry = outline.Find(key);
  EXPECT_NE(entry, nullptr);
  return std::get<T>(entry->value.value);
}

TEST_F(MetaEditTest, AddsAKeyAndKeepsTheData) {
  const auto before = Model();
  const GgufOutline old = *ReadGgufOutline(before);
  const GgufOutline now = Edit({"general.name", false, "str:a new name: with colons"});
  EXPECT_EQ(Value<std::string_view>(now, "general.name"), "a new name: with colons");
  EXPECT_EQ(now.entries.size(), old.entries.size() + 1);
  EXPECT_TRUE(std::ranges::equal(now.tensor_infos, old.tensor_infos));
  EXPECT_TRUE(std::ranges::equal(now.data, old.data));
  for (std::size_t i = 0; i < old.entries.size(); ++i) {  // a NaN's payload too
    EXPECT_TRUE(std::ranges::equal(now.entries[i].bytes, old.entries[i].bytes));
  }
}

TEST_F(MetaEditTest, NoEditsGiveTheSameFile) {
  Write(Model());
  ASSERT_TRUE(EditGgufMetadata(path_, out_, {}));
  EXPECT_EQ(Read(out_), Model());
}

TEST_F(MetaEditTest, ReplacesInPlaceOfTheFile) {
  Write(Model());
  const MetaEdit edit{"general.architecture", false, "str:bitnet-b1.58"};
  ASSERT_TRUE(EditGgufMetadata(path_, path_, std::span(&edit, 1)));
  bytes_ = Read(path_);
  const GgufOutline now = *ReadGgufOutline(bytes_);
  EXPECT_EQ(now.entries[0].key, "general.architecture");
  EXPECT_EQ(Value<std::string_view>(now, "general.architecture"), "bitnet-b1.58");
}

TEST_F(MetaEditTest, Removes) {
  const GgufOutline now = Edit({"small", true, ""});
  EXPECT_EQ(now.Find("small"), nullptr);
  EXPECT_NE(ErrorOf({"smal", true, ""}).find("\"smal\""), std::string::npos);
}

TEST_F(MetaEditTest, EveryType) {
  EXPECT_EQ(Value<std::uint64_t>(Edit({"k", false, "u8:255"}), "k"), 255u);
  EXPECT_EQ(Value<std::int64_t>(Edit({"k", false, "i8:-128"}), "k"), -128);
  EXPECT_EQ(Value<std::uint64_t>(Edit({"k", false, "u64:18446744073709551615"}), "k"), ~0ull);
  EXPECT_EQ(Value<double>(Edit({"k", false, "f32:0.1"}), "k"), double{0.1f});
  EXPECT_EQ(Value<double>(Edit({"k", false, "f64:0.1"}), "k"), 0.1);
  EXPECT_TRUE(Value<bool>(Edit({"k", false, "bool:true"}), "k"));
  const auto texts = Value<MetaArray>(Edit({"k", false, R"(str[]:["x", "é"])"}), "k").strings;
  EXPECT_EQ(texts, (std::vector<std::string_view>{"x", "\xc3\xa9"}));
  const auto numbers = Value<MetaArray>(Edit({"k", false, "i16[]:[-1, 2]"}), "k");
  EXPECT_EQ(numbers.count, 2u);
  EXPECT_EQ(numbers.raw[0], std::byte{255});
}

TEST_F(MetaEditTest, IntKeepsTheTypeThatIsThere) {
  EXPECT_EQ(Edit({"small", false, "int:9"}).Find("small")->value.type, MetaType::kU8);
  EXPECT_EQ(Edit({"new", false, "int:9"}).Find("new")->value.type, MetaType::kU32);
  EXPECT_EQ(Edit({"new", false, "int:-9"}).Find("new")->value.type, MetaType::kI32);
  EXPECT_EQ(Edit({"new", false, "int:5000000000"}).Find("new")->value.type, MetaType::kU64);
  EXPECT_EQ(Edit({"new", false, "float:1.5"}).Find("new")->value.type, MetaType::kF32);
  EXPECT_NE(ErrorOf({"small", false, "int:256"}).find("type u8"), std::string::npos);
}

TEST_F(MetaEditTest, RefusesBadTexts) {
  for (const char* text : {"u8:256", "u8:-1", "i8:128", "int:12x", "f32:1e99", "f32:nan", "bool:1",
                           "text", "u9:1", "u8[]:1,2", "u8[]:[256]", "str[]:[1]", "u32:"}) {
    EXPECT_FALSE(ErrorOf({"k", false, text}).empty()) << text;
  }
  EXPECT_NE(ErrorOf({"general.alignment", false, "u32:64"}).find("places"), std::string::npos);
  EXPECT_FALSE(ErrorOf({"", false, "u8:1"}).empty());
}

TEST_F(MetaEditTest, CancelledLeavesNothing) {
  Write(Model());
  const auto report = EditGgufMetadata(path_, out_, {}, [](double) { return false; });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(MetaEditTest, EveryTruncationIsAnError) {
  const auto whole = Model();
  const std::size_t header = whole.size() - ReadGgufOutline(whole)->data.size();
  for (std::size_t size = 0; size <= header; ++size) {
    EXPECT_FALSE(ReadGgufOutline(std::span(whole).first(size))) << size;
  }
}

}  // namespace
}  // namespace bittern::formats
