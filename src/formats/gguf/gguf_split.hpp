// SPDX-License-Identifier: Apache-2.0
// Models cut into several GGUF files, as llama-gguf-split does it: "name-00001-of-00003.gguf" holds
// the metadata, and every file its share of the tensors and the keys split.no (from 0), split.count
// and split.tensors.count (of the whole model). The parts lie in one folder; where they are follows
// from the first one's name, never from what a file says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "formats/gguf/gguf_reader.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// More files than this are refused; published models have a few dozen at most.
inline constexpr std::uint64_t kMaxSplitParts = 1024;

/// A file's statements about the model that it is a part of.
struct SplitPart {
  std::uint64_t index = 0;                   ///< from 0, less than count
  std::uint64_t count = 0;                   ///< at least 2
  std::optional<std::uint64_t> all_tensors;  ///< of all parts together
};

/// nullopt for a file that is a whole model, also if it once was split. Error kCorruptFile: the
/// numbers contradict each other, or there are more than kMaxSplitParts.
[[nodiscard]] Result<std::optional<SplitPart>> ReadSplitPart(const Metadata& metadata);

/// The files of all parts, the first one included, from the path of the first. Errors:
/// kInvalidArgument (another part was given), kUnsupported (the name does not end as a part's name
/// does, so the others cannot be found).
[[nodiscard]] Result<std::vector<std::filesystem::path>> SplitPartPaths(
    const std::filesystem::path& given, const SplitPart& part);

/// Moves the tensors of part `index` behind those in `all`. Errors, kCorruptFile: it is not that
/// part of that model, or has a tensor that was there already.
[[nodiscard]] Result<void> AppendSplitPart(GgufContents part, std::uint64_t index,
                                           const SplitPart& first, std::vector<Tensor>* all);

/// Error kCorruptFile: the parts together do not hold as many tensors as they say.
[[nodiscard]] Result<void> CheckSplitComplete(const SplitPart& first, std::size_t num_tensors);

}  // namespace bittern::formats
