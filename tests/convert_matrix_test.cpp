// SPDX-License-Identifier: Apache-2.0
// From one checkpoint: every format to every other and back keeps every code and every scale (but
// for what a format rounds), and whatever holds exact scales writes the same text. Prints a table.
// By default a part of the table that has every row and column; all of it with
// BITTERN_FULL_MATRIX=1.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/convert/convert.hpp"
#include "runtime/convert_hints.hpp"
#include "runtime/session.hpp"

namespace bittern {
namespace {

namespace fs = std::filesystem;

/// Formats of the matrix: those that hold any codes.
std::vector<std::string> Formats() {
  std::vector<std::string> names;
  for (const std::string_view name : formats::ConvertTargets()) {
    const quant::TernaryCodec* codec = quant::FindCodec(name);
    if (codec == nullptr || codec->check_codes == nullptr) names.emplace_back(name);
  }
  return names;
}

class ConvertMatrix : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("matrix-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    for (const std::string& name : Formats()) {
      const fs::path path = folder_ / ("from-" + name);
      reports_[name] = Convert(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf", path, name);
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Converts and proves; the proof must hold.
  static formats::ConvertReport Convert(const fs::path& in, const fs::path& out,
                                        const std::string& to) {
    fs::remove_all(out);
    const auto source = formats::Checkpoint::Open(in);
    EXPECT_TRUE(source) << source.error().message;
    Decisions ignored;
    formats::ConvertOptions options;
    options.to = to;
    options.float_scales = true;
    options.prove = true;
    options.num_threads = 2;
    options.hints = runtime::HintsFor(*source, &ignored);
    auto report = formats::Convert(*source, out, options);
    EXPECT_TRUE(report) << in << " to " << to << ": " << report.error().message;
    if (!report) return {};
    EXPECT_TRUE(report->proof->ok()) << in << " to " << to << ": " << report->proof->first_problem;
    return *std::move(report);
  }

  /// Converts there and back; '=' if scales are as they were, '~' if the target rounds them.
  char Cell(const std::string& from, const std::string& to) {
    const auto there = Convert(folder_ / ("from-" + from), folder_ / "there", to);
    const auto back = Convert(folder_ / "there", folder_ / "back", from);
    const std::string& hash = reports_.at("i2_s").proof->codes_hash_in;
    EXPECT_EQ(there.proof->codes_hash_out, hash) << from << " to " << to;
    EXPECT_EQ(back.proof->codes_hash_out, hash) << from << " to " << to << " and back";
    // Whatever was rounded once is exact from then on, unless the formats round differently.
    const std::uint64_t rounded = there.scales.rounded + back.scales.rounded;
    EXPECT_TRUE(Rounds(to) || rounded == 0) << from << " to " << to << " and back";
    EXPECT_LT(there.scales.max_relative_error, to == "bf16" ? 0x1p-8 : 0x1p-11) << from << to;
    return there.scales.rounded == 0 ? '=' : '~';
  }
  bool Rounds(const std::string& format) const { return reports_.at(format).scales.rounded != 0; }

  fs::path folder_;
  std::map<std::string, formats::ConvertReport> reports_;
};

std::string GreedyText(const fs::path& path) {
  auto model = runtime::LoadedModel::Load(path, {.num_threads = 2});
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return "";
  auto session = runtime::Session::Create(*model, {.num_threads = 2});
  EXPECT_TRUE(session);
  EXPECT_TRUE(session->Prefill((*model)->tokenizer.Encode("And it came to pass")));
  const auto result = session->Generate({.max_tokens = 24, .sampler = {.temperature = 0}}, nullptr);
  EXPECT_TRUE(result);
  return result ? result->text : "";
}

TEST_F(ConvertMatrix, EveryFormatToEveryOtherAndBack) {
  const std::vector<std::string> names = Formats();
  const bool full = std::getenv("BITTERN_FULL_MATRIX") != nullptr;
  std::printf("%-16s", "from \\ to");
  for (const std::string& to : names) {
    const std::string name = to.substr(to.find(':') == std::string::npos ? 0 : 5);  // "arm-64"
    std::printf(" %-6.6s", name.c_str());
  }
  std::printf("\n");
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("%-16s", names[i].c_str());
    for (std::size_t j = 0; j < names.size(); ++j) {
      const std::size_t apart = (j + names.size() - i) % names.size();
      const bool run = full || j == 0 || apart == 1 || apart == 7;
      std::printf("   %c   ", run ? Cell(names[i], names[j]) : '.');
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

TEST_F(ConvertMatrix, ExactFormatsWriteTheSameText) {
  const std::string expected = GreedyText(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf");
  EXPECT_FALSE(expected.empty());
  std::size_t exact = 0;
  for (const std::string& name : Formats()) {
    const std::string text = GreedyText(folder_ / ("from-" + name));
    if (Rounds(name)) {
      std::printf("%-16s rounds scales; text %s\n", name.c_str(),
                  text == expected ? "is the same" : "differs");
      continue;
    }
    ++exact;
    EXPECT_EQ(text, expected) << name;
  }
  EXPECT_EQ(exact, 10u);  // four of I2_S, TL1, TL2, IQ2_BN, IQ2_BN_R4, F32, safetensors
}

}  // namespace
}  // namespace bittern
