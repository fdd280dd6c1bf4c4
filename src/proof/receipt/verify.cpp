// SPDX-License-Identifier: Apache-2.0
// The replay: what the network gives at every position of the answer, in one pass, and beside it
// the sampler with the request's options and seed. A Generation decides as it did when the answer
// was made: penalties, stop strings, the end.
#include <fmt/format.h>

#include <algorithm>

#include "proof/receipt/receipt.hpp"
#include "request/options/choice_names.hpp"
#include "runtime/generation.hpp"
#include "runtime/prompt_check.hpp"
#include "runtime/session.hpp"

namespace bittern::proof {
namespace {

ReplayVerdict Differs(std::string what) { return {false, std::move(what)}; }

/// Samples after each position and remembers the first token that is another.
class Replay {
 public:
  static Result<Replay> Create(const runtime::LoadedModel& model, const Receipt& receipt,
                               runtime::DraftPolicy* policy) {
    runtime::GenerateOptions options = receipt.options;
    options.logprobs = 0;
    auto generation = BITTERN_TRY(runtime::Generation::Create(model, options, {}, policy));
    generation.AddContext(receipt.prompt);
    return Replay(std::move(generation), receipt);
  }

  void OnLogits(std::span<const float> logits) {
    if (what_ || error_ || generation_.finish()) return;
    rows_.logits = logits;
    rows_.failures.assign(1, std::nullopt);
    const std::size_t index = generation_.ids().size();
    const TokenId before = index == 0 ? receipt_->prompt.back() : receipt_->ids[index - 1];
    const auto done = generation_.Sample(std::span(&before, 1), 0, rows_);
    if (!done.has_value()) {
      error_ = done.error();
      return;
    }
    const auto ids = generation_.ids();
    if (ids.size() <= index) return;  // the end token
    if (index >= receipt_->ids.size()) {
      what_ = fmt::format("the receipt ends after {} tokens, the model goes on with {}",
                          receipt_->ids.size(), ids.back());
    } else if (ids.back() != receipt_->ids[index]) {
      what_ = fmt::format("token {} of {} is {} in the receipt, the model gives {}", index + 1,
                          receipt_->ids.size(), receipt_->ids[index], ids.back());
    }
  }

  Result<ReplayVerdict> Finish() {
    if (error_) return tl::unexpected(*error_);
    if (what_) return Differs(*what_);
    const std::size_t count = generation_.ids().size();
    if (count < receipt_->ids.size()) {
      return Differs(fmt::format("token {} of {} is {} in the receipt, the model ends there",
                                 count + 1, receipt_->ids.size(), receipt_->ids[count]));
    }
    if (auto what = CompareFinish()) return Differs(*std::move(what));
    const std::string chain = ChainOf(generation_.Finish().logprobs);
    if (chain != receipt_->chain) return Differs(CompareChains(chain));
    return ReplayVerdict{
        true, fmt::format("{} tokens after a prompt of {}", count, receipt_->prompt.size())};
  }

 private:
  Replay(runtime::Generation generation, const Receipt& receipt)
      : generation_(std::move(generation)), receipt_(&receipt) {}

  [[nodiscard]] std::optional<std::string> CompareFinish() const {
    std::string finish = "none";
    if (generation_.finish()) {
      finish = runtime::FinishReasonName(*generation_.finish());
    } else if (receipt_->prompt.size() + receipt_->ids.size() >
               static_cast<std::size_t>(receipt_->context_length)) {
      finish = runtime::FinishReasonName(runtime::FinishReason::kContextFull);
    }
    if (finish == receipt_->finish) return std::nullopt;
    return fmt::format("the end is \"{}\" in the receipt, \"{}\" here", receipt_->finish, finish);
  }

  [[nodiscard]] std::string CompareChains(const std::string& chain) const {
    const auto [mine, theirs] = std::ranges::mismatch(chain, receipt_->chain);
    return fmt::format("token {} of {} is the same, what the network gave there is not",
                       (mine - chain.begin()) / 8 + 1, receipt_->ids.size());
  }

  runtime::Generation generation_;
  const Receipt* receipt_;
  runtime::RowResults rows_ = {};
  std::optional<std::string> what_ = {};
  std::optional<Error> error_ = {};
};

std::optional<std::string> CheckFits(const runtime::LoadedModel& model, const Receipt& receipt) {
  const auto& config = model.model.config();
  if (receipt.prompt.empty()) return "the receipt has no prompt";
  if (receipt.context_length > config.context_length) {
    return fmt::format("the receipt's context is {}, the model's limit is {}",
                       receipt.context_length, config.context_length);
  }
  const std::size_t tokens = receipt.prompt.size() + receipt.ids.size();
  if (tokens > static_cast<std::size_t>(receipt.context_length) + 1) {
    return fmt::format("the receipt has {} tokens, its context holds {}", tokens,
                       receipt.context_length);
  }
  for (const auto* ids : {&receipt.prompt, &receipt.ids}) {
    const auto inside = runtime::CheckIds(*ids, config.vocab_size);
    if (!inside) return inside.error().message;
  }
  return std::nullopt;
}

}  // namespace

Result<ReplayVerdict> VerifyReceipt(const std::shared_ptr<const runtime::LoadedModel>& model,
                                    std::string_view model_hash, const ReadReceipt& read,
                                    int num_threads) {
  const Receipt& receipt = read.receipt;
  if (!read.unchanged)
    return Differs("the receipt was changed: its hash is not that of its contents");
  const auto* const kv =
      std::ranges::find(request::kKvTypes, receipt.arithmetic,
                        [](const auto& row) { return ArithmeticName(row.value); });
  if (kv == std::end(request::kKvTypes)) {
    return Differs(fmt::format("the receipt's arithmetic is \"{}\", this program's is \"{}\"",
                               receipt.arithmetic, ArithmeticName(request::kKvTypes[0].value)));
  }
  if (receipt.model_hash != model_hash) {
    return Differs(fmt::format("the receipt is of a model {} (\"{}\"), this one is {}",
                               receipt.model_hash, receipt.model, model_hash));
  }
  if (auto what = CheckFits(*model, receipt)) return Differs(*std::move(what));
  runtime::DraftPolicy policy;
  auto replay = Replay::Create(*model, receipt, &policy);
  if (!replay.has_value()) return Differs(replay.error().message);
  std::vector<TokenId> tokens(receipt.prompt);
  tokens.insert(tokens.end(), receipt.ids.begin(), receipt.ids.end());
  // The end token is sampled after the last one of the answer; any other end, with it. An answer
  // that a grammar ended may fill the context: there was no end token then.
  const bool ended = receipt.finish == runtime::FinishReasonName(runtime::FinishReason::kEndOfText);
  const bool full = tokens.size() > static_cast<std::size_t>(receipt.context_length);
  if ((!ended || full) && !receipt.ids.empty()) tokens.pop_back();
  auto session = BITTERN_TRY(
      runtime::Session::Create(model, {.context_length = static_cast<int>(tokens.size()),
                                       .kv_type = kv->value,
                                       .num_threads = num_threads}));
  const std::span<const TokenId> all(tokens);
  const std::size_t before = receipt.prompt.size() - 1;
  if (before > 0) BITTERN_TRY(session.Prefill(all.first(before)));
  const bool samples = ended || !receipt.ids.empty();
  if (samples) {
    BITTERN_TRY(session.PrefillAll(all.subspan(before), [&](int, std::span<const float> logits) {
      replay->OnLogits(logits);
    }));
  }
  return replay->Finish();
}

Result<ReplayVerdict> VerifyReceipts(const std::shared_ptr<const runtime::LoadedModel>& model,
                                     std::string_view model_hash,
                                     const std::vector<ReadReceipt>& read, int num_threads) {
  ReplayVerdict all{.identical = true, .what = ""};
  for (const ReadReceipt& receipt : read) {
    auto verdict = BITTERN_TRY(VerifyReceipt(model, model_hash, receipt, num_threads));
    if (all.what.empty() || (all.identical && !verdict.identical)) all.what = verdict.what;
    all.identical = all.identical && verdict.identical;
  }
  return all;
}

}  // namespace bittern::proof
