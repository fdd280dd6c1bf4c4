// SPDX-License-Identifier: Apache-2.0
// One reader for the server and for batch lines: serve::ReadOptions. This asks it for one field.
#include "cli/options/sampling_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "serve/core/sampler_fields.hpp"

namespace bittern::cli {
namespace {

using SamplingJson = nlohmann::json;

/// "logprobs": true or a number; "top_logprobs" and "n_probs": a number. The largest wins.
Result<void> ReadLogprobs(std::string_view field, const SamplingJson& value,
                          runtime::GenerateOptions* options) {
  constexpr double kMost = 1000;
  if (value.is_null() || value == false) return {};
  double count = 0;
  if (value != true) {
    count = value.is_number() ? value.get<double>() : -1;
    if (count < 0 || count > kMost || count != std::floor(count)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: a whole number from 0 to {} expected, {} found", field, kMost,
                              value.dump(-1, ' ', false, SamplingJson::error_handler_t::replace)));
    }
  }
  if (field == "n_probs" && count == 0) return {};
  options->logprobs = std::max(options->logprobs, static_cast<int>(count));
  return {};
}

}  // namespace

Result<bool> ReadSamplingField(std::string_view field, const nlohmann::json& value,
                               const tokenizer::Tokenizer& tokenizer,
                               runtime::GenerateOptions* options) {
  if (field == "logprobs" || field == "top_logprobs" || field == "n_probs") {
    BITTERN_TRY(ReadLogprobs(field, value, options));
    return true;
  }
  const SamplingJson object = SamplingJson::object({{std::string(field), value}});
  const std::string text = object.dump(-1, ' ', false, SamplingJson::error_handler_t::replace);
  const auto json = BITTERN_TRY(formats::Json::Parse(text, {.max_depth = 100}));
  auto fields = BITTERN_TRY(serve::FieldReader::Open(json));
  BITTERN_TRY(serve::ReadOptions(&fields, tokenizer, options));
  return fields.Finish().has_value();
}

nlohmann::ordered_json SamplingFieldsOf(const runtime::SamplerOptions& options) {
  nlohmann::ordered_json fields = serve::OptionsJson({.sampler = options});
  for (const char* const key : {"max_tokens", "stop", "ignore_eos", "stop_on_loop"}) {
    fields.erase(key);
  }
  if (static_cast<std::int32_t>(options.seed) == -1) fields["seed"] = -1;
  return fields;
}

}  // namespace bittern::cli
