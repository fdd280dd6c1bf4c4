// SPDX-License-Identifier: Apache-2.0
#include "serve/api/many.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "serve/api/json_text.hpp"
#include "serve/core/field_reader.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

constexpr std::string_view kLatest = ":latest";  // what Ollama's clients put behind a name

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

Json ModelJson(const ModelStatus& model) {
  Json status = {{"value", StateName(model.state)}};
  if (!model.failure.empty()) status["failed"] = model.failure;
  return {{"id", model.name},
          {"object", "model"},
          {"owned_by", "bittern"},
          {"status", std::move(status)},
          {"path", model.path}};
}

HttpReply ListReply(const Models& models) {
  Json data = Json::MakeArray(), other = data;
  for (const ModelStatus& model : models.status()) {
    data.push_back(ModelJson(model));
    other.push_back({{"name", model.name}, {"model", model.name}, {"type", "model"}});
  }
  return {.body = Dump({{"object", "list"}, {"data", data}, {"models", other}})};
}

HttpReply OllamaListReply(const Models& models, bool only_loaded) {
  Json list = Json::MakeArray();
  for (const ModelStatus& model : models.status()) {
    if (only_loaded && model.state != ModelState::kLoaded) continue;
    list.push_back({{"name", model.name},
                    {"model", model.name},
                    {"size", model.bytes},
                    {"details", {{"format", "gguf"}}}});
  }
  return {.body = Dump({{"models", std::move(list)}})};
}

HttpReply OneReply(const Models& models, const std::string& name) {
  for (const ModelStatus& model : models.status()) {
    if (model.name == name) return {.body = Dump(ModelJson(model))};
  }
  return ErrorReply(ErrorStyle::kOpenAi, 404, fmt::format("there is no model \"{}\" here", name),
                    "model");
}

HttpReply PropsReply(const Models& models) {
  return {.body = Dump({{"role", "router"},
                        {"max_instances", models.options().most_loaded},
                        {"models_autoload", models.options().autoload},
                        {"build_info", "bittern"}})};
}

HttpReply MetricsReply(const Models& models, const HttpStats& http) {
  std::uint64_t loaded = 0, bytes = 0;
  for (const ModelStatus& model : models.status()) {
    if (model.state != ModelState::kLoaded) continue;
    ++loaded;
    bytes += model.bytes;
  }
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, std::uint64_t value) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
  };
  add("bittern_models_loaded", "gauge", "Models that are loaded.", loaded);
  add("bittern_models_bytes", "gauge", "Memory set aside for them.", bytes);
  add("bittern_model_loads_total", "counter", "Models loaded since the start.", models.loads());
  add("bittern_connections", "gauge", "Connections that are open.", http.connections);
  add("bittern_connections_total", "counter", "Connections accepted.", http.accepted);
  return {.content_type = "text/plain; version=0.0.4", .body = text};
}

std::shared_ptr<const std::atomic<bool>> GoneOf(const std::shared_ptr<Exchange>& exchange) {
  return {exchange, &exchange->gone()};
}

}  // namespace

std::optional<HttpReply> AllModelsReply(const Models& models, const HttpRequest& request,
                                        const HttpStats& http) {
  constexpr std::string_view kOne = "/v1/models/";
  const std::string& path = request.path;
  if (path == "/health" || path == "/v1/health") return HttpReply{.body = R"({"status":"ok"})"};
  if (path == "/models" || path == "/v1/models") return ListReply(models);
  if (path.starts_with(kOne)) return OneReply(models, PercentDecoded(path.substr(kOne.size())));
  if (path == "/api/tags") return OllamaListReply(models, false);
  if (path == "/api/ps") return OllamaListReply(models, true);
  if (QueryValue(request.query, "model")) return std::nullopt;
  if (path == "/props") return PropsReply(models);
  if (path == "/metrics") return MetricsReply(models, http);
  return std::nullopt;
}

Result<std::string> ModelOfRequest(const Models& models, const HttpRequest& request) {
  std::string name = QueryValue(request.query, "model").value_or("");
  if (name.empty() && request.method == "POST") {
    const Json body = BITTERN_TRY(ParseBody(request.body));
    for (const char* const key : {"model", "name"}) {
      const Json* given = body.Find(key);
      if (name.empty() && given != nullptr && given->AsString()) name = *given->AsString();
    }
  }
  const std::vector<ModelStatus> all = models.status();
  if (all.size() == 1) return all.front().name;
  const auto known = [&](std::string_view wanted) {
    return std::ranges::any_of(all, [&](const ModelStatus& one) { return one.name == wanted; });
  };
  if (!known(name) && name.ends_with(kLatest)) name.resize(name.size() - kLatest.size());
  if (!name.empty()) return name;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("model: the name of one of {} models expected, none found; GET "
                          "/v1/models lists them",
                          all.size()));
}

bool IsModelCommand(const HttpRequest& request) {
  return request.path == "/models/load" || request.path == "/models/unload";
}

void RunModelCommand(Models* models, const HttpRequest& request,
                     const std::shared_ptr<Exchange>& exchange) {
  const auto refuse = [exchange](const Error& error) {
    exchange->Reply(ErrorReply(ErrorStyle::kOpenAi, error));
  };
  if (request.method != "POST") {
    HttpReply reply = ErrorReply(ErrorStyle::kOpenAi, 405, request.path + " takes POST");
    reply.headers.emplace_back("Allow", "POST");
    return exchange->Reply(std::move(reply));
  }
  const auto name = ModelOfRequest(*models, request);
  if (!name) return refuse(name.error());
  if (request.path == "/models/unload") {
    if (const auto done = models->Unload(*name); !done) return refuse(done.error());
    return exchange->Reply({.body = R"({"success":true})"});
  }
  models->Load(*name, GoneOf(exchange), [exchange, refuse](Result<Models::Lease> lease) {
    if (!lease.has_value()) return refuse(lease.error());
    exchange->Reply({.body = R"({"success":true})"});
  });
}

}  // namespace bittern::serve
