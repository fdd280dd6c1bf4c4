// SPDX-License-Identifier: Apache-2.0
// A visitor over the types of members: numbers, flags, lists of steps, biases, texts.
#include "request/options/sampler_option_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace bittern::request {
namespace {

using runtime::LogitBias;
using runtime::SamplerOptions;
using runtime::SamplerStep;
using runtime::TokenId;

constexpr int kMostId = std::numeric_limits<int>::max();
/// Elements of lists, at most.
constexpr std::size_t kMostBiases = 4096, kMostBreakers = 64, kMostSteps = 64;

/// The float as JSON should show it: 0.8f as 0.8, not as 0.800000011920929.
double Shortest(float value) {
  const std::string text = fmt::format("{}", value);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// A number, or false for minus infinity, as llama-server has it.
Result<float> BiasOf(const std::string& path, const Json& value) {
  if (value.AsBool() == false) return -std::numeric_limits<float>::infinity();
  const auto number = value.AsNumber();
  if (!number || std::abs(*number) > kAnyNumber) {
    return WrongField(path, "a number or false", value);
  }
  return static_cast<float>(*number);
}

/// A token id; a text stands for each of its tokens, as in llama-server.
Result<void> AddBias(const std::string& path, const Json& token, float bias,
                     const tokenizer::Tokenizer& tokenizer, std::vector<LogitBias>* biases) {
  if (const std::string* text = token.AsString()) {
    for (const TokenId id : tokenizer.Encode(*text, {.add_bos = false})) {
      biases->push_back({id, bias});
    }
    return {};
  }
  const auto id = token.AsUint();
  if (!id || *id > static_cast<std::uint64_t>(kMostId)) {
    return WrongField(path, "a token id or a text", token);
  }
  biases->push_back({static_cast<TokenId>(*id), bias});
  return {};
}

/// [[token, bias], ...], where a token is an id or a text.
Result<void> ReadPairs(const std::string& path, const Json::Array& pairs,
                       const tokenizer::Tokenizer& tokenizer, std::vector<LogitBias>* biases) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    const Json::Array* pair = pairs[i].AsArray();
    if (pair == nullptr || pair->size() != 2) return WrongField(at, "[token, bias]", pairs[i]);
    const float bias = BITTERN_TRY(BiasOf(at + "[1]", (*pair)[1]));
    BITTERN_TRY(AddBias(at + "[0]", (*pair)[0], bias, tokenizer, biases));
  }
  return {};
}

/// {"15043": 1.5} as OpenAI, or [[15043, 1.5], ["word", false]] as llama-server.
Result<void> ReadBiases(const std::string& path, const Json& value,
                        const tokenizer::Tokenizer& tokenizer, std::vector<LogitBias>* biases) {
  biases->clear();
  const Json::Object* object = value.AsObject();
  const Json::Array* pairs = value.AsArray();
  if (object == nullptr && pairs == nullptr) {
    return WrongField(path, "an object of token ids, or a list of [token, bias]", value);
  }
  if ((object ? object->size() : pairs->size()) > kMostBiases) {
    return WrongField(path, fmt::format("{} biases at most", kMostBiases), value);
  }
  if (pairs != nullptr) return ReadPairs(path, *pairs, tokenizer, biases);
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
    biases->push_back({id, bias});
  }
  return {};
}

/// ["top_k", "temperature"], or llama.cpp's letters in one text: "kt".
Result<void> ReadSteps(const std::string& path, const Json& value,
                       std::vector<SamplerStep>* steps) {
  if (const std::string* letters = value.AsString()) {
    auto chain = runtime::ParseSamplerLetters(*letters);
    if (!chain.has_value()) return WrongField(path, "a text of llama.cpp's letters", value);
    *steps = *std::move(chain);
    return {};
  }
  const Json::Array* list = value.AsArray();
  if (list == nullptr || list->size() > kMostSteps) {
    return WrongField(path, "a list of names, or a text of letters", value);
  }
  steps->clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* name = (*list)[i].AsString();
    const std::string at = fmt::format("{}[{}]", path, i);
    if (name == nullptr) return WrongField(at, "the name of a sampler", (*list)[i]);
    const auto step = runtime::SamplerStepByName(*name);
    if (!step.has_value()) return tl::unexpected(Within(at, step.error()));
    steps->push_back(*step);
  }
  return {};
}

/// One function for each type of member.
struct JsonReader {
  const SamplerOption& option;
  const tokenizer::Tokenizer& tokenizer;
  FieldReader* fields;
  SamplerOptions* to;

  Result<void> operator()(float SamplerOptions::* member) const {
    return fields->Float(option.name, &(to->*member), option.least, option.most);
  }
  Result<void> operator()(int SamplerOptions::* member) const {
    return fields->Int(option.name, static_cast<std::int64_t>(option.least),
                       static_cast<std::int64_t>(option.most), &(to->*member));
  }
  Result<void> operator()(std::uint32_t SamplerOptions::* member) const {
    return fields->Seed(option.name, &(to->*member));
  }
  Result<void> operator()(std::vector<std::string> SamplerOptions::* member) const {
    const Json* value = fields->Take(option.name);
    if (value != nullptr && value->AsArray() == nullptr) {
      return WrongField(fields->PathOf(option.name), "a list of texts", *value);
    }
    return fields->Texts(option.name, kMostBreakers, &(to->*member));
  }
  Result<void> operator()(std::vector<LogitBias> SamplerOptions::* member) const {
    const Json* value = fields->Take(option.name);
    if (value == nullptr) return {};
    return ReadBiases(fields->PathOf(option.name), *value, tokenizer, &(to->*member));
  }
  Result<void> operator()(std::vector<SamplerStep> SamplerOptions::* member) const {
    const Json* value = fields->Take(option.name);
    if (value == nullptr) return {};
    return ReadSteps(fields->PathOf(option.name), *value, &(to->*member));
  }
};

/// One overload for each type of member, the inverse of JsonReader.
Json JsonOf(float value) { return Shortest(value); }
Json JsonOf(int value) { return value; }
Json JsonOf(std::uint32_t value) { return value; }
Json JsonOf(const std::vector<std::string>& texts) { return texts; }
/// Pairs in their order, as ReadPairs takes them. JSON has no infinity, so false stands for it.
Json JsonOf(const std::vector<LogitBias>& biases) {
  Json list = Json::MakeArray();
  for (const LogitBias& bias : biases) {
    const bool never = std::isinf(bias.bias);
    list.push_back({bias.id, never ? Json(false) : Json(Shortest(bias.bias))});
  }
  return list;
}
Json JsonOf(const std::vector<SamplerStep>& steps) {
  Json list = Json::MakeArray();
  for (const SamplerStep step : steps) {
    list.push_back(std::string(runtime::SamplerStepName(step)));
  }
  return list;
}

}  // namespace

Result<void> ReadSamplerOption(const SamplerOption& option, const tokenizer::Tokenizer& tokenizer,
                               FieldReader* fields, SamplerOptions* options) {
  return std::visit(JsonReader{option, tokenizer, fields, options}, option.member);
}

Json SamplerOptionJson(const SamplerOption& option, const SamplerOptions& options) {
  return std::visit([&](auto member) { return JsonOf(options.*member); }, option.member);
}

}  // namespace bittern::request
