// SPDX-License-Identifier: Apache-2.0
#include "request/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/closest_name.hpp"
#include "request/fields/field_reader.hpp"
#include "request/generate_fields.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::request {
namespace {

/// The settings that are a constraint; at most one of them holds at a time.
constexpr std::string_view kConstraintNames[] = {"grammar", "json_schema", "regex",
                                                 "response_format"};

/// The error of a name that is none, with the closest one that is.
tl::unexpected<Error> UnknownSetting(std::string_view name,
                                     const runtime::GenerateOptions& options) {
  std::vector<std::string> names;
  const auto all = SettingsOf(options);
  for (const auto& [known, value] : all.members()) names.push_back(known);
  for (const std::string_view known : kConstraintNames) names.emplace_back(known);
  const std::string closest = ClosestName(std::string(name), names);
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: there is no such setting{}", name,
                          closest.empty() ? "" : fmt::format("; did you mean {}?", closest)));
}

}  // namespace

bool IsConstraintSetting(std::string_view name) noexcept {
  return std::ranges::find(kConstraintNames, name) != std::end(kConstraintNames);
}

/// A constraint is written under the field that it can be read from again.
Json SettingsOf(const runtime::GenerateOptions& options) {
  Json settings = {{"n_predict", options.max_tokens}};
  settings.Update(OptionsJson(options));
  settings.Erase("max_tokens");
  settings.Erase("constraint");
  if (static_cast<std::int32_t>(options.sampler.seed) == -1) settings["seed"] = -1;
  if (!options.constraint) return settings;
  const std::string& text = options.constraint->text;
  switch (options.constraint->kind) {
    case grammar::ConstraintKind::kGbnf:
      settings["grammar"] = text;
      break;
    case grammar::ConstraintKind::kRegex:
      settings["regex"] = text;
      break;
    case grammar::ConstraintKind::kJsonSchema:
      settings["json_schema"] = Json::Parse(text, {.max_depth = 100}).value_or(Json());
      break;
    case grammar::ConstraintKind::kJsonObject:
      settings["response_format"] = {{"type", "json_object"}};
      break;
    case grammar::ConstraintKind::kToolCalls:
      break;  // no chat has functions
  }
  return settings;
}

/// Reads an object with this one member as a request would be read, into a copy.
Result<void> ReadSetting(std::string_view name, const Json& value,
                         const runtime::LoadedModel& model, runtime::GenerateOptions* options) {
  runtime::GenerateOptions changed = *options;
  Json object;
  object.Append(std::string(name), value);
  auto fields = BITTERN_TRY(FieldReader::Open(object));
  if (IsConstraintSetting(name)) {
    changed.constraint.reset();  // null takes a constraint away
    BITTERN_TRY(ReadConstraint(&fields, model, &changed.constraint));
  } else {
    BITTERN_TRY(ReadOptions(&fields, model.tokenizer, &changed));
  }
  if (!fields.Finish()) return UnknownSetting(name, *options);
  BITTERN_TRY(runtime::CheckSamplerOptions(changed.sampler, model.tokenizer.vocab_size()));
  *options = std::move(changed);
  return {};
}

}  // namespace bittern::request
