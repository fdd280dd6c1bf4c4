// SPDX-License-Identifier: Apache-2.0
#include "serve/core/guard.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "serve/core/server_options.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

/// 127.evil.example is a name like any other.
bool IsLoopback(std::string_view host) {
  const bool is_address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_address);
}

/// The name in a Host header, without the port.
std::string NameOf(std::string_view host) {
  if (host.starts_with('[')) return LowerCase(host.substr(1, host.find(']') - 1));
  return LowerCase(host.substr(0, host.find(':')));
}

}  // namespace

bool IsLoopbackHost(std::string_view host) { return IsLoopback(host); }

Guard::Guard(const ServerOptions& options)
    : keys_(options.api_keys),
      origins_(options.cors_origins),
      hosts_(options.host_names),
      is_loopback_(IsLoopback(options.http.host)) {}

/// True if a page of that origin may call. "localhost" in the list stands for any loopback address
/// and any port.
bool Guard::Allows(std::string_view origin) const {
  const std::size_t scheme = origin.find("://");
  if (scheme != std::string_view::npos && IsLoopback(NameOf(origin.substr(scheme + 3))) &&
      std::ranges::find(origins_, "localhost") != origins_.end()) {
    return true;
  }
  return std::ranges::find(origins_, "*") != origins_.end() ||
         std::ranges::find(origins_, origin) != origins_.end();
}

/// Programs send no Origin as a rule, so a request without one passes. A page of the server itself
/// has the same name in Origin and Host.
std::optional<ApiError> Guard::CheckOrigin(const HttpRequest& request) const {
  const std::string_view host = request.Header("host"), origin = request.Header("origin");
  if (is_loopback_ && !host.empty()) {
    const std::string name = NameOf(host);
    if (!IsLoopback(name) && std::ranges::find(hosts_, name) == hosts_.end()) {
      return ApiError{.status = 403,
                      .message = fmt::format("the server is not called \"{}\"", name),
                      .param = "Host"};
    }
  }
  const bool own =
      origin == fmt::format("http://{}", host) || origin == fmt::format("https://{}", host);
  if (origin.empty() || own || Allows(origin)) return std::nullopt;
  return ApiError{.status = 403,
                  .message = fmt::format("pages of \"{}\" may not call this server", origin),
                  .param = "Origin"};
}

/// A key comes as "Authorization: Bearer KEY" (OpenAI) or "x-api-key" (Anthropic). All keys are
/// compared, found or not, so that the time tells nothing.
std::optional<ApiError> Guard::CheckKey(const HttpRequest& request) const {
  if (keys_.empty()) return std::nullopt;
  std::string_view given = request.Header("x-api-key");
  const std::string_view authorization = request.Header("authorization");
  constexpr std::size_t kBearer = 7;
  if (LowerCase(authorization.substr(0, kBearer)) == "bearer ") {
    given = authorization.substr(kBearer);
  }
  bool known = false;
  for (const std::string& key : keys_) known |= SameSecret(given, key);
  if (known) return std::nullopt;
  return ApiError{
      .status = 401, .message = "Invalid API Key", .headers = {{"WWW-Authenticate", "Bearer"}}};
}

/// OPTIONS is a browser's question before a request: it learns the methods and headers that it may
/// use. Vary keeps caches from giving one origin's answer to another.
HttpHeaders Guard::CorsHeaders(const HttpRequest& request) const {
  const std::string_view origin = request.Header("origin");
  if (origin.empty() || !Allows(origin)) return {};
  HttpHeaders headers = {{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
  if (request.method != "OPTIONS") return headers;
  std::string wanted(request.Header("access-control-request-headers"));
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  headers.emplace_back("Access-Control-Allow-Headers",
                       wanted.empty() ? "Authorization, Content-Type" : std::move(wanted));
  headers.emplace_back("Access-Control-Max-Age", "86400");
  return headers;
}

}  // namespace bittern::serve
