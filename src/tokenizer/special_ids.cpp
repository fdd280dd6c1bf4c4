// SPDX-License-Identifier: Apache-2.0
// Files name one end token at most, while chat models end their turns with another; so the set of
// end tokens comes from names as well as from keys.
#include "tokenizer/special_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/sort_once.hpp"

namespace bittern::tokenizer {
namespace {

/// Names of control tokens after which a model has nothing more to say.
constexpr std::array<std::string_view, 9> kEndNames = {
    "<|eot_id|>",    "<|end_of_text|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>",
    "<end_of_turn>", "<|end|>",         "<EOT>",      "</s>"};

/// The id under `key`, kNoToken if the key is absent.
Result<TokenId> ReadId(const formats::Metadata& metadata, std::string_view key,
                       const Vocabulary& vocabulary) {
  const auto id = BITTERN_TRY(metadata.GetUint(key));
  if (!id) return kNoToken;
  if (*id >= static_cast<std::uint64_t>(vocabulary.size())) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("{} is {}, but the vocabulary has {} tokens",
                                                     key, *id, vocabulary.size()));
  }
  return static_cast<TokenId>(*id);
}

/// As ReadId, or the control token called `name`.
Result<TokenId> ReadOrFindId(const formats::Metadata& metadata, std::string_view key,
                             std::string_view name, const Vocabulary& vocabulary,
                             Decisions* decisions) {
  const TokenId id = BITTERN_TRY(ReadId(metadata, key, vocabulary));
  if (id != kNoToken) return id;
  const TokenId named = vocabulary.FindControl(name);
  if (named != kNoToken) {
    decisions->push_back({std::string(key), fmt::format("{} ({})", named, name),
                          "the file does not say; the token has this name", true});
  }
  return named;
}

/// bittern.end_token_ids: for models with more ends than GGUF has keys.
Result<void> AddListedEnds(const formats::Metadata& metadata, const Vocabulary& vocabulary,
                           std::vector<TokenId>* ids) {
  constexpr std::string_view kListKey = "bittern.end_token_ids";
  const auto listed = BITTERN_TRY(metadata.GetInts(kListKey));
  if (!listed) return {};
  for (const std::int32_t id : *listed) {
    if (id < 0 || id >= vocabulary.size()) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("{} has {}, but the vocabulary has {} tokens", kListKey, id,
                              vocabulary.size()));
    }
    ids->push_back(id);
  }
  return {};
}

/// Adds control tokens that are ends by their name.
void AddNamedEnds(const Vocabulary& vocabulary, std::vector<TokenId>* ids) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.type(id) != TokenType::kControl) continue;
    if (std::ranges::find(kEndNames, vocabulary.bytes(id)) != kEndNames.end()) ids->push_back(id);
  }
}

}  // namespace

/// Takes every end that a key, the list or a name gives; each id once, sorted.
Result<SpecialIds> ResolveSpecialIds(const formats::Metadata& metadata,
                                     const Vocabulary& vocabulary, Spelling spelling,
                                     Decisions* decisions) {
  const bool is_llama2 = spelling == Spelling::kUnderline;
  SpecialIds ids;
  ids.bos =
      BITTERN_TRY(ReadOrFindId(metadata, "tokenizer.ggml.bos_token_id",
                               is_llama2 ? "<s>" : "<|begin_of_text|>", vocabulary, decisions));
  ids.eos =
      BITTERN_TRY(ReadOrFindId(metadata, "tokenizer.ggml.eos_token_id",
                               is_llama2 ? "</s>" : "<|end_of_text|>", vocabulary, decisions));
  for (const auto* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    ids.end_ids.push_back(BITTERN_TRY(ReadId(metadata, key, vocabulary)));
  }
  ids.end_ids.push_back(ids.eos);
  BITTERN_TRY(AddListedEnds(metadata, vocabulary, &ids.end_ids));
  AddNamedEnds(vocabulary, &ids.end_ids);
  SortOnce(&ids.end_ids);
  std::erase(ids.end_ids, kNoToken);
  return ids;
}

/// add_bos_token of the file, else the default of the tokenizer's kind. A BOS that is wanted but
/// not named is not added, and the user is told.
Result<void> ResolveAddedEnds(const formats::Metadata& metadata, bool default_bos, SpecialIds* ids,
                              Decisions* decisions) {
  const auto in_file = BITTERN_TRY(metadata.GetBool("tokenizer.ggml.add_bos_token"));
  const auto eos = BITTERN_TRY(metadata.GetBool("tokenizer.ggml.add_eos_token"));
  ids->adds_eos = eos.value_or(false) && ids->eos != kNoToken;
  ids->adds_bos = in_file.value_or(default_bos);
  if (ids->adds_bos && ids->bos == kNoToken) {
    ids->adds_bos = false;
    if (in_file) {
      decisions->push_back(
          {"BOS", "none is added", "add_bos_token is set, but no BOS is named", true});
    }
  } else if (!in_file) {
    decisions->push_back({"BOS", ids->adds_bos ? "added" : "not added",
                          "tokenizer.ggml.add_bos_token is absent", false});
  }
  return {};
}

}  // namespace bittern::tokenizer
