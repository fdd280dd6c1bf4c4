// SPDX-License-Identifier: Apache-2.0
// A trace as a folder: trace.json with the facts, and where values are kept values/NAME.npy, NAME
// being "embedding", "03.attn_norm", ...: float32 (positions, values). Other programs may leave the
// facts out (docs/trace.md).
#pragma once

#include <filesystem>

#include "proof/trace/trace.hpp"

namespace bittern::proof {

/// Makes the folder if it is not there and replaces files of these names in it. Error: kIo.
[[nodiscard]] Result<void> WriteDump(const Trace& trace, const std::filesystem::path& folder);

/// The inverse. Errors: kNotFound, kIo, kCorruptFile; they name the file.
[[nodiscard]] Result<Trace> ReadDump(const std::filesystem::path& folder);

}  // namespace bittern::proof
