// SPDX-License-Identifier: Apache-2.0
#include "cli/options/outside_json.hpp"

namespace bittern::cli {

Result<Json> ParseOutsideJson(std::string_view text) {
  auto json = Json::Parse(text, {.max_bytes = std::size_t{256} << 20, .max_depth = kMostJsonDepth});
  if (json.has_value()) return json;
  return Fail(ErrorCode::kInvalidArgument, json.error().message);
}

}  // namespace bittern::cli
