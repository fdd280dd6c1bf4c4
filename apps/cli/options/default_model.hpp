// SPDX-License-Identifier: Apache-2.0
// Which model a command uses when none is named: a small one that is part of the program, so
// that a copied `bittern` needs nothing else.
#pragma once

#include <string>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::cli {

/// The model that is part of the program.
[[nodiscard]] Result<formats::Checkpoint> OpenBuiltinModel();

/// The file at `path`; if that is empty, the one $BITTERN_MODEL names; else the built-in model.
/// Either may be a name (cli/options/local_model.hpp). Errors as Checkpoint::Open,
/// LocalModel.
[[nodiscard]] Result<formats::Checkpoint> OpenModelFile(const std::string& path);

}  // namespace bittern::cli
