// SPDX-License-Identifier: Apache-2.0
// Facts that a conversion should write down though the source leaves them open: the answers that
// loading the model would find.
#pragma once

#include "base/decision.hpp"
#include "formats/checkpoint.hpp"
#include "formats/convert/convert.hpp"

namespace bittern::runtime {

/// The activation, the pre-tokenizer and a token that ends turns. A question without an answer (an
/// architecture that is not run, a tokenizer that is not known) gives no hint; why is said in
/// `decisions`.
[[nodiscard]] formats::MetadataHints HintsFor(const formats::Checkpoint& checkpoint,
                                              Decisions* decisions);

}  // namespace bittern::runtime
