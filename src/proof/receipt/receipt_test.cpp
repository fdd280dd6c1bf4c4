// SPDX-License-Identifier: Apache-2.0
// A forger may compute the hash of a changed receipt anew: the replay must find the change.
#include "proof/receipt/receipt.hpp"

#include <gtest/gtest.h>

#include "runtime/session.hpp"

namespace bittern::proof {
namespace {

class ReceiptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ =
        *runtime::LoadedModel::Load(std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf");
  }
  static void TearDownTestSuite() { model_ = nullptr; }

  /// An answer of a session, with its receipt.
  static ReadReceipt Make(runtime::GenerateOptions options) {
    Receipt receipt{.model = "kjv",
                    .model_hash = "h",
                    .arithmetic = ArithmeticName(model::KvType::kF16),
                    .context_length = 256,
                    .prompt = model_->tokenizer.Encode("In the beginning"),
                    .options = options};
    auto session = *runtime::Session::Create(model_, {.context_length = 256, .num_threads = 1});
    options.logprobs = 0;
    EXPECT_TRUE(session.Prefill(receipt.prompt));
    const auto result = *session.Generate(options, {});
    receipt.options.sampler.seed = result.seed;
    receipt.ids = result.ids;
    receipt.finish = runtime::FinishReasonName(result.finish);
    receipt.chain = ChainOf(result.logprobs);
    return {receipt, true};
  }
  static ReplayVerdict Check(const ReadReceipt& read) {
    return *VerifyReceipt(model_, "h", read, 1);
  }

  static inline std::shared_ptr<const runtime::LoadedModel> model_;
};

runtime::GenerateOptions Sampled(std::uint32_t seed) {
  return {.max_tokens = 24, .sampler = {.temperature = 1.2f, .seed = seed}};
}

TEST_F(ReceiptTest, GoodOnesAreIdentical) {
  runtime::GenerateOptions stopped = Sampled(4);
  stopped.stops = {"the", "and"};
  runtime::GenerateOptions penalised = Sampled(5);
  penalised.sampler.repeat_penalty = 1.3f;
  penalised.sampler.frequency_penalty = 0.5f;
  for (const auto& options :
       {Sampled(1), stopped, penalised,
        runtime::GenerateOptions{.max_tokens = 9, .sampler = {.temperature = 0}},
        runtime::GenerateOptions{.max_tokens = 0},
        runtime::GenerateOptions{.max_tokens = -1, .ignore_eos = true}}) {
    const ReadReceipt read = Make(options);
    const ReplayVerdict verdict = Check(read);
    EXPECT_TRUE(verdict.identical) << verdict.what;
  }
}

TEST_F(ReceiptTest, TextAndBack) {
  runtime::GenerateOptions options = Sampled(7);
  options.sampler.logit_bias = {{5, 0.3f}, {6, -std::numeric_limits<float>::infinity()}};
  options.sampler.top_p = 0.9f;
  options.stops = {"a\nb"};
  const ReadReceipt read = Make(options);
  const std::string text = ReceiptText(read.receipt);
  const auto parsed = ParseReceipts(text, model_->tokenizer);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->front().unchanged);
  EXPECT_EQ(ReceiptText(parsed->front().receipt), text);
  EXPECT_TRUE(Check(parsed->front()).identical);
}

TEST_F(ReceiptTest, EveryChangedByteIsCaught) {
  const std::string text = ReceiptText(Make(Sampled(7)).receipt);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto parsed = ParseReceipts(changed, model_->tokenizer);
    EXPECT_TRUE(!parsed || !parsed->front().unchanged) << i << ": " << changed.substr(i, 20);
  }
}

TEST_F(ReceiptTest, ForgedOnesAreNot) {
  const ReadReceipt good = Make(Sampled(1));
  ASSERT_GT(good.receipt.ids.size(), 20u);
  for (std::size_t i = 0; i < good.receipt.ids.size(); ++i) {
    ReadReceipt forged = good;
    forged.receipt.ids[i] ^= 1;
    const ReplayVerdict verdict = Check(forged);
    EXPECT_FALSE(verdict.identical);
    EXPECT_TRUE(verdict.what.starts_with("token " + std::to_string(i + 1) + " of")) << verdict.what;
  }
  ReadReceipt forged = good;
  forged.receipt.options.sampler.seed ^= 1;
  EXPECT_FALSE(Check(forged).identical);
  forged = good;
  forged.receipt.prompt.back() ^= 1;
  EXPECT_FALSE(Check(forged).identical);
  forged = good;
  forged.receipt.chain[8 * 5 + 2] = forged.receipt.chain[8 * 5 + 2] == '0' ? '1' : '0';
  EXPECT_NE(Check(forged).what.find("token 6 of"), std::string::npos) << Check(forged).what;
  forged = good;
  forged.receipt.ids.pop_back();
  forged.receipt.chain.resize(forged.receipt.chain.size() - 8);
  EXPECT_FALSE(Check(forged).identical);
  forged = good;
  forged.receipt.finish = "end_of_text";
  EXPECT_FALSE(Check(forged).identical);
  forged = good;
  forged.receipt.model_hash = "g";
  EXPECT_FALSE(Check(forged).identical);
  forged = good;
  forged.receipt.prompt[0] = 1 << 30;
  EXPECT_NE(Check(forged).what.find("outside the vocabulary"), std::string::npos);
}

}  // namespace
}  // namespace bittern::proof
