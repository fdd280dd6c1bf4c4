// SPDX-License-Identifier: Apache-2.0
// The folder values/ of a trace: one file for each operation, (positions, values) as float32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proof/trace/trace.hpp"

namespace bittern::proof {

/// The file that WriteDump makes for an operation: "embedding.npy", "03.attn_norm.npy".
[[nodiscard]] std::string ArrayFileName(int layer, Operation operation);

/// A file of values/.
struct ArrayFile {
  std::size_t step;  ///< which operation, as StepOf
  std::filesystem::path path;
};

/// The files of `folder`, NAME.npy and NAME.f32 (the numbers alone), in the order of computing;
/// none where there is no such folder. `strict`: a name that is no operation of a network of so
/// many layers is an error; else it is left out, as names that begin with '.' always are. Errors:
/// kIo; kCorruptFile: a wrong name, two files of one operation.
[[nodiscard]] Result<std::vector<ArrayFile>> ListArrays(const std::filesystem::path& folder,
                                                        int num_layers, bool strict);

/// The bytes of these files together.
[[nodiscard]] std::uint64_t BytesOf(const std::vector<ArrayFile>& files);

/// Gives the steps of one operation their values. A step with facts takes those that have its count
/// and, where it is known, its hash; others are left out. Steps whose `bare` is set
/// ([step][position], as Trace::steps) have no facts: theirs are computed, and an array that does
/// not fit is an error. Errors: as MappedFile; kCorruptFile. They name the file.
[[nodiscard]] Result<void> ReadArray(const ArrayFile& file, const std::vector<bool>& bare,
                                     Trace* trace);

}  // namespace bittern::proof
