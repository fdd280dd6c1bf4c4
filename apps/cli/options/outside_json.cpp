// SPDX-License-Identifier: Apache-2.0
#include "cli/options/outside_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace bittern::cli {

Result<nlohmann::ordered_json> ParseOutsideJson(std::string_view text) {
  using OutsideJson = nlohmann::ordered_json;
  bool too_deep = false;
  const auto check = [&](int depth, OutsideJson::parse_event_t, OutsideJson&) {
    too_deep = too_deep || depth > kMostJsonDepth;
    return !too_deep;  // the parser drops what lies deeper
  };
  OutsideJson json = OutsideJson::parse(text, check, /*allow_exceptions=*/false);
  if (too_deep) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("JSON is nested deeper than {} levels", kMostJsonDepth));
  }
  if (json.is_discarded()) return Fail(ErrorCode::kInvalidArgument, "not valid JSON");
  return json;
}

}  // namespace bittern::cli
