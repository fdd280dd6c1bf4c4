// SPDX-License-Identifier: Apache-2.0
// A receipt of an answer: all inputs of the generation, and a chain of hashes over what the network
// gave. Any machine that has the model can replay and check it (docs/receipts.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::proof {

using runtime::TokenId;

struct Receipt {
  std::string model;       ///< name, told and never compared
  std::string model_hash;  ///< model::Fingerprint::hash
  std::string arithmetic;  ///< ArithmeticName
  int context_length = 0;
  std::vector<TokenId> prompt = {};
  runtime::GenerateOptions options = {};  ///< with the seed in force
  std::vector<TokenId> ids = {};          ///< without the end token
  std::string finish = {};                ///< runtime::FinishReasonName
  std::string chain = {};                 ///< 8 hexadecimal digits a token: ChainOf
};

/// "numerics 1, kv f16": what must be the same for the same bits.
[[nodiscard]] std::string ArithmeticName(model::KvType type);

/// For each token the first digits of a hash over the ids and log-probabilities of all tokens so
/// far. A log-probability is computed from all logits.
[[nodiscard]] std::string ChainOf(const std::vector<runtime::TokenLogprobs>& tokens);

/// One line of JSON; its last member "hash" is over all the others.
[[nodiscard]] std::string ReceiptText(const Receipt& receipt);

/// Asks for what a receipt is made of: the log-probability of every token. The receipt has the
/// options as they were before.
void WantReceipt(runtime::GenerateOptions* options);
/// Adds the answer to what was known before it: the seed that was drawn, the tokens, and the chain
/// of their log-probabilities. ReceiptText of the whole.
[[nodiscard]] std::string FinishReceipt(Receipt receipt, const runtime::GenerateResult& result);

/// A receipt that was read.
struct ReadReceipt {
  Receipt receipt;
  bool unchanged = false;  ///< its stored hash equals the hash of its contents
};

/// The receipts in a JSON text: the text itself, or an answer of the server that holds some. Errors
/// kInvalidArgument: no receipt, or one that cannot be read. `tokenizer` for options.
[[nodiscard]] Result<std::vector<ReadReceipt>> ParseReceipts(std::string_view text,
                                                             const tokenizer::Tokenizer& tokenizer);

struct ReplayVerdict {
  bool identical = false;
  std::string what;  ///< a sentence: what was compared, or the first thing that differs
};

/// Replays an answer: one pass over prompt and answer, sampling at each token what the request
/// would have sampled. `model_hash` is the model's. Errors as Session's; a receipt that does not
/// fit the model is a verdict.
[[nodiscard]] Result<ReplayVerdict> VerifyReceipt(
    const std::shared_ptr<const runtime::LoadedModel>& model, std::string_view model_hash,
    const ReadReceipt& read, int num_threads);

/// The same for several: identical if all are, else in the words of the first that is not.
[[nodiscard]] Result<ReplayVerdict> VerifyReceipts(
    const std::shared_ptr<const runtime::LoadedModel>& model, std::string_view model_hash,
    const std::vector<ReadReceipt>& read, int num_threads);

}  // namespace bittern::proof
