// SPDX-License-Identifier: Apache-2.0
// The steps around the model in tokenizer.json: what happens to text before BPE (normalizer,
// pre_tokenizer) and after (post_processor, decoder). Each is recognised exactly or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::formats {

/// How U+2581 comes in front of text, for models over it.
enum class HfPrefix { kAlways, kNever };

struct HfPipeline {
  bool byte_level = false;  ///< BPE over bytes; else over characters, with U+2581 for a space
  bool normalizes_nfc = false;
  std::string pre;  ///< for byte_level: a name that GGUF knows, or "hf:" and the steps
  HfPrefix prefix = HfPrefix::kAlways;
  std::optional<bool> add_bos, add_eos;
  std::optional<std::uint64_t> bos, eos;  ///< as the post-processor has them
};

/// `json` is all of tokenizer.json. Errors: kUnsupported, naming what is not known; kCorruptFile.
///
/// Pre-tokenizers are written as their steps, joined by semicolons:
///
///   ByteLevel, ByteLevel(regex), ByteLevel(prefix), ByteLevel(prefix,regex)
///   Digits, Digits(individual), Punctuation(BEHAVIOR), WhitespaceSplit
///   Split(REGEX), Split:BEHAVIOR(REGEX), Split:BEHAVIOR:invert(REGEX)
///
/// Those that GGUF has a name for get it; others become "hf:<steps>", which
/// tokenizer/pre_resolver.hpp takes apart again; it also reads the regular expressions, and refuses
/// those that it does not know.
[[nodiscard]] Result<HfPipeline> ReadHfPipeline(const Json& json);

}  // namespace bittern::formats
