// SPDX-License-Identifier: Apache-2.0
// A trace as one HTML page that needs nothing else: a heat map of layers and operations with a
// slider over positions, the residual stream's norm, the likeliest tokens after each layer.
#pragma once

#include <string>
#include <vector>

#include "trace/compare.hpp"
#include "trace/lens.hpp"
#include "trace/trace.hpp"

namespace bittern::trace {

struct PageInput {
  const Trace* trace = nullptr;
  const Comparison* comparison = nullptr;               ///< null: the map shows norms
  std::vector<std::vector<LensRow>> lens = {};          ///< may be empty
  std::function<std::string(TokenId)> token_text = {};  ///< any bytes
  std::string title = {};                               ///< any bytes
};

[[nodiscard]] std::string HtmlPage(const PageInput& input);

}  // namespace bittern::trace
