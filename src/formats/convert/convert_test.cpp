// SPDX-License-Identifier: Apache-2.0
// Conversions: facts that they keep, facts that they write down, and inputs that they refuse by
// name.
#include "formats/convert/convert.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "formats/convert/convert_metadata.hpp"
#include "formats/convert/convert_model_for_test.hpp"
#include "formats/ternary_source.hpp"

namespace bittern::formats {
namespace {

namespace fs = std::filesystem;
using quant::TernaryLayout;

ConvertOptions To(std::string_view target) {
  ConvertOptions options;
  options.to = target;
  options.prove = true;
  options.num_threads = 2;
  return options;
}

/// Converts and expects the proof to hold.
ConvertReport Good(const Checkpoint& source, const fs::path& out, const ConvertOptions& options) {
  auto report = Convert(source, out, options);
  EXPECT_TRUE(report) << options.to << ": " << report.error().message;
  if (!report) return {};
  EXPECT_TRUE(report->proof && report->proof->ok()) << report->proof->first_problem;
  return *std::move(report);
}

std::string Refused(const Checkpoint& source, const fs::path& out, const ConvertOptions& options,
                    ErrorCode code = ErrorCode::kUnsupported) {
  const auto report = Convert(source, out, options);
  EXPECT_FALSE(report) << options.to;
  if (report) return "";
  EXPECT_EQ(report.error().code, code) << report.error().message;
  return report.error().message;
}

std::string Text(const Checkpoint& file, std::string_view key) {
  const auto text = file.metadata().GetString(key);
  return text && *text ? std::string(**text) : "";
}

TEST(Convert, EveryTargetAndBack) {
  const ConvertFolder folder;
  const Checkpoint source = ConvertModel().Write(folder / "in.gguf");
  std::string hash;
  for (const std::string_view target : ConvertTargets()) {
    if (target == "q1_0" || target == "stq1_0") continue;  // they do not hold any codes
    const fs::path out = folder / ("out-" + std::string(target));
    const auto report = Good(source, out, To(target));
    if (hash.empty()) hash = report.proof->codes_hash_in;
    EXPECT_EQ(report.proof->codes_hash_in, hash);
    EXPECT_EQ(report.proof->codes_hash_out, hash);
    EXPECT_EQ(report.proof->plain_equal, report.proof->plain_tensors) << target;
    EXPECT_EQ(report.scales, report.proof->scales) << target;
    const auto there = Checkpoint::Open(out);
    ASSERT_TRUE(there) << there.error().message;
    const auto back = Good(*there, folder / ("back-" + std::string(target)), To("i2_s"));
    EXPECT_EQ(back.proof->codes_hash_out, hash) << target;
    EXPECT_EQ(back.scales.rounded, 0u) << target;
  }
  EXPECT_NE(Refused(source, folder / "q1", To("q1_0")).find("no weight 0"), std::string::npos);
  EXPECT_NE(Refused(source, folder / "st", To("stq1_0")).find("one 0 among four"),
            std::string::npos);
}

TEST(Convert, ExactTargetsRoundNothing) {
  const ConvertFolder folder;
  const Checkpoint source = ConvertModel().Write(folder / "in.gguf");
  for (const char* target : {"i2_s:row4", "tl1", "tl2", "iq2_bn", "iq2_bn_r4", "f32"}) {
    const auto report = Good(source, folder / target, To(target));
    EXPECT_EQ(report.scales, (ScaleCounts{7, 0, 0})) << target;
  }
  const auto half = Good(source, folder / "tq2", To("tq2_0"));
  EXPECT_EQ(half.scales.rounded, 7u);
  EXPECT_GT(half.scales.max_relative_error, 1e-6);
  EXPECT_LT(half.scales.max_relative_error, 0x1p-11);
  EXPECT_FALSE(half.worst_scale.empty());
  ConvertOptions floats = To("safetensors");
  floats.float_scales = true;
  EXPECT_EQ(Good(source, folder / "hf32", floats).scales.rounded, 0u);
  EXPECT_EQ(Good(source, folder / "hf16", To("safetensors")).scales.rounded, 7u);
}

TEST(Convert, ScalesOfRowsNeedAFormatWithRows) {
  const ConvertFolder folder;
  ConvertModel model;
  model.layout = TernaryLayout::kIq2Bn;
  model.scale = [](std::size_t, std::size_t row, std::size_t) {
    return 1 + 0.25f * static_cast<float>(row % 5);
  };
  const Checkpoint source = model.Write(folder / "in.gguf");
  for (const char* target : {"iq2_bn_r4", "f32", "f16", "tq2_0", "ptq1_0"}) {
    EXPECT_EQ(Good(source, folder / target, To(target)).scales.rounded, 0u) << target;
  }
  for (const char* target : {"i2_s", "tl2", "safetensors"}) {
    const std::string message = Refused(source, folder / (std::string("no-") + target), To(target));
    EXPECT_NE(message.find("blk.0.attn_q.weight"), std::string::npos) << message;
    EXPECT_NE(message.find("scales of rows"), std::string::npos) << message;
  }
  EXPECT_FALSE(fs::exists(folder / "no-i2_s"));
  EXPECT_FALSE(fs::exists(folder / "no-safetensors"));
}

TEST(Convert, ScalesOfGroupsNeedGroupsAsSmall) {
  const ConvertFolder folder;
  ConvertModel model;
  model.layout = TernaryLayout::kQ2_0;
  model.scale = [](std::size_t, std::size_t row, std::size_t group) {
    return 0.5f + 0.25f * static_cast<float>((row + group) % 3);
  };
  const Checkpoint source = model.Write(folder / "in.gguf");
  EXPECT_EQ(Good(source, folder / "same", To("q2_0")).scales.rounded, 0u);
  EXPECT_NE(Refused(source, folder / "pq", To("pq2_0")).find("every 64 columns"),
            std::string::npos);
  EXPECT_NE(Refused(source, folder / "f32", To("f32")).find("every 64 columns"), std::string::npos);
}

TEST(Convert, RefusesShapesByName) {
  const ConvertFolder folder;
  ConvertModel model;
  model.hidden = 384;  // a multiple of 128, not of 256
  const Checkpoint source = model.Write(folder / "in.gguf");
  const std::string message = Refused(source, folder / "out", To("tq1_0"));
  EXPECT_NE(message.find("blk.0.attn_q.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("256"), std::string::npos) << message;
  EXPECT_THAT(Convert(source, folder / "out", To("tq1_0")).error().hint,
              testing::StartsWith("these formats hold it: i2_s, q2_0, pq2_0, ptq1_0"));
  Good(source, folder / "ok", To("ptq1_0"));
}

TEST(Convert, RefusesScalesOutsideBinary16) {
  const ConvertFolder folder;
  ConvertModel model;
  model.scale = [](std::size_t, std::size_t, std::size_t) { return 1e-9f; };
  const Checkpoint source = model.Write(folder / "in.gguf");
  EXPECT_NE(Refused(source, folder / "out", To("tq2_0")).find("1e-09"), std::string::npos);
  EXPECT_EQ(Convert(source, folder / "out", To("tq2_0")).error().hint,
            "these formats hold it: i2_s, iq2_bn, iq2_bn_r4, f32, bf16");
  Good(source, folder / "ok", To("i2_s:arm-64"));
}

TEST(Convert, FoldsScalesThatLieBeside) {
  const ConvertFolder folder;
  ConvertModel model;
  model.architecture = "bitnet";
  model.layout = TernaryLayout::kTq2_0;
  model.scale = [](std::size_t, std::size_t, std::size_t) { return 1.0f; };
  model.builder.AddTensor("blk.0.attn_q.scale", 0, {1}, GgufBuilder::Raw(2.5f));
  const Checkpoint source = model.Write(folder / "in.gguf");
  Good(source, folder / "out.gguf", To("i2_s"));
  const auto out = Checkpoint::Open(folder / "out.gguf");
  ASSERT_TRUE(out);
  EXPECT_EQ(out->Find("blk.0.attn_q.scale"), nullptr);
  float scale;
  const auto bytes = out->Find("blk.0.attn_q.weight")->bytes;
  std::memcpy(&scale, bytes.data() + bytes.size() - 32, sizeof scale);
  EXPECT_EQ(scale, 2.5f);
}

/// Codes of a tensor's rows, read as the file says.
std::vector<std::uint8_t> Codes(const Checkpoint& file, std::string_view name) {
  Decisions decisions;
  auto opener = TernaryOpener::Create(file, &decisions);
  const auto source = opener->Open(*file.Find(name));
  std::vector<std::uint8_t> codes(source->rows() * source->cols());
  std::vector<float> scales(source->rows() * source->scales_per_row());
  EXPECT_TRUE(source->ReadRows(0, source->rows(), codes.data(), scales.data()));
  return codes;
}

TEST(Convert, LlamaRowsChangePlaces) {
  const ConvertFolder folder;
  ConvertModel model;
  model.architecture = "llama";
  const Checkpoint gguf = model.Write(folder / "in.gguf");
  const auto there = Good(gguf, folder / "hf", To("safetensors"));
  const auto hf = Checkpoint::Open(folder / "hf");
  ASSERT_TRUE(hf) << hf.error().message;
  const auto rows = [&](const Checkpoint& file, const char* name, std::size_t row) {
    const auto codes = Codes(file, name);
    const auto first = codes.begin() + static_cast<std::ptrdiff_t>(row * model.hidden);
    return std::vector<std::uint8_t>(first, first + static_cast<std::ptrdiff_t>(model.hidden));
  };
  // Heads of 128: neighbours 2 and 3 of GGUF are rows 1 and 65 of Hugging Face.
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight"}) {
    EXPECT_EQ(rows(gguf, name, 2), rows(*hf, name, 1)) << name;
    EXPECT_EQ(rows(gguf, name, 3), rows(*hf, name, 65)) << name;
  }
  EXPECT_EQ(rows(gguf, "blk.0.attn_v.weight", 3), rows(*hf, "blk.0.attn_v.weight", 3));
  const auto back = Good(*hf, folder / "back.gguf", To("i2_s"));
  const auto again = Checkpoint::Open(folder / "back.gguf");
  ASSERT_TRUE(again);
  EXPECT_EQ(Codes(gguf, "blk.0.attn_q.weight"), Codes(*again, "blk.0.attn_q.weight"));
  EXPECT_EQ(Text(*again, "bittern.rope_pairing"), "");
  EXPECT_EQ(there.proof->codes_hash_out, back.proof->codes_hash_out);
}

TEST(Convert, EmbeddingsInEveryFormat) {
  const ConvertFolder folder;
  const Checkpoint source = ConvertModel().Write(folder / "in.gguf");
  for (const std::string_view format : EmbeddingFormats()) {
    ConvertOptions options = To("i2_s");
    options.embeddings = format;
    const auto report = Good(source, folder / std::string(format), options);
    const bool exact = format == "keep" || format == "f32";
    EXPECT_EQ(report.proof->plain_equal, exact ? 4u : 3u) << format;
    EXPECT_LT(report.proof->largest_plain_error, 0.03) << format;
  }
  ConvertOptions folder_q8 = To("safetensors");
  folder_q8.embeddings = "q8_0";
  Refused(source, folder / "hf", folder_q8, ErrorCode::kInvalidArgument);
}

TEST(Convert, RefusesEmbeddingsThatOverflow) {
  const ConvertFolder folder;
  ConvertModel model;
  model.embedding_spread = 1e6f;
  const Checkpoint source = model.Write(folder / "in.gguf");
  ConvertOptions options = To("i2_s");
  options.embeddings = "f16";
  const std::string message = Refused(source, folder / "out", options);
  EXPECT_NE(message.find("token_embd.weight"), std::string::npos) << message;
  options.embeddings = "bf16";
  Good(source, folder / "out", options);
}

TEST(Convert, WritesDownWhatTheSourceLeavesOpen) {
  const ConvertFolder folder;
  ConvertModel model;
  model.builder.Add("tokenizer.ggml.model", "gpt2")
      .Add("ternary.layout", "x86-128")
      .Add("tokenizer.chat_template", "{{ 'Human: ' }}BITNETAssistant: ");
  const Checkpoint source = model.Write(folder / "in.gguf");
  ConvertOptions options = To("tl2");
  options.hints = {"relu2", "llama-bpe", 39};
  options.tilings = {{512, 256, {64, 96, 32}}};
  const auto report = Good(source, folder / "out.gguf", options);
  const auto out = Checkpoint::Open(folder / "out.gguf");
  ASSERT_TRUE(out);
  EXPECT_EQ(Text(*out, "bitnet-b1.58.hidden_activation"), "relu2");
  EXPECT_EQ(Text(*out, "tokenizer.ggml.pre"), "llama-bpe");
  EXPECT_EQ(*out->metadata().GetUint("tokenizer.ggml.eot_token_id"), 39u);
  EXPECT_EQ(*out->metadata().GetUint("general.file_type"), 39u);
  EXPECT_EQ(Text(*out, "ternary.layout"), "tl2");
  EXPECT_EQ(Text(*out, "tokenizer.chat_template"), BitnetChatTemplate());
  const auto tilings = **out->metadata().GetInts("ternary.tl.tiling");
  const std::vector<std::int32_t> given = {512, 256, 64, 96, 32};
  EXPECT_NE(std::search(tilings.begin(), tilings.end(), given.begin(), given.end()), tilings.end());
  EXPECT_EQ(tilings.size() % 5, 0u);
  ASSERT_EQ(report.notes.size(), 1u);
}

TEST(Convert, MakesOneFileOfASplitModel) {
  const ConvertFolder folder;
  const auto keys = [](GgufBuilder& builder, std::uint16_t index) {
    builder.Add("split.no", index).Add("split.count", std::uint16_t{2});
    builder.Add("split.tensors.count", std::int32_t{12});
  };
  GgufBuilder second;
  keys(second, 1);
  second.AddTensor("output.weight", quant::WeightFormat::kF32,
                   {ConvertModel::kHidden, ConvertModel::kVocab});
  const auto bytes = second.Build();
  std::ofstream(folder / "m-00002-of-00002.gguf", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  ConvertModel model;
  keys(model.builder, 0);
  const Checkpoint source = model.Write(folder / "m-00001-of-00002.gguf");
  ConvertOptions options = To("tl2");
  Good(source, folder / "out.gguf", options);
  const auto out = Checkpoint::Open(folder / "out.gguf");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->tensors().size(), 12u);
  EXPECT_EQ(out->metadata().Find("split.count"), nullptr);
  options.overwrite = true;
  const auto message =
      Refused(source, folder / "m-00002-of-00002.gguf", options, ErrorCode::kInvalidArgument);
  EXPECT_NE(message.find("is both input and output"), std::string::npos) << message;
}

TEST(Convert, NamesTheArchitectureThatRunsRight) {
  struct Case {
    const char *name, *activation, *written;
  };
  for (const Case& c :
       {Case{"bitnet", "relu2", "bitnet-b1.58"}, Case{"bitnet", "silu", "bitnet"},
        Case{"bitnet-b1.58", "silu", "bitnet"}, Case{"bitnet-25", "relu2", "bitnet-25"}}) {
    const ConvertFolder folder;
    ConvertModel model;
    model.architecture = c.name;
    const Checkpoint source = model.Write(folder / "in.gguf");
    ConvertOptions options = To("i2_s");
    options.hints.hidden_activation = c.activation;
    Good(source, folder / "out.gguf", options);
    const auto out = Checkpoint::Open(folder / "out.gguf");
    ASSERT_TRUE(out);
    EXPECT_EQ(Text(*out, "general.architecture"), c.written);
    EXPECT_EQ(Text(*out, std::string(c.written) + ".hidden_activation"), c.activation);
    EXPECT_EQ(*out->metadata().GetUint(std::string(c.written) + ".block_count"), 1u);
  }
}

TEST(Convert, LeavesWhatIsThereAlone) {
  const ConvertFolder folder;
  const Checkpoint source = ConvertModel().Write(folder / "in.gguf");
  std::ofstream(folder / "there") << "mine";
  Refused(source, folder / "there", To("tl2"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(fs::file_size(folder / "there"), 4u);
  ConvertOptions overwrite = To("tl2");
  overwrite.overwrite = true;
  Refused(source, folder / "in.gguf", overwrite, ErrorCode::kInvalidArgument);
  Good(source, folder / "there", overwrite);
  Refused(source, folder / "x", To("tl3"), ErrorCode::kInvalidArgument);
}

TEST(Convert, CancelledLeavesNothing) {
  const ConvertFolder folder;
  const Checkpoint source = ConvertModel().Write(folder / "in.gguf");
  for (const char* target : {"i2_s", "safetensors"}) {
    for (const double stop_at : {0.0, 0.3, 0.7}) {
      ConvertOptions options = To(target);
      options.on_progress = [&](double done, std::string_view) { return done < stop_at; };
      Refused(source, folder / "out", options, ErrorCode::kCancelled);
      EXPECT_EQ(folder.Entries(), 1u) << target << " " << stop_at;
    }
  }
}

/// Proves `in` against a copy of it with one byte of a tensor changed.
Proof ProofOfDamage(const ConvertFolder& folder, std::string_view tensor, std::size_t byte,
                    unsigned flip) {
  const Checkpoint in = ConvertModel().Write(folder / "in.gguf");
  fs::remove(folder / "out.gguf");  // mingw's copy_file overwrites none
  fs::copy_file(folder / "in.gguf", folder / "out.gguf");
  std::fstream file(folder / "out.gguf", std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(in.Find(tensor)->file_offset + byte);
  file.seekg(at);
  const auto value = static_cast<unsigned>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(value ^ flip));
  file.close();
  const auto out = Checkpoint::Open(folder / "out.gguf");
  EXPECT_TRUE(out);
  auto pool = ThreadPool::Create(2);
  auto proof = Prove(in, *out, nullptr, *pool, {});
  EXPECT_TRUE(proof) << proof.error().message;
  return proof ? *std::move(proof) : Proof{};
}

TEST(Prove, FindsOneWrongWeight) {
  const ConvertFolder folder;
  // One of the four codes of a byte is 0 or 2 in its lowest bit's field; 0 <-> 2 stays valid.
  const Checkpoint in = ConvertModel().Write(folder / "in.gguf");
  const auto bytes = in.Find("blk.0.ffn_up.weight")->bytes;
  std::size_t at = 0;
  while ((std::to_integer<unsigned>(bytes[at]) & 1) != 0) ++at;
  const Proof proof = ProofOfDamage(folder, "blk.0.ffn_up.weight", at, 2);
  EXPECT_FALSE(proof.ok());
  EXPECT_EQ(proof.wrong_codes, 1u);
  EXPECT_EQ(proof.wrong_scales, 0u);
  EXPECT_NE(proof.codes_hash_in, proof.codes_hash_out);
  EXPECT_NE(proof.first_problem.find("blk.0.ffn_up.weight"), std::string::npos);
}

TEST(Prove, FindsAWrongScale) {
  const ConvertFolder folder;
  const std::size_t scale = ConvertModel::kHidden * ConvertModel::kHidden / 4;
  const Proof proof = ProofOfDamage(folder, "blk.0.attn_q.weight", scale, 1);
  EXPECT_FALSE(proof.ok());
  EXPECT_EQ(proof.wrong_codes, 0u);
  EXPECT_EQ(proof.wrong_scales, 1u);
  EXPECT_EQ(proof.codes_hash_in, proof.codes_hash_out);
}

TEST(Prove, FindsAWrongCopy) {
  const ConvertFolder folder;
  const Proof proof = ProofOfDamage(folder, "output_norm.weight", 3, 1);
  EXPECT_FALSE(proof.ok());
  EXPECT_EQ(proof.plain_equal + 1, proof.plain_tensors);
  EXPECT_TRUE(ProofOfDamage(folder, "output_norm.weight", 3, 0).ok());
}

}  // namespace
}  // namespace bittern::formats
