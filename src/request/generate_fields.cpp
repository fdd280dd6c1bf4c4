// SPDX-License-Identifier: Apache-2.0
// Options of a generation are read by the table of the sampler's; at most one constraint may be
// set, and a second one is refused by the names of both.
#include "request/generate_fields.hpp"

#include <fmt/format.h>

#include <limits>

#include "grammar/notation/json_text.hpp"
#include "request/options/sampler_option_json.hpp"

namespace bittern::request {
namespace {

using grammar::Constraint;
using grammar::ConstraintKind;

/// Names of kinds in settings and receipts.
constexpr std::pair<std::string_view, ConstraintKind> kKinds[] = {
    {"grammar", ConstraintKind::kGbnf},         {"json_schema", ConstraintKind::kJsonSchema},
    {"regex", ConstraintKind::kRegex},          {"json_object", ConstraintKind::kJsonObject},
    {"tool_calls", ConstraintKind::kToolCalls},
};

/// A member that is a text; empty counts as absent.
Result<void> TakeText(FieldReader* fields, std::string_view key, ConstraintKind kind,
                      OptionalConstraint* constraint) {
  std::string text;
  BITTERN_TRY(fields->Text(key, &text));
  if (!text.empty()) *constraint = {kind, std::move(text)};
  return {};
}

}  // namespace

/// The order of members is part of the format: receipts are hashed as bytes.
Json OptionsJson(const runtime::GenerateOptions& options) {
  const runtime::SamplerOptions& sampler = options.sampler;
  Json json = {{"max_tokens", options.max_tokens},
               {"seed", sampler.seed},
               {"stop", options.stops},
               {"ignore_eos", options.ignore_eos},
               {"stop_on_loop", options.stop_on_loop}};
  for (const SamplerOption& row : SamplerOptionTable()) {
    // Receipts have it at this place, and a hash is over their bytes.
    if (row.name == "logit_bias" && options.constraint) {
      json["constraint"] = ConstraintJson(*options.constraint);
    }
    json[std::string(row.name)] = SamplerOptionJson(row, sampler);
  }
  return json;
}

/// A text or a list of texts.
Result<void> ReadStops(FieldReader* fields, std::string_view key, std::vector<std::string>* stops) {
  BITTERN_TRY(fields->Texts(key, kMostStops, stops));
  for (const std::string& stop : *stops) {
    if (stop.size() <= kMostStopBytes) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: texts of {} bytes at most expected, {} bytes found",
                            fields->PathOf(key), kMostStopBytes, stop.size()));
  }
  return {};
}

/// "n_predict" is llama-server's name, the other two are OpenAI's. Where several are given, the one
/// that is later in the list counts.
Result<void> ReadOptions(FieldReader* fields, const tokenizer::Tokenizer& tokenizer,
                         runtime::GenerateOptions* options) {
  for (const char* const key : {"n_predict", "max_tokens", "max_completion_tokens"}) {
    BITTERN_TRY(fields->Int(key, -1, std::numeric_limits<int>::max(), &options->max_tokens));
  }
  BITTERN_TRY(ReadStops(fields, "stop", &options->stops));
  BITTERN_TRY(fields->Flag("ignore_eos", &options->ignore_eos));
  BITTERN_TRY(fields->Flag("stop_on_loop", &options->stop_on_loop));
  for (const SamplerOption& row : SamplerOptionTable()) {
    BITTERN_TRY(ReadSamplerOption(row, tokenizer, fields, &options->sampler));
  }
  return {};
}

/// llama-server also takes a schema beside "json_object". "strict" has no effect: every schema is
/// obeyed to the letter.
Result<OptionalConstraint> ReadFormat(const std::string& path, const Json& format, bool wrapped) {
  auto fields = BITTERN_TRY(FieldReader::Open(format, path));
  std::string type;
  BITTERN_TRY(fields.Text("type", &type));
  const Json* schema = fields.Take("schema");
  std::string schema_path = fields.PathOf("schema");
  if (const Json* inner = fields.Take("json_schema"); wrapped && inner != nullptr) {
    auto members = BITTERN_TRY(FieldReader::Open(*inner, fields.PathOf("json_schema")));
    schema = members.Take("schema");
    schema_path = members.PathOf("schema");
    members.Ignore({"name", "description", "strict"});  // always strict
    BITTERN_TRY(members.Finish());
  }
  fields.Ignore({"name", "description", "strict"});
  BITTERN_TRY(fields.Finish());
  if (type == "text") return std::nullopt;
  if (type == "json_object" && schema == nullptr) return Constraint{ConstraintKind::kJsonObject};
  if (type != "json_object" && type != "json_schema") {
    return WrongField(fields.PathOf("type"), "\"text\", \"json_object\" or \"json_schema\"",
                      Json(type));
  }
  if (schema == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, schema_path + ": a JSON schema expected, none found");
  }
  return Constraint{ConstraintKind::kJsonSchema, grammar::JsonText(*schema)};
}

/// The model keeps compiled grammars, so that the answer need not compile it again.
Result<void> CheckConstraint(const std::string& path, const runtime::LoadedModel& model,
                             const Constraint& constraint) {
  const auto compiled = model.grammars->Get(constraint);
  if (compiled.has_value()) return {};
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, compiled.error().message));
}

/// Reads all four before it refuses: which of them stands first in the body does not count.
Result<void> ReadConstraint(FieldReader* fields, const runtime::LoadedModel& model,
                            OptionalConstraint* constraint) {
  struct Given {
    std::string path;
    OptionalConstraint constraint;
  };
  std::vector<Given> given(4);
  given[0].path = fields->PathOf("grammar");
  BITTERN_TRY(TakeText(fields, "grammar", ConstraintKind::kGbnf, &given[0].constraint));
  given[1].path = fields->PathOf("regex");
  BITTERN_TRY(TakeText(fields, "regex", ConstraintKind::kRegex, &given[1].constraint));
  given[2].path = fields->PathOf("json_schema");
  if (const Json* schema = fields->Take("json_schema")) {
    given[2].constraint = {ConstraintKind::kJsonSchema, grammar::JsonText(*schema)};
  }
  given[3].path = fields->PathOf("response_format");
  if (const Json* format = fields->Take("response_format")) {
    given[3].constraint = BITTERN_TRY(ReadFormat(given[3].path, *format, true));
  }
  std::erase_if(given, [](const Given& one) { return !one.constraint; });
  if (given.empty()) return {};
  if (given.size() > 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: one of grammar, regex, json_schema and response_format expected, "
                            "found beside {}",
                            given[1].path, given[0].path));
  }
  BITTERN_TRY(CheckConstraint(given[0].path, model, *given[0].constraint));
  *constraint = std::move(given[0].constraint);
  return {};
}

Json ConstraintJson(const Constraint& constraint) {
  for (const auto& [name, kind] : kKinds) {
    if (kind != constraint.kind) continue;
    return {{"type", std::string(name)}, {"text", constraint.text}};
  }
  return nullptr;
}

Result<Constraint> ReadConstraintJson(const std::string& path, const Json& json) {
  auto fields = BITTERN_TRY(FieldReader::Open(json, path));
  std::string type, text;
  BITTERN_TRY(fields.Text("type", &type));
  BITTERN_TRY(fields.Text("text", &text));
  BITTERN_TRY(fields.Finish());
  for (const auto& [name, kind] : kKinds) {
    if (name == type) return Constraint{kind, text};
  }
  return WrongField(fields.PathOf("type"), "the kind of a constraint", Json(type));
}

}  // namespace bittern::request
