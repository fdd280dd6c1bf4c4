// SPDX-License-Identifier: Apache-2.0
// A forger may compute the hash of a changed receipt anew: the replay must find the change.
#include "proof/receipt/receipt.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"
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

/// A value changed in a first and a second way: another number, the other truth, a longer or an
/// empty text or list, another type.
Json Changed(const Json& value, bool second) {
  if (second) return value.AsNumber() ? Json(*value.AsNumber() + 1) : Json();
  if (const auto flag = value.AsBool()) return !*flag;
  if (const auto* text = value.AsString()) return *text + "a";
  if (value.AsArray() != nullptr) {
    Json::Array list = *value.AsArray();
    list.push_back(list.empty() ? Json("a") : list.front());
    return Json(std::move(list));
  }
  const double number = value.AsNumber().value_or(0);
  return number >= 1 ? Json(number - 1) : Json(number + 0.5);
}

/// All members of a receipt and of its options: changed, left out, or one more beside them. None
/// passes with the old hash. With the hash computed anew a change passes only if the answer is
/// that of the changed options, too.
TEST_F(ReceiptTest, EveryMemberCounts) {
  runtime::GenerateOptions options = Sampled(3);
  options.stops = {"xyzzy"};
  const ReadReceipt good = Make(options);
  const Json whole = *Json::Parse(ReceiptText(good.receipt), {});
  std::size_t changes = 0, passed = 0;
  const auto check = [&](const Json& json, const std::string& what) {
    ++changes;
    const auto read = ParseReceipts(json.Dump(), model_->tokenizer);
    EXPECT_TRUE(!read || !read->front().unchanged) << what;
    if (!read) return;  // refused by name
    ReadReceipt forged = read->front();
    forged = ParseReceipts(ReceiptText(forged.receipt), model_->tokenizer)->front();
    ASSERT_TRUE(forged.unchanged) << what;
    ++changes;
    const auto verdict = VerifyReceipt(model_, "h", forged, 1);
    if (!verdict || !verdict->identical) return;
    ++passed;
    const ReadReceipt honest = Make(forged.receipt.options);
    EXPECT_EQ(honest.receipt.ids, good.receipt.ids) << what;
    EXPECT_EQ(honest.receipt.chain, good.receipt.chain) << what;
    EXPECT_EQ(honest.receipt.finish, good.receipt.finish) << what;
  };
  for (const bool inner : {false, true}) {
    const Json& from = inner ? whole["options"] : whole;
    const auto with = [&](Json::Object members) {
      if (!inner) return Json(std::move(members));
      Json outer = whole;
      outer["options"] = Json(std::move(members));
      return outer;
    };
    for (std::size_t i = 0; i < from.AsObject()->size(); ++i) {
      Json::Object changed = *from.AsObject(), without = changed;
      const std::string name = changed[i].key;
      if (name == "options" || name == "model") continue;  // below; only told
      for (const bool second : {false, true}) {
        Json::Object one = changed;
        one[i].value = Changed(one[i].value, second);
        check(with(one), name + " changed");
      }
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      check(with(without), name + " left out");
    }
    Json::Object more = *from.AsObject();
    more.push_back({"more", Json(1)});
    check(with(more), "one more");
  }
  EXPECT_GT(changes, 150u);
  EXPECT_GT(passed, 0u);
  EXPECT_LT(passed, changes / 4);
  RecordProperty("changes", static_cast<int>(changes));
}

}  // namespace
}  // namespace bittern::proof
