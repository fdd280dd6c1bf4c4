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

/// "logprobs": true or a number; "top_logprobs" and "n_probs": a number. The largest wins.
Result<void> ReadLogprobs(std::string_view field, const Json& value,
                          runtime::GenerateOptions* options) {
  constexpr double kMost = 1000;
  if (value.is_null() || value == Json(false)) return {};
  double count = 0;
  if (value != Json(true)) {
    count = value.AsNumber().value_or(-1);
    if (count < 0 || count > kMost || count != std::floor(count)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: a whole number from 0 to {} expected, {} found", field, kMost,
                              value.Dump()));
    }
  }
  if (field == "n_probs" && count == 0) return {};
  options->logprobs = std::max(options->logprobs, static_cast<int>(count));
  return {};
}

}  // namespace

Result<bool> ReadSamplingField(std::string_view field, const Json& value,
                               const tokenizer::Tokenizer& tokenizer,
                               runtime::GenerateOptions* options) {
  if (field == "logprobs" || field == "top_logprobs" || field == "n_probs") {
    BITTERN_TRY(ReadLogprobs(field, value, options));
    return true;
  }
  Json object;
  object.Append(std::string(field), value);
  auto fields = BITTERN_TRY(serve::FieldReader::Open(object));
  BITTERN_TRY(serve::ReadOptions(&fields, tokenizer, options));
  return fields.Finish().has_value();
}

Json SamplingFieldsOf(const runtime::SamplerOptions& options) {
  Json fields = serve::OptionsJson({.sampler = options});
  for (const char* const key : {"max_tokens", "stop", "ignore_eos", "stop_on_loop"}) {
    fields.Erase(key);
  }
  if (static_cast<std::int32_t>(options.seed) == -1) fields["seed"] = -1;
  return fields;
}

}  // namespace bittern::cli
