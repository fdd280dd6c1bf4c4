// SPDX-License-Identifier: Apache-2.0
// Checks of a file that need no run.
#pragma once

#include <string>
#include <vector>

#include "doctor/facts/finding.hpp"

namespace bittern::doctor {

/// The finding of Verdict::kUnsupported.
inline constexpr const char* kUnsupportedId = "unsupported";

/// Why the file could not be opened at all, told by the reader's error and the file's first bytes.
[[nodiscard]] Finding FindingOfUnreadable(const std::string& path, const Error& error);

/// Keys that are missing, or that the shapes of tensors speak against.
[[nodiscard]] std::vector<Cure> CheckKeys(const formats::Checkpoint& checkpoint);

/// Vocabulary: strings that are not spelled as the tokenizer's kind spells them, ids of tokens that
/// begin and end texts.
[[nodiscard]] std::vector<Cure> CheckVocabulary(const formats::Checkpoint& checkpoint);

/// The order of the merges of a byte-level tokenizer, and whether all are there.
[[nodiscard]] std::vector<Cure> CheckMerges(const formats::Checkpoint& checkpoint);

/// Matrices of a layer that do not go together as in all other layers.
[[nodiscard]] std::vector<Cure> CheckPartners(const formats::Checkpoint& checkpoint);

/// Values: codes, scales and norms that no training gives; copies; holes. Reads all ternary codes.
[[nodiscard]] std::vector<Cure> CheckTensors(const formats::Checkpoint& checkpoint);

}  // namespace bittern::doctor
