// SPDX-License-Identifier: Apache-2.0
#include "serve/router.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/percent.hpp"
#include "serve/api/anthropic/endpoints.hpp"
#include "serve/api/llama/endpoints.hpp"
#include "serve/api/ollama/endpoints.hpp"
#include "serve/api/openai/endpoints.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

/// Every API of the server. A new one is a folder below api/ and a line here.
Api (*const kApis[])() noexcept = {LlamaServerApi, OpenAiApi, AnthropicApi, OllamaApi};

/// A pattern that ends with "/*" stands for one more part of a path: "/models/*" fits "/models/a"
/// and "/models/a%2Fb", but neither "/models/" nor "/models/a/b". `path` is as it was sent.
bool Fits(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with("/*")) return pattern == PercentDecoded(path);
  const std::size_t part = path.rfind('/') + 1;
  return part < path.size() &&
         pattern.substr(0, pattern.size() - 1) == PercentDecoded(path.substr(0, part));
}

}  // namespace

ErrorShape ErrorShapeOf(std::string_view path) {
  const std::string decoded = PercentDecoded(path);
  for (const auto api_of : kApis) {
    const Api api = api_of();
    if (api.front.empty() || !decoded.starts_with(api.front)) continue;
    if (decoded.size() == api.front.size() || decoded[api.front.size()] == '/') return api.error;
  }
  return PlainErrorReply;
}

/// HEAD is answered wherever GET is (RFC 9110 section 9.3.2). Commands are there only for `many`.
EndpointMatch FindEndpoint(const HttpRequest& request, bool many) {
  EndpointMatch match{.error = ErrorShapeOf(request.path)};
  for (const auto api_of : kApis) {
    const Api api = api_of();
    for (const Endpoint& endpoint : api.endpoints) {
      if (!Fits(endpoint.path, request.path) && !Fits(endpoint.also, request.path)) continue;
      if (endpoint.command != nullptr && !many) continue;
      const bool head = request.method == "HEAD" && endpoint.method == "GET";
      if (endpoint.method == request.method || head) {
        return {.endpoint = &endpoint, .error = api.error};
      }
      match.allowed += (match.allowed.empty() ? "" : ", ") + std::string(endpoint.method);
    }
  }
  return match;
}

HttpReply NoEndpointReply(const HttpRequest& request, const EndpointMatch& match) {
  if (match.allowed.empty()) {
    return match.error(
        {.status = 404, .message = fmt::format("there is nothing at {}", request.path)});
  }
  return match.error(
      {.status = 405,
       .message = fmt::format("{} takes {}, not {}", request.path, match.allowed, request.method),
       .headers = {{"Allow", match.allowed}}});
}

/// A query is looked at before the body. A name that no model has is given back as it is: who looks
/// it up can say so better.
Result<std::string> ModelOfRequest(const Models& models, const ApiRequest& request) {
  std::string name = QueryValue(request.http.query, "model").value_or("");
  for (const char* const key : {"model", "name"}) {
    if (name.empty()) name = request.body[key].text();
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

}  // namespace bittern::serve
