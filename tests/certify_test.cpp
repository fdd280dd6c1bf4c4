// SPDX-License-Identifier: Apache-2.0
// Certificates: the golden lines hold on every path of this machine, and a defect planted in a
// weight or in an operation is found and named. The whole table of paths, with other CPUs, is
// tools/certify_matrix.sh.
#include "proof/certificate/certify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "formats/convert/convert.hpp"
#include "golden.hpp"
#include "kernels/registry.hpp"
#include "model/weights.hpp"
#include "runtime/convert_hints.hpp"

namespace bittern::proof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Loaded = std::shared_ptr<const runtime::LoadedModel>;

const std::string kPocket = BITTERN_SOURCE_DIR "/models/pocket-8m-i2s.gguf";
const std::string kBuiltIn = BITTERN_SOURCE_DIR "/models/pocket-3-i2s.gguf";
const std::string kKjv = BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The golden certificate of the same model and code.
Certificate Golden(const Certificate& found) {
  const auto all = ParseCertificates(ReadFile(BITTERN_SOURCE_DIR "/models/certificates.txt"));
  EXPECT_TRUE(all.has_value()) << all.error().message;
  for (const Certificate& golden : *all) {
    if (golden.model == found.model && golden.code == found.code) return golden;
  }
  ADD_FAILURE() << "no golden certificate for " << CertificateLine(found);
  return {};
}

Loaded Load(const fs::path& path, const model::LoadOptions& weights = {},
            std::string_view isa = "") {
  runtime::LoadOptions options;
  options.num_threads = 1;
  options.weights = weights;
  options.weights.isa = isa;
  auto model = runtime::LoadedModel::Load(path, options);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return *model;
}

Certificate CertifyWith(const Loaded& model, const CertifyOptions& options) {
  auto certificate = Certify(model, options);
  EXPECT_TRUE(certificate.has_value()) << certificate.error().message;
  return *certificate;
}

CertifyOptions Options(int threads, int batch, CacheUse cache = CacheUse::kGrow,
                       int background_loads = 0) {
  CertifyOptions options;
  options.session = {.batch_size = batch, .num_threads = threads};
  options.cache = cache;
  options.background_loads = background_loads;
  return options;
}

void ExpectGolden(const Loaded& model, const CertifyOptions& options) {
  const Certificate found = CertifyWith(model, options);
  EXPECT_THAT(CompareCertificates(Golden(found), found), IsEmpty());
}

TEST(Certificate, GoldenWhateverTheThreadsChunksAndCache) {
  const Loaded model = Load(kPocket);
  for (const int threads : {1, 2, 7}) ExpectGolden(model, Options(threads, 512));
  for (const int chunk : {1, 3, 64}) ExpectGolden(model, Options(2, chunk));
  ExpectGolden(model, Options(2, 64, CacheUse::kRecompute));
  ExpectGolden(model, Options(2, 3, CacheUse::kRewind));
  ExpectGolden(model, Options(1, 64, CacheUse::kGrow, 1));
  CertifyOptions float_cache = Options(2, 64);
  float_cache.session.kv_type = model::KvType::kF32;
  ExpectGolden(model, float_cache);
}

TEST(Certificate, TellsHowFarItIs) {
  CertifyOptions options = Options(1, 64);
  options.prompts = {"a", "b"};
  std::vector<double> told;
  options.on_progress = [&](double done) { told.push_back(done); };
  CertifyWith(Load(kPocket), options);
  ASSERT_EQ(told.size(), 2u * (kCertificateTokens - 1));
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_GT(told[kCertificateTokens], 0.5);
  EXPECT_LE(told.back(), 1.0);
}

// Whole batches, a few tokens and single ones leave their values in different places.
TEST(Certificate, EveryOperationIsTheSameByAnyChunk) {
  ExpectGolden(Load(kKjv, {.layout = model::MatrixLayout::kTile48}), Options(2, 7));
  for (const auto skip : {model::SkipMode::kOff, model::SkipMode::kOn}) {
    const Loaded model = Load(kPocket, {.zero_skip = skip});
    const Certificate whole = CertifyWith(model, Options(2, 512));
    for (const int chunk : {1, 2, 7, 8, 9}) {
      const Certificate found = CertifyWith(model, Options(2, chunk));
      for (std::size_t i = 0; i < whole.prompts.size(); ++i) {
        EXPECT_EQ(whole.prompts[i].prefill, found.prompts[i].prefill) << chunk;
        EXPECT_EQ(whole.prompts[i].decode, found.prompts[i].decode) << chunk;
      }
    }
  }
}

TEST(Certificate, GoldenForTheOtherModels) {
  ExpectGolden(Load(kKjv), Options(2, 64));
  for (const auto layout :
       {model::MatrixLayout::kTile48, model::MatrixLayout::kTl1, model::MatrixLayout::kTl2}) {
    ExpectGolden(Load(kKjv, {.layout = layout}), Options(1, 64));
  }
  for (const auto skip : {model::SkipMode::kOff, model::SkipMode::kOn}) {
    ExpectGolden(Load(kKjv, {.zero_skip = skip}), Options(2, 3));
    for (const auto batch : {model::BatchKernel::kTile16, model::BatchKernel::kVlut}) {
      ExpectGolden(Load(kKjv, {.zero_skip = skip, .batch_kernel = batch}), Options(2, 64));
    }
  }
}

// Generation may take shortcuts (a screened head, drafts); a certificate takes none.
TEST(Certificate, GenerationWritesTheCertifiedTokensWhateverTheSwitches) {
  const Certificate certificate = CertifyWith(Load(kPocket), Options(2, 64));
  for (const auto head : {model::HeadMode::kExact, model::HeadMode::kScreened}) {
    for (const auto skip : {model::SkipMode::kOff, model::SkipMode::kOn}) {
      const Loaded model = Load(kPocket, {.head = head, .zero_skip = skip});
      auto session = runtime::Session::Create(model, {.context_length = 256, .num_threads = 2});
      ASSERT_TRUE(session.has_value());
      for (const auto drafts : {runtime::Speculation::kOff, runtime::Speculation::kNgram,
                                runtime::Speculation::kAlways}) {
        for (const PromptCertificate& prompt : certificate.prompts) {
          session->Truncate(0);
          ASSERT_TRUE(session->Prefill(prompt.prompt_ids));
          const auto text = session->Generate({.max_tokens = kCertificateTokens,
                                               .sampler = {.temperature = 0},
                                               .ignore_eos = true,
                                               .speculation = drafts},
                                              nullptr);
          ASSERT_TRUE(text.has_value());
          EXPECT_EQ(text->ids, prompt.ids) << prompt.text;
        }
      }
    }
  }
}

TEST(Certificate, GoldenForTheRandomModel) {
  if (!fs::exists(testing_support::TinyModelPath())) GTEST_SKIP() << "no random-weight model";
  ExpectGolden(Load(testing_support::TinyModelPath()), Options(2, 64));
}

// SameBits: the runs of ./check that force an instruction set leave these out.
TEST(SameBitsCertificate, GoldenOnEveryInstructionSet) {
  for (const kernels::Isa isa : kernels::AllIsas()) {
    if (!kernels::Supports(isa)) continue;
    SCOPED_TRACE(kernels::IsaName(isa));
    ExpectGolden(Load(kPocket, {}, kernels::IsaName(isa)), Options(2, 64));
    ExpectGolden(Load(kBuiltIn, {}, kernels::IsaName(isa)), Options(2, 64));
  }
}

/// A folder that goes with the test.
class CertifyFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("certify-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Convert(const std::string& in, const std::string& to) {
    const auto source = formats::Checkpoint::Open(in);
    Decisions ignored;
    formats::ConvertOptions options;
    options.to = to;
    options.embeddings = to == "tl2" ? "f32" : "keep";
    options.float_scales = true;
    options.hints = runtime::HintsFor(*source, &ignored);
    const fs::path out = folder_ / ("as-" + to);
    const auto report = formats::Convert(*source, out, options);
    EXPECT_TRUE(report.has_value()) << to << ": " << report.error().message;
    return out;
  }

  fs::path folder_;
};

TEST_F(CertifyFiles, ExactConversionsKeepTheLine) {
  for (const char* to :
       {"i2_s:arm-64", "i2_s:row4", "i2_s:sequential", "tl2", "iq2_bn", "f32", "safetensors"}) {
    SCOPED_TRACE(to);
    ExpectGolden(Load(Convert(kKjv, to)), Options(2, 64));
  }
}

TEST_F(CertifyFiles, RoundedScalesChangeIt) {
  const Certificate found = CertifyWith(Load(Convert(kKjv, "tq2_0")), Options(2, 64));
  const Certificate before = CertifyWith(Load(kKjv), Options(2, 64));
  EXPECT_NE(found.model, before.model);
  EXPECT_NE(found.logits, before.logits);
  EXPECT_THAT(CompareCertificates(before, found)[0],
              HasSubstr("first operation that differs: layer 0, qkv_proj"));
}

TEST_F(CertifyFiles, OneChangedWeightIsNamed) {
  const Certificate before = CertifyWith(Load(kPocket), Options(2, 64));
  const auto file = formats::Checkpoint::Open(kPocket);
  const formats::Tensor* tensor = file->Find("blk.2.ffn_down.weight");
  ASSERT_NE(tensor, nullptr);
  std::string bytes = ReadFile(kPocket);
  char& packed = bytes[tensor->file_offset + 1000];
  packed = static_cast<char>(packed ^ ((packed & 3) == 1 ? 3 : 1));  // 0 becomes +1, others 0
  const fs::path damaged = folder_ / "damaged.gguf";
  std::ofstream(damaged, std::ios::binary) << bytes;

  CertifyOptions options = Options(1, 3);
  options.expected = &before;
  const auto differences = CompareCertificates(before, CertifyWith(Load(damaged), options));
  ASSERT_GE(differences.size(), 3u);
  EXPECT_THAT(differences[0], HasSubstr("first operation that differs: layer 2, down_proj "));
  EXPECT_EQ(differences[1], "the model's first part that differs: blk.2.ffn_down");
  EXPECT_THAT(differences[2], HasSubstr("model: "));
}

// --- Planted operations: one entry of the kernel table at a time is replaced ---

constexpr int kLayers = 4;  // of Pocket
int calls = 0;              // of the planted operation
kernels::FloatOps right;    // the table before
const kernels::Tile16Ops* right_tile16 = nullptr;

float OneUlpMore(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + 1); }

void PlantedAct(const float* gate, const float* up, std::size_t n, float* out) {
  right.relu2_mul(gate, up, n, out);
  if (calls++ == 3 * kLayers + 2) out[7] += 1;  // token 3, layer 2
}

void PlantedAttention(const kernels::AttentionArgs* args) {
  right.attention(args);
  args->out[0] = OneUlpMore(args->out[0]);
}

void PlantedHead(const std::uint16_t* rows, std::size_t count, std::size_t n, const float* x,
                 float* out) {
  right.dot_f16(rows, count, n, x, out);
  out[count - 1] = OneUlpMore(out[count - 1]);
}

/// Wrong in decoding only: prompts of several tokens go through gemm, or several at a time.
void PlantedGemv(const kernels::FewArgs* args) {
  right_tile16->gemv(args);
  // The second token's first down_proj.
  if (args->num_tokens == 1 && calls++ == 3 + 4 * kLayers) ++args->out[0];
}

/// The result of comparing Pocket with operations that `plant` has changed.
template <class Plant>
std::string FirstWordOn(int batch, Plant plant) {
  const Loaded model = Load(kPocket, {.zero_skip = model::SkipMode::kOff});
  const Certificate before = CertifyWith(model, Options(1, batch));
  auto& kernels = const_cast<kernels::Kernels&>(*model->model.weights().kernels);
  right = kernels.float32();
  right_tile16 = &kernels.tile16();
  kernels::FloatOps floats = right;
  kernels::Tile16Ops tile16 = *right_tile16;
  plant(&floats, &tile16);
  kernels::KernelInfo float_info = *kernels.float32_info, tile16_info = *kernels.tile16_info;
  float_info.float32 = &floats;
  tile16_info.tile16 = &tile16;
  kernels.float32_info = &float_info;
  kernels.tile16_info = &tile16_info;
  calls = 0;
  CertifyOptions options = Options(1, batch);
  options.expected = &before;
  const Certificate found = CertifyWith(model, options);
  EXPECT_EQ(found.model, before.model);
  const auto differences = CompareCertificates(before, found);
  return differences.empty() ? "" : differences[0];
}

TEST(Certificate, PlantedActivationIsNamed) {
  EXPECT_EQ(FirstWordOn(1, [](auto* floats, auto*) { floats->relu2_mul = PlantedAct; }),
            "first operation that differs: layer 2, act (prompt 1, prefill; logits differ from "
            "position 3 of 69 on)");
}

TEST(Certificate, PlantedAttentionIsNamed) {
  EXPECT_THAT(FirstWordOn(64, [](auto* floats, auto*) { floats->attention = PlantedAttention; }),
              HasSubstr("first operation that differs: layer 0, attention (prompt 1, prefill;"));
}

TEST(Certificate, PlantedHeadIsNamed) {
  EXPECT_THAT(FirstWordOn(64, [](auto* floats, auto*) { floats->dot_f16 = PlantedHead; }),
              HasSubstr("first operation that differs: head (prompt 1, prefill; logits differ "
                        "from position 0 of"));
}

TEST(Certificate, PlantedDecodingKernelIsNamed) {
  EXPECT_THAT(FirstWordOn(64, [](auto*, auto* tile16) { tile16->gemv = PlantedGemv; }),
              HasSubstr("first operation that differs: layer 0, down_proj (prompt 1, decoding;"));
}

// --- Options and prompts ---

TEST(Certificate, OtherPromptsAreOtherCode) {
  const Loaded model = Load(kPocket);
  CertifyOptions options = Options(2, 64);
  options.prompts = {"What is a sea?"};
  const Certificate one = CertifyWith(model, options);
  EXPECT_EQ(one.prompts.size(), 1u);
  EXPECT_EQ(one.prompts[0].ids.size(), static_cast<std::size_t>(kCertificateTokens));
  EXPECT_EQ(one.prompts[0].positions.size(),
            one.prompts[0].prompt_ids.size() + kCertificateTokens - 1);
  options.prompts = {"What is a tea?"};
  const Certificate other = CertifyWith(model, options);
  EXPECT_NE(one.code, other.code);
  EXPECT_NE(one.logits, other.logits);
  EXPECT_NE(one.tokens, other.tokens);
  EXPECT_EQ(one.model, other.model);
  EXPECT_THAT(CompareCertificates(one, other)[0], HasSubstr("operations are not compared"));
}

TEST(Certificate, WhatDoesNotFitIsRefused) {
  const Loaded model = Load(kPocket);
  CertifyOptions options = Options(2, 64);
  std::string text;
  for (int i = 0; i < 1000; ++i) text += " bird";
  options.prompts = {text};
  EXPECT_EQ(Certify(model, options).error().code, ErrorCode::kContextFull);
  options.prompts = {};
  options.background_loads = 65;
  EXPECT_EQ(Certify(model, options).error().code, ErrorCode::kInvalidArgument);
}

TEST(Certificate, TheFileKeepsEverything) {
  const Certificate before = CertifyWith(Load(kPocket), Options(2, 64));
  const auto read = ParseCertificates(CertificateJson(before));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(CertificateJson(read->front()), CertificateJson(before));
  EXPECT_EQ(CertificateLine(read->front()), CertificateLine(before));
}

}  // namespace
}  // namespace bittern::proof
