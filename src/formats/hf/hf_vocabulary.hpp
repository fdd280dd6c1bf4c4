// SPDX-License-Identifier: Apache-2.0
// A vocabulary as GGUF spells it, and the three kinds of files that Hugging Face folders keep one
// in. Each reader sees untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::formats {

/// The values of tokenizer.ggml.token_type that readers give.
namespace token_type {
inline constexpr std::int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4,
                              kUnused = 5, kByte = 6;
}  // namespace token_type

struct HfVocabulary {
  std::string model;                ///< "gpt2" (byte-level BPE) or "llama" (SentencePiece BPE)
  std::string pre;                  ///< for gpt2: tokenizer.ggml.pre
  std::vector<std::string> tokens;  ///< by id; "" where no token has the id
  std::vector<std::int32_t> types;  ///< as tokens
  std::vector<float> scores;        ///< for llama, as tokens
  std::vector<std::string> merges;  ///< for gpt2: "left right"
  std::optional<bool> ignore_merges, add_bos, add_eos, add_space_prefix, normalizes_nfc,
      fuse_unknown;
  std::optional<std::uint64_t> bos, eos, unknown;
};

inline constexpr std::uint64_t kMaxVocabulary = std::uint64_t{1} << 22;

/// Limits for tokenizer.json: the largest real ones have 20 MB and two million values.
inline constexpr JsonLimits kTokenizerJsonLimits{std::size_t{128} << 20, 16, std::size_t{4} << 20};

/// tokenizer.json of Hugging Face's `tokenizers`, parsed. Errors: kCorruptFile, kUnsupported (by
/// name: a model that is no BPE, a normalizer, a pre-tokenizer or a decoder that is not known).
/// BPE over U+2581 becomes "llama" with scores made from the order of merges; where the merges
/// say more than scores can, it is refused.
[[nodiscard]] Result<HfVocabulary> ReadTokenizerJson(const Json& json);

/// Adds the tokens of tokenizer.json's added_tokens to `vocabulary` (a SentencePiece model's).
[[nodiscard]] Result<void> AddAddedTokens(const Json& tokenizer_json, HfVocabulary* vocabulary);

/// tokenizer.model of SentencePiece, a protocol buffer. Errors: kCorruptFile, kUnsupported
/// (unigram and other models, normalisation rules).
[[nodiscard]] Result<HfVocabulary> ReadSentencePieceModel(std::string_view bytes);

/// True if the bytes begin like a file of "base64 rank" lines.
[[nodiscard]] bool LooksLikeRankFile(std::string_view bytes) noexcept;

/// tokenizer.model of the LLaMA-3 release: lines of "base64 rank". Merges are all ways to split a
/// token into two; the 256 special tokens that the release's code adds follow. Error
/// kCorruptFile, by line.
[[nodiscard]] Result<HfVocabulary> ReadRankFile(std::string_view text);

/// Grows the vocabulary so that `id` exists, and sets it. Error kCorruptFile: beyond
/// kMaxVocabulary, or the id has another token already.
[[nodiscard]] Result<void> SetToken(std::uint64_t id, std::string_view token, std::int32_t type,
                                    HfVocabulary* vocabulary);

}  // namespace bittern::formats
