// SPDX-License-Identifier: Apache-2.0
// Which tokens begin and end a text: BOS, EOS and everything else that ends a generation.
#pragma once

#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

struct SpecialIds {
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  bool adds_bos = false;         ///< Texts get BOS in front.
  std::vector<TokenId> end_ids;  ///< EOS and its like, ascending, each once.
};

/// Reads tokenizer.ggml.{bos,eos,eot,eom}_token_id and add_bos_token; where bos or eos is absent,
/// looks for the control tokens that LLaMA-3 names so. Control tokens with a known end-of-turn
/// name end a generation too. Errors: kCorruptFile (an id outside the vocabulary).
[[nodiscard]] Result<SpecialIds> ResolveSpecialIds(const formats::Metadata& metadata,
                                                   const Vocabulary& vocabulary,
                                                   Decisions* decisions);

}  // namespace bittern::tokenizer
