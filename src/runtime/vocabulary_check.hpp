// SPDX-License-Identifier: Apache-2.0
// The one check of a model file that needs both the network and the tokenizer.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// Error kCorruptFile: the tokenizer has another number of tokens than the embedding has rows.
[[nodiscard]] Result<void> CheckVocabulary(const model::ModelConfig& config,
                                           const tokenizer::Tokenizer& tokenizer);

}  // namespace bittern::runtime
