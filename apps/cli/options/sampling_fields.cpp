// SPDX-License-Identifier: Apache-2.0
// A table of numbers, and readers for the fields that are more than a number.
#include "cli/options/sampling_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

namespace bittern::cli {
namespace {

using FieldJson = nlohmann::json;
using runtime::GenerateOptions;
using runtime::SamplerOptions;

tl::unexpected<Error> WrongField(std::string_view field, std::string_view expected,
                                 const FieldJson& found) {
  constexpr std::size_t kMost = 60;
  std::string shown = found.dump(-1, ' ', false, FieldJson::error_handler_t::replace);
  if (shown.size() > kMost) shown = shown.substr(0, kMost) + "...";
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", field, expected, shown));
}

struct FloatField {
  std::string_view name;
  float SamplerOptions::* option;
};
constexpr FloatField kFloatFields[] = {
    {"temperature", &SamplerOptions::temperature},
    {"top_p", &SamplerOptions::top_p},
    {"min_p", &SamplerOptions::min_p},
    {"repeat_penalty", &SamplerOptions::repeat_penalty},
    {"frequency_penalty", &SamplerOptions::frequency_penalty},
    {"presence_penalty", &SamplerOptions::presence_penalty},
    {"typical_p", &SamplerOptions::typical_p},
    {"top_n_sigma", &SamplerOptions::top_n_sigma},
    {"xtc_probability", &SamplerOptions::xtc_probability},
    {"xtc_threshold", &SamplerOptions::xtc_threshold},
    {"dynatemp_range", &SamplerOptions::dynatemp_range},
    {"dynatemp_exponent", &SamplerOptions::dynatemp_exponent},
    {"dry_multiplier", &SamplerOptions::dry_multiplier},
    {"dry_base", &SamplerOptions::dry_base},
    {"mirostat_tau", &SamplerOptions::mirostat_tau},
    {"mirostat_eta", &SamplerOptions::mirostat_eta},
    {"adaptive_target", &SamplerOptions::adaptive_target},
    {"adaptive_decay", &SamplerOptions::adaptive_decay},
};

struct IntField {
  std::string_view name;
  int SamplerOptions::* option;
  int least;
};
constexpr IntField kIntFields[] = {
    {"top_k", &SamplerOptions::top_k, -1},
    {"repeat_last_n", &SamplerOptions::repeat_last_n, -1},
    {"dry_allowed_length", &SamplerOptions::dry_allowed_length, 0},
    {"dry_penalty_last_n", &SamplerOptions::dry_penalty_last_n, -1},
    {"mirostat", &SamplerOptions::mirostat, 0},
    {"min_keep", &SamplerOptions::min_keep, 0},
};

Result<void> ReadWhole(std::string_view field, const FieldJson& value, std::int64_t least,
                       std::int64_t most, std::int64_t* to) {
  const double number = value.is_number() ? value.get<double>() : -1e300;
  if (number != std::floor(number) || number < static_cast<double>(least) ||
      number > static_cast<double>(most)) {
    return WrongField(field, fmt::format("a whole number from {} to {}", least, most), value);
  }
  *to = static_cast<std::int64_t>(number);
  return {};
}

/// A bias: a number, or false for "never".
Result<float> ReadBiasValue(std::string_view field, const FieldJson& value) {
  if (value == false) return -std::numeric_limits<float>::infinity();
  if (!value.is_number()) return WrongField(field, "a number or false", value);
  return value.get<float>();
}

Result<void> AddTextBias(const std::string& text, float bias, const tokenizer::Tokenizer& tokenizer,
                         SamplerOptions* sampler) {
  // A text stands for each of its tokens, as in llama.cpp.
  for (const runtime::TokenId id : tokenizer.Encode(text, {.add_bos = false})) {
    sampler->logit_bias.push_back({id, bias});
  }
  return {};
}

Result<void> ReadBiasKey(std::string_view field, const std::string& key, float bias,
                         SamplerOptions* sampler) {
  // OpenAI's keys are ids written as text.
  std::int64_t id = 0;
  const FieldJson number = FieldJson::parse(key, nullptr, /*allow_exceptions=*/false);
  if (!number.is_number_integer()) return WrongField(field, "token ids as keys", FieldJson(key));
  BITTERN_TRY(ReadWhole(field, number, 0, std::numeric_limits<runtime::TokenId>::max(), &id));
  sampler->logit_bias.push_back({static_cast<runtime::TokenId>(id), bias});
  return {};
}

/// {"15043": 1.5} or [[15043, 1.5], ["word", false]]
Result<void> ReadLogitBias(std::string_view field, const FieldJson& value,
                           const tokenizer::Tokenizer& tokenizer, SamplerOptions* sampler) {
  sampler->logit_bias.clear();
  if (value.is_null()) return {};
  if (value.is_object()) {
    for (const auto& [key, entry] : value.items()) {
      const float bias = BITTERN_TRY(ReadBiasValue(field, entry));
      BITTERN_TRY(ReadBiasKey(field, key, bias, sampler));
    }
    return {};
  }
  constexpr std::string_view kPairs = "an object of ids, or a list of [id or text, bias]";
  if (!value.is_array()) return WrongField(field, kPairs, value);
  for (const FieldJson& pair : value) {
    if (!pair.is_array() || pair.size() != 2) return WrongField(field, kPairs, pair);
    const float bias = BITTERN_TRY(ReadBiasValue(field, pair[1]));
    if (pair[0].is_string()) {
      BITTERN_TRY(AddTextBias(pair[0].get<std::string>(), bias, tokenizer, sampler));
      continue;
    }
    std::int64_t id = 0;
    BITTERN_TRY(ReadWhole(field, pair[0], 0, std::numeric_limits<runtime::TokenId>::max(), &id));
    sampler->logit_bias.push_back({static_cast<runtime::TokenId>(id), bias});
  }
  return {};
}

Result<void> ReadSamplers(std::string_view field, const FieldJson& value, SamplerOptions* sampler) {
  constexpr std::string_view kNames = "a list of names, or a text of letters";
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    sampler->samplers = BITTERN_TRY(runtime::ParseSamplerLetters(text));
    return {};
  }
  if (!value.is_array()) return WrongField(field, kNames, value);
  sampler->samplers.clear();
  for (const FieldJson& name : value) {
    if (!name.is_string()) return WrongField(field, kNames, name);
    const auto text = name.get<std::string>();
    sampler->samplers.push_back(BITTERN_TRY(runtime::SamplerStepByName(text)));
  }
  return {};
}

Result<void> ReadBreakers(std::string_view field, const FieldJson& value, SamplerOptions* sampler) {
  if (!value.is_array()) return WrongField(field, "a list of texts", value);
  sampler->dry_sequence_breakers.clear();
  for (const FieldJson& text : value) {
    if (!text.is_string()) return WrongField(field, "a list of texts", text);
    sampler->dry_sequence_breakers.push_back(text.get<std::string>());
  }
  return {};
}

/// "logprobs": true or a number; "top_logprobs" and "n_probs": a number. The largest wins.
Result<void> ReadLogprobs(std::string_view field, const FieldJson& value,
                          GenerateOptions* options) {
  constexpr int kMost = 1000;
  if (value.is_null() || value == false) return {};
  std::int64_t count = 0;
  if (value != true) BITTERN_TRY(ReadWhole(field, value, 0, kMost, &count));
  if (field == "n_probs" && count == 0) return {};
  options->logprobs = std::max(options->logprobs, static_cast<int>(count));
  return {};
}

Result<bool> ReadNumberField(std::string_view field, const FieldJson& value,
                             SamplerOptions* sampler) {
  for (const FloatField& row : kFloatFields) {
    if (row.name != field) continue;
    if (!value.is_number()) return WrongField(field, "a number", value);
    sampler->*row.option = value.get<float>();
    return true;
  }
  for (const IntField& row : kIntFields) {
    if (row.name != field) continue;
    std::int64_t number = 0;
    BITTERN_TRY(ReadWhole(field, value, row.least, std::numeric_limits<int>::max(), &number));
    sampler->*row.option = static_cast<int>(number);
    return true;
  }
  return false;
}

}  // namespace

Result<bool> ReadSamplingField(std::string_view field, const nlohmann::json& value,
                               const tokenizer::Tokenizer& tokenizer,
                               runtime::GenerateOptions* options) {
  SamplerOptions* const sampler = &options->sampler;
  if (BITTERN_TRY(ReadNumberField(field, value, sampler))) return true;
  if (field == "seed") {
    std::int64_t number = 0;
    BITTERN_TRY(ReadWhole(field, value, -1, std::numeric_limits<std::uint32_t>::max(), &number));
    sampler->seed = static_cast<std::uint32_t>(number);
  } else if (field == "logit_bias") {
    BITTERN_TRY(ReadLogitBias(field, value, tokenizer, sampler));
  } else if (field == "samplers") {
    BITTERN_TRY(ReadSamplers(field, value, sampler));
  } else if (field == "dry_sequence_breakers") {
    BITTERN_TRY(ReadBreakers(field, value, sampler));
  } else if (field == "logprobs" || field == "top_logprobs" || field == "n_probs") {
    BITTERN_TRY(ReadLogprobs(field, value, options));
  } else if (field == "stop_on_loop") {
    if (!value.is_boolean()) return WrongField(field, "true or false", value);
    options->stop_on_loop = value.get<bool>();
  } else {
    return false;
  }
  return true;
}

nlohmann::ordered_json SamplingFieldsOf(const SamplerOptions& options) {
  nlohmann::ordered_json fields;
  // The shortest decimal that is read as the same float.
  const auto number = [](float value) {
    return FieldJson::parse(fmt::format("{}", value), nullptr, false);
  };
  for (const FloatField& row : kFloatFields) fields[row.name] = number(options.*row.option);
  for (const IntField& row : kIntFields) fields[row.name] = options.*row.option;
  fields["seed"] = static_cast<std::int32_t>(options.seed) == -1 ? -1 : std::int64_t{options.seed};
  fields["dry_sequence_breakers"] = options.dry_sequence_breakers;
  fields["logit_bias"] = FieldJson::array();
  for (const runtime::LogitBias& bias : options.logit_bias) {
    const FieldJson value = std::isinf(bias.bias) ? FieldJson(false) : number(bias.bias);
    fields["logit_bias"].push_back({bias.id, value});
  }
  fields["samplers"] = FieldJson::array();
  for (const runtime::SamplerStep step : options.samplers) {
    fields["samplers"].push_back(runtime::SamplerStepName(step));
  }
  return fields;
}

}  // namespace bittern::cli
