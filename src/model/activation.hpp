// SPDX-License-Identifier: Apache-2.0
// Which activation the feed-forward network needs. Most files do not say, and the wrong one
// still gives fluent nonsense, so the rule is written down here and every decision is logged.
#pragma once

#include "model/config.hpp"

namespace bittern::model {

/// In this order: an explicit `<architecture>.hidden_activation` ("relu2", "silu" or "gelu"); a
/// file relabelled bitnet-b1.58 whose tokenizer is SentencePiece (a 1bitLLM model): silu; the
/// architecture's own (bitnet-25, bitnet-b1.58: relu2); architecture "bitnet" with the shape or
/// the kind of vocabulary of BitNet b1.58 2B-4T: relu2; else silu, reported unless the tokenizer is
/// SentencePiece. Error kUnsupported: another activation is named.
[[nodiscard]] Result<Activation> ResolveActivation(const formats::Metadata& metadata,
                                                   const ModelConfig& config, Decisions* decisions);

}  // namespace bittern::model
