// SPDX-License-Identifier: Apache-2.0
// Two files side by side: what is not the same, and how it is not the same. Tells more than the
// probe where a healthy copy is at hand.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "doctor/facts/reading.hpp"

namespace bittern::doctor {

/// A tensor or a key of the file that is not as in the other one.
struct Unlike {
  std::string name;
  std::string what;  ///< a sentence about it
};

struct Likeness {
  std::string path;                    ///< of the other file
  std::size_t tensors = 0, equal = 0;  ///< that either has; of them, with the same weights in both
  std::vector<Unlike> unlike;          ///< the rest
  std::size_t keys = 0;                ///< that either has
  std::vector<Unlike> unlike_keys;
  std::string summary;  ///< one sentence
};

/// Compares weights, whatever formats hold them, and metadata. A scale that was rounded to bf16
/// counts as equal, values in another plain format within what that format can hold. Errors: as
/// opening; kInvalidArgument: the two have no tensor in common. One thread.
[[nodiscard]] Result<Likeness> CompareFiles(const Opener& open, const Opener& open_other);

}  // namespace bittern::doctor
