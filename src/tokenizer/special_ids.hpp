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
  bool adds_eos = false;         ///< The file wishes for EOS at the end (embedding models).
  std::vector<TokenId> end_ids;  ///< EOS and its like, ascending, each once.
};

/// Reads tokenizer.ggml.{bos,eos,eot,eom}_token_id and bittern.end_token_ids; where bos or eos is
/// absent, looks for the control tokens that LLaMA-3 (kByteAlphabet) or LLaMA-2 (kUnderline) names
/// so. Control tokens with a known end-of-turn name end a generation too. Errors: kCorruptFile (an
/// id outside the vocabulary).
[[nodiscard]] Result<SpecialIds> ResolveSpecialIds(const formats::Metadata& metadata,
                                                   const Vocabulary& vocabulary, Spelling spelling,
                                                   Decisions* decisions);

/// Fills adds_bos and adds_eos from tokenizer.ggml.add_bos_token and add_eos_token; where the
/// former is absent, `default_bos` counts. Error kCorruptFile: a key of another type.
[[nodiscard]] Result<void> ResolveAddedEnds(const formats::Metadata& metadata, bool default_bos,
                                            SpecialIds* ids, Decisions* decisions);

}  // namespace bittern::tokenizer
