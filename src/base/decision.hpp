// SPDX-License-Identifier: Apache-2.0
// A fact that a model file lacks has to be decided. Every such decision is written down here, so
// that `inspect` can list them and `run` can show the ones a user should know about.
#pragma once

#include <string>
#include <vector>

namespace bittern {

/// One decision: "activation = relu2 (architecture bitnet-b1.58)".
struct Decision {
  std::string subject;    ///< What was decided, e.g. "pre-tokenizer".
  std::string choice;     ///< The value in force, e.g. "llama-bpe".
  std::string reason;     ///< Why, in a few words.
  bool notable = false;   ///< True where the file is silent or odd: `run` prints these.
  std::string hint = {};  ///< What to do if it is wrong; as Error::hint.
};

using Decisions = std::vector<Decision>;

}  // namespace bittern
