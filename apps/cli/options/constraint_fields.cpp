// SPDX-License-Identifier: Apache-2.0
#include "cli/options/constraint_fields.hpp"

#include <fmt/format.h>

#include <string>

namespace bittern::cli {

Result<bool> ReadConstraintField(std::string_view field, const Json& value,
                                 runtime::GenerateOptions* options) {
  using grammar::ConstraintKind;
  const bool is_text = field == "grammar" || field == "regex";
  if (!is_text && field != "json_schema" && field != "response_format") return false;
  if (value.is_null()) return true;
  std::optional<grammar::Constraint> wanted;
  if (is_text) {
    if (!value.is_string()) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: a text expected", field));
    }
    wanted = {field == "regex" ? ConstraintKind::kRegex : ConstraintKind::kGbnf, value.text()};
  } else {
    const std::string text = value.Dump();
    if (field == "json_schema") {
      wanted = {ConstraintKind::kJsonSchema, text};
    } else {
      wanted = BITTERN_TRY(grammar::ConstraintOfResponseFormat(text));
    }
  }
  options->constraint = std::move(wanted);
  return true;
}

}  // namespace bittern::cli
