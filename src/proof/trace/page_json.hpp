// SPDX-License-Identifier: Apache-2.0
// A trace as the JSON of its page (report/page): a map of layers and operations, the residual
// stream's norm, the likeliest tokens after each layer.
#pragma once

#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "proof/trace/compare.hpp"
#include "proof/trace/lens.hpp"
#include "proof/trace/trace.hpp"

namespace bittern::proof {

struct PageInput {
  const Trace* trace = nullptr;
  const TraceComparison* comparison = nullptr;          ///< null: the map shows norms
  std::vector<std::vector<LensRow>> lens = {};          ///< may be empty
  std::function<std::string(TokenId)> token_text = {};  ///< any bytes
  std::string title = {}, about = {};                   ///< any bytes
};

/// {"title", "about", "verdict", "likeness", "compared", "layers", "tokens", "operations", "steps",
/// "range", "stream", "lens", "first"}. "steps" is [operation][layer + 1][position] of [shade,
/// norm, mean, least, most, zeros], null where the network has no such operation; "range" the
/// logarithms of its shades.
[[nodiscard]] Json PageJson(const PageInput& input);

}  // namespace bittern::proof
