// SPDX-License-Identifier: Apache-2.0
// One model is told from its service, several from their states: none of them has to be loaded.
#include "serve/api/openai/models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/percent.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

/// The last part of the path.
std::string NameIn(const HttpRequest& request) {
  return PercentDecoded(request.path.substr(request.path.rfind('/') + 1));
}

/// The model as OpenAI lists it. "meta" is llama-server's: n_ctx_train is the length that the model
/// was trained for, n_ctx the one that the server uses.
Json ModelJson(const Service& service) {
  Json aliases = Json::MakeArray({service.options().model_name});
  for (const std::string& name : service.options().aliases) aliases.push_back(name);
  const model::ModelConfig& config = service.model().model.config();
  return {{"id", service.options().model_name},
          {"object", "model"},
          {"created", service.started()},
          {"owned_by", "bittern"},
          {"aliases", std::move(aliases)},
          {"meta",
           {{"n_vocab", config.vocab_size},
            {"n_ctx_train", config.context_length},
            {"n_ctx", service.options().engine.context_length}}}};
}

/// Names as llama-server's router gives them in "status.value".
std::string_view StateName(ModelState state) {
  switch (state) {
    case ModelState::kLoaded:
      return "loaded";
    case ModelState::kLoading:
      return "loading";
    default:
      return "unloaded";
  }
}

/// One of several models. "failed" tells why it could not be loaded the last time.
Json ModelJson(const ModelStatus& model) {
  Json status = {{"value", StateName(model.state)}};
  if (!model.failure.empty()) status["failed"] = model.failure;
  return {{"id", model.name},
          {"object", "model"},
          {"owned_by", "bittern"},
          {"status", std::move(status)}};
}

}  // namespace

/// "data" is OpenAI's list, "models" is the one that Ollama's clients look for at the same path.
HttpReply ListModel(const QuickContext& context) {
  const Service& service = *context.service;
  const std::string& name = service.options().model_name;
  const Json details = {{"format", "gguf"}};
  const Json other = {{"name", name},
                      {"model", name},
                      {"type", "model"},
                      {"capabilities", {"completion"}},
                      {"details", details}};
  return {.body = Dump({{"object", "list"},
                        {"data", Json::MakeArray({ModelJson(service)})},
                        {"models", Json::MakeArray({other})}})};
}

/// GET /v1/models/NAME.
HttpReply ShowModel(const QuickContext& context) {
  const Service& service = *context.service;
  const std::string name = NameIn(context.request);
  const auto& aliases = service.options().aliases;
  const bool known =
      name == service.options().model_name || std::ranges::find(aliases, name) != aliases.end();
  if (known) return {.body = Dump(ModelJson(service))};
  return OpenAiError({.status = 404,
                      .message = fmt::format("model: \"{}\" is served here, \"{}\" is not",
                                             service.options().model_name, name),
                      .param = "model"});
}

HttpReply ListAllModels(const Models& models, const HttpRequest&, const HttpStats&) {
  Json data = Json::MakeArray(), other = data;
  for (const ModelStatus& model : models.status()) {
    data.push_back(ModelJson(model));
    other.push_back({{"name", model.name}, {"model", model.name}, {"type", "model"}});
  }
  return {.body = Dump({{"object", "list"}, {"data", data}, {"models", other}})};
}

/// GET /v1/models/NAME. Tells about a model without loading it.
HttpReply ShowOneOfModels(const Models& models, const HttpRequest& request, const HttpStats&) {
  const std::string name = NameIn(request);
  for (const ModelStatus& model : models.status()) {
    if (model.name == name) return {.body = Dump(ModelJson(model))};
  }
  return OpenAiError({.status = 404,
                      .message = fmt::format("there is no model \"{}\" here", name),
                      .param = "model"});
}

}  // namespace bittern::serve
