// SPDX-License-Identifier: Apache-2.0
// `bittern detokenize`, which AddTokenize registers together with its twin.
#pragma once

#include "cli/shared/cli11.hpp"

namespace bittern::cli {

void AddDetokenize(CLI::App& app, int* exit_code);

}  // namespace bittern::cli
