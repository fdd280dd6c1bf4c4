// SPDX-License-Identifier: Apache-2.0
#include "runtime/vocabulary_check.hpp"

#include <fmt/format.h>

namespace bittern::runtime {

Result<void> CheckVocabulary(const model::ModelConfig& config,
                             const tokenizer::Tokenizer& tokenizer) {
  if (tokenizer.vocab_size() == config.vocab_size) return {};
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("tokenizer.ggml.tokens has {} tokens, but the embedding has {} rows",
                          tokenizer.vocab_size(), config.vocab_size));
}

}  // namespace bittern::runtime
