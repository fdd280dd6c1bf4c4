// SPDX-License-Identifier: Apache-2.0
// Decides by which rules text is cut into pieces. The official 2B-4T file does not say; taking
// the wrong rules gives valid but different ids, and a model that is quietly worse.
#pragma once

#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

/// The steps that text takes before its bytes are merged.
struct PreTokenizer {
  std::string name;            ///< as tokenizer.ggml.pre has it: "llama-bpe", "qwen2", ...
  std::vector<Pass> passes;    ///< each cuts the pieces of the one before
  bool ignore_merges = false;  ///< a piece that is a token is taken whole, without merging
  bool normalizes_nfc = false;
  bool adds_bos = false;  ///< where the file has no add_bos_token
};

/// By tokenizer.ggml.pre: a name of pre_rules.hpp, or "hf:STEP;STEP...", steps of a tokenizer.json
/// (formats/hf/hf_pipeline.hpp).
///
/// bittern.tokenizer.ignore_merges and bittern.tokenizer.nfc, where present, have the last word.
/// Where the name is absent, a vocabulary whose BOS is called <|begin_of_text|> is LLaMA-3's (a
/// notable decision). `bos` may be kNoToken. Errors: kUnsupported (another name or step; absent
/// and not recognised).
[[nodiscard]] Result<PreTokenizer> ResolvePreTokenizer(const formats::Metadata& metadata,
                                                       const Vocabulary& vocabulary, TokenId bos,
                                                       Decisions* decisions);

}  // namespace bittern::tokenizer
