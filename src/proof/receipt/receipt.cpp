// SPDX-License-Identifier: Apache-2.0
// The hash is over the receipt's own text without the hash, so any change of a member is seen.
#include "proof/receipt/receipt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/hash.hpp"
#include "model/numerics.hpp"
#include "request/generate_fields.hpp"
#include "request/options/choice_names.hpp"

namespace bittern::proof {
namespace {

using request::FieldReader;
using request::OptionsJson;
using request::ParseBody;
using request::ReadConstraintJson;
using request::WrongField;

/// The members in the order in which they are hashed.
Json ReceiptBody(const Receipt& receipt) {
  return {{"bittern_receipt", 1},
          {"model", receipt.model},
          {"model_hash", receipt.model_hash},
          {"arithmetic", receipt.arithmetic},
          {"context", receipt.context_length},
          {"prompt", receipt.prompt},
          {"options", OptionsJson(receipt.options)},
          {"ids", receipt.ids},
          {"finish", receipt.finish},
          {"chain", receipt.chain}};
}

Result<void> ReadIds(FieldReader* fields, std::string_view key, std::vector<TokenId>* ids) {
  const Json* value = fields->Take(key);
  if (value == nullptr || value->AsArray() == nullptr) {
    return WrongField(fields->PathOf(key), "a list of token ids", value ? *value : Json());
  }
  for (const Json& entry : *value->AsArray()) {
    const auto id = entry.AsUint();
    if (!id || *id > 0x7fffffff) return WrongField(fields->PathOf(key), "token ids", entry);
    ids->push_back(static_cast<TokenId>(*id));
  }
  return {};
}

/// The hash is over all members. One that was left out, or is null, would be read as its default.
Result<void> RefuseMissing(const Json& given, const Json& whole, std::string_view path) {
  for (const Json::Member& member : *whole.AsObject()) {
    const Json* found = given.Find(member.key);
    if (found != nullptr && found->is_null() == member.value.is_null()) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}{}: a receipt has all of its members; this one is missing", path,
                            member.key));
  }
  return {};
}

/// Reads the members, writes them again in their order and compares hashes: spaces, the order of
/// members and how a number was spelt make no difference, everything else does.
Result<ReadReceipt> ReadOne(const Json& json, const tokenizer::Tokenizer& tokenizer) {
  auto fields = BITTERN_TRY(FieldReader::Open(json));
  ReadReceipt read;
  Receipt& receipt = read.receipt;
  int version = 0;
  std::string hash;
  BITTERN_TRY(fields.Int("bittern_receipt", 1, 1, &version));
  BITTERN_TRY(fields.Text("model", &receipt.model));
  BITTERN_TRY(fields.Text("model_hash", &receipt.model_hash));
  BITTERN_TRY(fields.Text("arithmetic", &receipt.arithmetic));
  BITTERN_TRY(fields.Int("context", 1, 1 << 30, &receipt.context_length));
  BITTERN_TRY(ReadIds(&fields, "prompt", &receipt.prompt));
  BITTERN_TRY(ReadIds(&fields, "ids", &receipt.ids));
  BITTERN_TRY(fields.Text("finish", &receipt.finish));
  BITTERN_TRY(fields.Text("chain", &receipt.chain));
  BITTERN_TRY(fields.Text("hash", &hash));
  if (const Json* options = fields.Take("options")) {
    auto inner = BITTERN_TRY(FieldReader::Open(*options, "options"));
    BITTERN_TRY(ReadOptions(&inner, tokenizer, &receipt.options));
    if (const Json* constraint = inner.Take("constraint")) {
      receipt.options.constraint =
          BITTERN_TRY(ReadConstraintJson(inner.PathOf("constraint"), *constraint));
    }
    BITTERN_TRY(inner.Finish());
  }
  BITTERN_TRY(fields.Finish());
  const Json body = ReceiptBody(receipt);
  BITTERN_TRY(RefuseMissing(json, body, ""));
  BITTERN_TRY(RefuseMissing(json["options"], body["options"], "options."));
  read.unchanged = hash == HashOf(body.Dump());
  return read;
}

Result<void> AddIfReceipt(const Json* json, const tokenizer::Tokenizer& tokenizer,
                          std::vector<ReadReceipt>* all) {
  if (json == nullptr || json->Find("bittern_receipt") == nullptr) return {};
  all->push_back(BITTERN_TRY(ReadOne(*json, tokenizer)));
  return {};
}

}  // namespace

std::string ArithmeticName(model::KvType type) {
  return fmt::format("numerics {}, kv {}", model::kNumericsVersion,
                     request::ChoiceNameOf(request::kKvTypes, type));
}

/// Link i is over tokens 0..i and their log-probabilities, bit for bit, so `verify` can name the
/// first token that differs. Eight digits each: a chain is to find a place, the receipt's hash is
/// to trust.
std::string ChainOf(const std::vector<runtime::TokenLogprobs>& tokens) {
  std::string chain;
  Hash128 hash;
  for (const runtime::TokenLogprobs& token : tokens) {
    const std::string link =
        fmt::format("{:08x}{:08x}", static_cast<std::uint32_t>(token.picked.id),
                    std::bit_cast<std::uint32_t>(token.picked.logprob));
    hash.Add(std::as_bytes(std::span(link)));
    chain += hash.Hex().substr(0, 8);
  }
  return chain;
}

std::string ReceiptText(const Receipt& receipt) {
  Json json = ReceiptBody(receipt);
  json["hash"] = HashOf(json.Dump());
  return json.Dump();
}

Result<std::vector<ReadReceipt>> ParseReceipts(std::string_view text,
                                               const tokenizer::Tokenizer& tokenizer) {
  const Json json = BITTERN_TRY(ParseBody(text));
  std::vector<ReadReceipt> all;
  BITTERN_TRY(AddIfReceipt(&json, tokenizer, &all));
  BITTERN_TRY(AddIfReceipt(json.Find("receipt"), tokenizer, &all));
  if (const Json* choices = json.Find("choices"); choices && choices->AsArray()) {
    for (const Json& choice : *choices->AsArray()) {
      BITTERN_TRY(AddIfReceipt(choice.Find("receipt"), tokenizer, &all));
    }
  }
  if (!all.empty()) return all;
  return Fail(ErrorCode::kInvalidArgument, "a receipt expected, or an answer with one; none found");
}

void WantReceipt(runtime::GenerateOptions* options) {
  options->logprobs = std::max(options->logprobs, 0);
}

std::string FinishReceipt(Receipt receipt, const runtime::GenerateResult& result) {
  receipt.options.sampler.seed = result.seed;
  receipt.ids = result.ids;
  receipt.finish = runtime::FinishReasonName(result.finish);
  receipt.chain = ChainOf(result.logprobs);
  return ReceiptText(receipt);
}

}  // namespace bittern::proof
