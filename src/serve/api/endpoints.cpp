// SPDX-License-Identifier: Apache-2.0
#include "serve/api/endpoints.hpp"

#include <fmt/format.h>

#include "serve/api/anthropic.hpp"
#include "serve/api/json_text.hpp"
#include "serve/api/llama_server.hpp"
#include "serve/api/ollama.hpp"
#include "serve/api/openai.hpp"
#include "serve/api/responses.hpp"
#include "serve/api/slots.hpp"
#include "serve/api/status.hpp"
#include "serve/http/http_text.hpp"
#include "serve/page/page.hpp"

namespace bittern::serve {
namespace {

HttpReply Health(const QuickContext&) { return {.body = R"({"status":"ok"})"}; }
HttpReply ListModels(const QuickContext& context) { return ModelsReply(*context.service); }
HttpReply Props(const QuickContext& context) { return PropsReply(*context.service); }

HttpReply OneModel(const QuickContext& context) {
  const std::string& path = context.request.path;
  return ModelReply(*context.service, path.substr(path.rfind('/') + 1));
}

HttpReply Slots(const QuickContext& context) {
  if (!context.slots) {
    return ErrorReply(ErrorStyle::kOpenAi, 501, "slots are not shown: the server was told not to");
  }
  const auto fail = QueryValue(context.request.query, "fail_on_no_slot");
  return SlotsReply(context.service, fail && *fail != "0");
}

HttpReply Metrics(const QuickContext& context) {
  if (!context.metrics) {
    return ErrorReply(ErrorStyle::kOpenAi, 501,
                      "metrics are off: the server was started without them");
  }
  return MetricsReply(context.service, context.http);
}

using enum ErrorStyle;

constexpr Endpoint kEndpoints[] = {
    {.method = "GET", .path = "/", .is_public = true, .page = PageReply},
    {.method = "GET", .path = "/health", .is_public = true, .quick = Health},
    {.method = "GET", .path = "/v1/health", .is_public = true, .quick = Health},
    {.method = "GET", .path = "/v1/models", .is_public = true, .quick = ListModels},
    {.method = "GET", .path = "/models", .is_public = true, .quick = ListModels},
    {.method = "GET", .path = "/v1/models/*", .quick = OneModel},
    {.method = "GET", .path = "/props", .quick = Props},
    {.method = "GET", .path = "/slots", .quick = Slots},
    {.method = "POST", .path = "/slots/*", .run = SlotAction},
    {.method = "GET", .path = "/metrics", .quick = Metrics},
    {.method = "POST", .path = "/v1/chat/completions", .run = ChatCompletions},
    {.method = "POST", .path = "/chat/completions", .run = ChatCompletions},
    {.method = "POST", .path = "/v1/chat/completions/input_tokens", .run = ChatInputTokens},
    {.method = "POST", .path = "/chat/completions/input_tokens", .run = ChatInputTokens},
    {.method = "POST", .path = "/v1/completions", .run = Completions},
    {.method = "POST", .path = "/v1/responses", .run = Responses},
    {.method = "POST", .path = "/responses", .run = Responses},
    {.method = "POST", .path = "/v1/responses/input_tokens", .run = ResponseInputTokens},
    {.method = "POST", .path = "/responses/input_tokens", .run = ResponseInputTokens},
    {.method = "POST", .path = "/completion", .run = LlamaCompletion},
    {.method = "POST", .path = "/completions", .run = LlamaCompletion},
    {.method = "POST", .path = "/v1/messages", .style = kAnthropic, .run = Messages},
    {.method = "POST",
     .path = "/v1/messages/count_tokens",
     .style = kAnthropic,
     .run = CountMessageTokens},
    {.method = "GET", .path = "/api/version", .style = kOllama, .quick = OllamaVersion},
    {.method = "GET",
     .path = "/api/tags",
     .is_public = true,
     .style = kOllama,
     .quick = OllamaTags},
    {.method = "GET", .path = "/api/ps", .style = kOllama, .quick = OllamaRunning},
    {.method = "POST", .path = "/api/show", .style = kOllama, .run = OllamaShow},
    {.method = "POST", .path = "/api/chat", .style = kOllama, .run = OllamaChat},
    {.method = "POST", .path = "/api/generate", .style = kOllama, .run = OllamaGenerate},
    {.method = "POST", .path = "/api/embed", .style = kOllama, .run = OllamaEmbed},
    {.method = "POST", .path = "/api/embeddings", .style = kOllama, .run = OllamaEmbed},
    {.method = "POST", .path = "/tokenize", .run = Tokenize},
    {.method = "POST", .path = "/detokenize", .run = Detokenize},
    {.method = "POST", .path = "/verify", .run = Verify},
    {.method = "POST", .path = "/apply-template", .run = ApplyTemplate},
};

/// A pattern that ends with "/*" stands for one more part of a path.
bool Fits(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with("/*")) return pattern == path;
  const std::string_view front = pattern.substr(0, pattern.size() - 1);
  return path.size() > front.size() && path.starts_with(front) &&
         path.find('/', front.size()) == std::string_view::npos;
}

}  // namespace

EndpointMatch FindEndpoint(const HttpRequest& request) {
  EndpointMatch match;
  for (const Endpoint& endpoint : kEndpoints) {
    if (!Fits(endpoint.path, request.path)) continue;
    const bool head = request.method == "HEAD" && endpoint.method == "GET";
    if (endpoint.method == request.method || head) return {.endpoint = &endpoint};
    match.allowed += (match.allowed.empty() ? "" : ", ") + std::string(endpoint.method);
  }
  return match;
}

HttpReply NoEndpointReply(const HttpRequest& request, const EndpointMatch& match) {
  if (match.allowed.empty()) {
    return ErrorReply(ErrorStyle::kOpenAi, 404,
                      fmt::format("there is nothing at {}", request.path));
  }
  HttpReply reply =
      ErrorReply(ErrorStyle::kOpenAi, 405,
                 fmt::format("{} takes {}, not {}", request.path, match.allowed, request.method));
  reply.headers.emplace_back("Allow", match.allowed);
  return reply;
}

std::string NewRequestId() { return NewId("req-"); }

}  // namespace bittern::serve
