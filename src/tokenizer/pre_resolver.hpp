// SPDX-License-Identifier: Apache-2.0
// Decides by which rules text is cut into pieces. The official 2B-4T file does not say; taking
// the wrong rules gives valid but different ids, and a model that is quietly worse.
#pragma once

#include <cstdint>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

enum class PreTokenizer : std::uint8_t {
  kLlama3,  ///< FirstLlama3PieceSize; a piece that is a token is taken whole, without merging
};

/// By tokenizer.ggml.pre: llama-bpe, llama3 and llama-v3 are the same rules. Where it is absent, a
/// vocabulary whose BOS is called <|begin_of_text|> is LLaMA-3's (a notable decision). `bos` may
/// be kNoToken. Errors: kUnsupported (another name; absent and not recognised).
[[nodiscard]] Result<PreTokenizer> ResolvePreTokenizer(const formats::Metadata& metadata,
                                                       const Vocabulary& vocabulary, TokenId bos,
                                                       Decisions* decisions);

}  // namespace bittern::tokenizer
