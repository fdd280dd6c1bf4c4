// SPDX-License-Identifier: Apache-2.0
// The hashes of all that defines a network, whatever file it came in: hyperparameters, ternary
// codes and the scales that any weight uses, norms and embeddings as floats. An exact conversion
// changes none of them; names, tokenizer, layout and padding do not count.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "model/model.hpp"

namespace bittern::model {

struct NamedHash {
  std::string name;
  std::string hash;  ///< 32 hexadecimal digits (base/hash.hpp)
};

struct Fingerprint {
  std::string hash;              ///< of all parts, in their order
  std::vector<NamedHash> parts;  ///< "config", then tensors by GGUF name, in the network's order
};

/// Everything of the configuration that a float or its order depends on.
[[nodiscard]] std::string ConfigText(const Model& model);

/// Reads every weight of the model's checkpoint once more, with all threads of the pool, and lets
/// the pages go. What the file says counts and nothing that loading made of it, so the hash is the
/// same under every instruction set and every load option. Codes are hashed a byte (0, 1, 2) each,
/// rows of q and k in Hugging Face's order. Scales are hashed as runs over the weights that are not
/// 0: a scale repeated by group or row is the same as one for the tensor. A head tied to the
/// embedding hashes as that. `go_on`, if any, is called before every 32 rows by each of the
/// threads: it may wait, and false ends the work. It must not throw. Errors: kCorruptFile,
/// kUnsupported (as loading; the file changed since), kOutOfMemory, kCancelled.
[[nodiscard]] Result<Fingerprint> FingerprintOf(const Model& model, ThreadPool& pool,
                                                const std::function<bool()>& go_on = {});

}  // namespace bittern::model
