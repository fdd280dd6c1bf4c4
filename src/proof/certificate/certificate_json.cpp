// SPDX-License-Identifier: Apache-2.0
// The file of a full certificate. It comes from another machine, so reading it trusts nothing.
#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "model/trace.hpp"
#include "proof/certificate/certificate.hpp"

namespace bittern::proof {
namespace {

using model::TracePoint;

std::string PointName(std::size_t point) {
  return std::string(TracePointName(static_cast<TracePoint>(point)));
}

/// Flat operations as {embedding, layers: [{attn_norm, ...}, ...], final_norm, head}.
Json OperationsJson(const std::vector<std::string>& operations, int num_layers) {
  Json json, layers = Json::MakeArray();
  std::size_t next = 0;
  json[PointName(0)] = operations[next++];
  for (int layer = 0; layer < num_layers; ++layer) {
    Json object;
    for (std::size_t p = 1; p <= model::kNumLayerPoints; ++p) {
      object[PointName(p)] = operations[next++];
    }
    layers.push_back(std::move(object));
  }
  json["layers"] = std::move(layers);
  for (const TracePoint point : {TracePoint::kFinalNorm, TracePoint::kHead}) {
    json[std::string(TracePointName(point))] = operations[next++];
  }
  return json;
}

Error Bad(std::string_view what) {
  return {ErrorCode::kCorruptFile,
          fmt::format("certificate file: {} is missing or malformed", what)};
}

Result<std::string> StringOf(const Json* value, std::string_view what) {
  if (value == nullptr || value->AsString() == nullptr) return tl::unexpected(Bad(what));
  return *value->AsString();
}

Result<std::vector<std::int32_t>> IdsOf(const Json* value, std::string_view what) {
  if (value == nullptr || value->AsArray() == nullptr) return tl::unexpected(Bad(what));
  std::vector<std::int32_t> ids;
  for (const Json& item : *value->AsArray()) {
    const auto id = item.AsUint();
    if (!id || *id > INT32_MAX) return tl::unexpected(Bad(what));
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

Result<std::vector<std::string>> StringsOf(const Json* value, std::string_view what) {
  if (value == nullptr || value->AsArray() == nullptr) return tl::unexpected(Bad(what));
  std::vector<std::string> strings;
  for (const Json& item : *value->AsArray()) {
    strings.push_back(BITTERN_TRY(StringOf(&item, what)));
  }
  return strings;
}

/// Reads what OperationsJson writes. `num_layers` is the file's own word, which was bounded before.
Result<std::vector<std::string>> OperationsOf(const Json* json, int num_layers) {
  const Json* layers = json == nullptr ? nullptr : json->Find("layers");
  if (layers == nullptr || layers->AsArray() == nullptr ||
      layers->AsArray()->size() != static_cast<std::size_t>(num_layers)) {
    return tl::unexpected(Bad("layers"));
  }
  std::vector<std::string> operations;
  operations.push_back(BITTERN_TRY(StringOf(json->Find(PointName(0)), PointName(0))));
  for (const Json& layer : *layers->AsArray()) {
    for (std::size_t p = 1; p <= model::kNumLayerPoints; ++p) {
      operations.push_back(BITTERN_TRY(StringOf(layer.Find(PointName(p)), PointName(p))));
    }
  }
  for (const TracePoint point : {TracePoint::kFinalNorm, TracePoint::kHead}) {
    const std::string name(TracePointName(point));
    operations.push_back(BITTERN_TRY(StringOf(json->Find(name), name)));
  }
  return operations;
}

Result<PromptCertificate> PromptOf(const Json& json, int num_layers) {
  PromptCertificate prompt;
  prompt.text = BITTERN_TRY(StringOf(json.Find("text"), "text"));
  prompt.prompt_ids = BITTERN_TRY(IdsOf(json.Find("prompt_ids"), "prompt_ids"));
  prompt.ids = BITTERN_TRY(IdsOf(json.Find("ids"), "ids"));
  prompt.fed = BITTERN_TRY(IdsOf(json.Find("fed"), "fed"));
  prompt.positions = BITTERN_TRY(StringsOf(json.Find("positions"), "positions"));
  prompt.prefill = BITTERN_TRY(OperationsOf(json.Find("prefill"), num_layers));
  prompt.decode = BITTERN_TRY(OperationsOf(json.Find("decode"), num_layers));
  return prompt;
}

/// The line inside says which model and which prompts; the rest is what `certify` compares to name
/// the first operation that differs.
Result<Certificate> FullCertificateOf(std::string_view text) {
  const Json json = BITTERN_TRY(Json::Parse(text, {.max_bytes = std::size_t{64} << 20}));
  const std::string line = BITTERN_TRY(StringOf(json.Find("line"), "line"));
  Certificate certificate = BITTERN_TRY(ParseCertificateLine(line).map_error(
      [](const Error& error) { return Error{ErrorCode::kCorruptFile, error.message}; }));
  const Json* tensors = json.Find("model");
  if (tensors == nullptr || tensors->AsObject() == nullptr) return tl::unexpected(Bad("model"));
  for (const auto& [name, hash] : *tensors->AsObject()) {
    auto value = BITTERN_TRY(StringOf(&hash, name));
    certificate.tensors.push_back({name, std::move(value)});
  }
  const Json* layers = json.Find("num_layers");
  const auto num_layers = layers == nullptr ? std::nullopt : layers->AsUint();
  if (!num_layers || *num_layers < 1 || *num_layers > 10'000) {
    return tl::unexpected(Bad("num_layers"));
  }
  certificate.num_layers = static_cast<int>(*num_layers);
  const Json* prompts = json.Find("prompts");
  if (prompts == nullptr || prompts->AsArray() == nullptr || prompts->AsArray()->empty()) {
    return tl::unexpected(Bad("prompts"));
  }
  for (const Json& prompt : *prompts->AsArray()) {
    certificate.prompts.push_back(BITTERN_TRY(PromptOf(prompt, certificate.num_layers)));
  }
  return certificate;
}

/// Lines with certificates; empty ones and comments between them.
Result<std::vector<Certificate>> LinesOf(std::string_view text) {
  std::vector<Certificate> certificates;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    certificates.push_back(BITTERN_TRY(ParseCertificateLine(line).map_error([&](Error error) {
      return Error{ErrorCode::kCorruptFile, fmt::format("line {}: {}", number, error.message)};
    })));
  }
  if (!certificates.empty()) return certificates;
  return Fail(ErrorCode::kCorruptFile, "there is no certificate in it");
}

}  // namespace

std::string CertificateJson(const Certificate& certificate) {
  Json json, tensors, prompts = Json::MakeArray();
  for (const auto& [name, hash] : certificate.tensors) tensors[name] = hash;
  for (const PromptCertificate& prompt : certificate.prompts) {
    prompts.push_back({{"text", prompt.text},
                       {"prompt_ids", prompt.prompt_ids},
                       {"ids", prompt.ids},
                       {"fed", prompt.fed},
                       {"positions", prompt.positions},
                       {"prefill", OperationsJson(prompt.prefill, certificate.num_layers)},
                       {"decode", OperationsJson(prompt.decode, certificate.num_layers)}});
  }
  json["line"] = CertificateLine(certificate);
  json["num_layers"] = certificate.num_layers;
  json["model"] = std::move(tensors);
  json["prompts"] = std::move(prompts);
  // Prompts come from a file and need not be UTF-8; JSON must.
  return json.Dump(1) + '\n';
}

Result<std::vector<Certificate>> ParseCertificates(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (!text.substr(begin).starts_with('{')) return LinesOf(text);
  auto certificate = BITTERN_TRY(FullCertificateOf(text));
  return std::vector<Certificate>{std::move(certificate)};
}

}  // namespace bittern::proof
