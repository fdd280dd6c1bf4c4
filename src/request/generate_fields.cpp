// SPDX-License-Identifier: Apache-2.0
#include "request/generate_fields.hpp"

#include <fmt/format.h>

#include <limits>

#include "request/constraint_fields.hpp"
#include "request/options/sampler_option_json.hpp"

namespace bittern::request {
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

}  // namespace bittern::request
