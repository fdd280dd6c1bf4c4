// SPDX-License-Identifier: Apache-2.0
#include "serve/core/sampler_fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "serve/core/constraint_fields.hpp"

namespace bittern::serve {
namespace {

using nlohmann::ordered_json;
using runtime::SamplerOptions;
using runtime::TokenId;

constexpr int kMostInt = std::numeric_limits<int>::max();
constexpr std::size_t kMostBiases = 4096, kMostBreakers = 64;

struct FloatField {
  std::string_view name;
  float SamplerOptions::* option;
  double least = -3e38, most = 3e38;
};
constexpr FloatField kFloatFields[] = {
    {"temperature", &SamplerOptions::temperature},
    {"top_p", &SamplerOptions::top_p, 0, 1},
    {"min_p", &SamplerOptions::min_p, 0, 1},
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

/// The float as JSON should show it: 0.8f as 0.8, not as 0.800000011920929.
double Shortest(float value) {
  const std::string text = fmt::format("{}", value);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<float> BiasOf(const std::string& path, const Json& value) {
  if (value.AsBool() == false) return -std::numeric_limits<float>::infinity();
  const auto number = value.AsNumber();
  if (!number || std::abs(*number) > 3e38) return WrongField(path, "a number or false", value);
  return static_cast<float>(*number);
}

/// A token id; a text stands for each of its tokens, as in llama-server.
Result<void> AddBias(const std::string& path, const Json& token, float bias,
                     const tokenizer::Tokenizer& tokenizer, SamplerOptions* sampler) {
  if (const std::string* text = token.AsString()) {
    for (const TokenId id : tokenizer.Encode(*text, {.add_bos = false})) {
      sampler->logit_bias.push_back({id, bias});
    }
    return {};
  }
  const auto id = token.AsUint();
  if (!id || *id > static_cast<std::uint64_t>(kMostInt)) {
    return WrongField(path, "a token id or a text", token);
  }
  sampler->logit_bias.push_back({static_cast<TokenId>(*id), bias});
  return {};
}

Result<void> ReadPairs(const std::string& path, const Json::Array& pairs,
                       const tokenizer::Tokenizer& tokenizer, SamplerOptions* sampler) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    const Json::Array* pair = pairs[i].AsArray();
    if (pair == nullptr || pair->size() != 2) return WrongField(at, "[token, bias]", pairs[i]);
    const float bias = BITTERN_TRY(BiasOf(at + "[1]", (*pair)[1]));
    BITTERN_TRY(AddBias(at + "[0]", (*pair)[0], bias, tokenizer, sampler));
  }
  return {};
}

/// {"15043": 1.5} as OpenAI, or [[15043, 1.5], ["word", false]] as llama-server.
Result<void> ReadLogitBias(FieldReader* fields, const tokenizer::Tokenizer& tokenizer,
                           SamplerOptions* sampler) {
  const Json* value = fields->Take("logit_bias");
  if (value == nullptr) return {};
  const std::string path = fields->PathOf("logit_bias");
  sampler->logit_bias.clear();
  const Json::Object* object = value->AsObject();
  const Json::Array* pairs = value->AsArray();
  if (object == nullptr && pairs == nullptr) {
    return WrongField(path, "an object of token ids, or a list of [token, bias]", *value);
  }
  if ((object ? object->size() : pairs->size()) > kMostBiases) {
    return WrongField(path, fmt::format("{} biases at most", kMostBiases), *value);
  }
  if (pairs != nullptr) return ReadPairs(path, *pairs, tokenizer, sampler);
  for (const Json::Member& member : *object) {
    const std::string at = fmt::format("{}.{}", path, member.key);
    const float bias = BITTERN_TRY(BiasOf(at, member.value));
    TokenId id = 0;
    const char* const end = member.key.data() + member.key.size();
    const auto [rest, error] = std::from_chars(member.key.data(), end, id);
    if (error != std::errc() || rest != end || id < 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: token ids as keys expected, \"{}\" found", path, member.key));
    }
    sampler->logit_bias.push_back({id, bias});
  }
  return {};
}

Result<void> ReadSamplers(FieldReader* fields, SamplerOptions* sampler) {
  const Json* value = fields->Take("samplers");
  if (value == nullptr) return {};
  const std::string path = fields->PathOf("samplers");
  if (const std::string* letters = value->AsString()) {
    auto chain = runtime::ParseSamplerLetters(*letters);
    if (!chain.has_value()) return WrongField(path, "a text of llama.cpp's letters", *value);
    sampler->samplers = *std::move(chain);
    return {};
  }
  const Json::Array* list = value->AsArray();
  if (list == nullptr || list->size() > 64) {
    return WrongField(path, "a list of names, or a text of letters", *value);
  }
  sampler->samplers.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* name = (*list)[i].AsString();
    const std::string at = fmt::format("{}[{}]", path, i);
    if (name == nullptr) return WrongField(at, "the name of a sampler", (*list)[i]);
    const auto step = runtime::SamplerStepByName(*name);
    if (!step.has_value()) return tl::unexpected(Within(at, step.error()));
    sampler->samplers.push_back(*step);
  }
  return {};
}

}  // namespace

ordered_json OptionsJson(const runtime::GenerateOptions& options) {
  const SamplerOptions& sampler = options.sampler;
  ordered_json json = {{"max_tokens", options.max_tokens},
                       {"seed", sampler.seed},
                       {"stop", options.stops},
                       {"ignore_eos", options.ignore_eos},
                       {"stop_on_loop", options.stop_on_loop}};
  for (const FloatField& row : kFloatFields) {
    json[std::string(row.name)] = Shortest(sampler.*row.option);
  }
  for (const IntField& row : kIntFields) json[std::string(row.name)] = sampler.*row.option;
  json["dry_sequence_breakers"] = sampler.dry_sequence_breakers;
  ordered_json biases = ordered_json::array(), steps = ordered_json::array();
  for (const runtime::LogitBias& bias : sampler.logit_bias) {
    const bool never = std::isinf(bias.bias);
    biases.push_back({bias.id, never ? ordered_json(false) : ordered_json(Shortest(bias.bias))});
  }
  for (const runtime::SamplerStep step : sampler.samplers) {
    steps.push_back(std::string(runtime::SamplerStepName(step)));
  }
  if (options.constraint) json["constraint"] = ConstraintJson(*options.constraint);
  json["logit_bias"] = std::move(biases);
  json["samplers"] = std::move(steps);
  return json;
}

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

Result<void> ReadOptions(FieldReader* fields, const tokenizer::Tokenizer& tokenizer,
                         runtime::GenerateOptions* options) {
  SamplerOptions* const sampler = &options->sampler;
  for (const char* const key : {"n_predict", "max_tokens", "max_completion_tokens"}) {
    BITTERN_TRY(fields->Int(key, -1, kMostInt, &options->max_tokens));
  }
  BITTERN_TRY(fields->Seed("seed", &sampler->seed));
  BITTERN_TRY(ReadStops(fields, "stop", &options->stops));
  BITTERN_TRY(fields->Flag("ignore_eos", &options->ignore_eos));
  BITTERN_TRY(fields->Flag("stop_on_loop", &options->stop_on_loop));
  for (const FloatField& row : kFloatFields) {
    BITTERN_TRY(fields->Float(row.name, &(sampler->*row.option), row.least, row.most));
  }
  for (const IntField& row : kIntFields) {
    BITTERN_TRY(fields->Int(row.name, row.least, kMostInt, &(sampler->*row.option)));
  }
  if (const Json* breakers = fields->Take("dry_sequence_breakers"); breakers != nullptr) {
    if (breakers->AsArray() == nullptr) {
      return WrongField(fields->PathOf("dry_sequence_breakers"), "a list of texts", *breakers);
    }
    BITTERN_TRY(
        fields->Texts("dry_sequence_breakers", kMostBreakers, &sampler->dry_sequence_breakers));
  }
  BITTERN_TRY(ReadLogitBias(fields, tokenizer, sampler));
  return ReadSamplers(fields, sampler);
}

}  // namespace bittern::serve
