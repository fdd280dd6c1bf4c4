// SPDX-License-Identifier: Apache-2.0
// The table of all doors: method, path, and what answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "serve/core/call.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// What endpoints that answer at once may look at.
struct QuickContext {
  Service* service;
  const HttpRequest& request;
  HttpStats http;
  bool metrics, slots;
};

/// One of `page`, `quick` and `run` is set.
struct Endpoint {
  std::string_view method, path;
  bool is_public = false;  ///< needs no key
  ErrorStyle style = ErrorStyle::kOpenAi;
  /// Answers without a model, too.
  HttpReply (*page)() = nullptr;
  /// Answers at once, by the thread of the sockets.
  HttpReply (*quick)(const QuickContext&) = nullptr;
  /// Answers by the worker's thread; an error becomes the answer.
  Result<void> (*run)(Service*, const HttpRequest&, const std::shared_ptr<Exchange>&) = nullptr;
};

struct EndpointMatch {
  const Endpoint* endpoint = nullptr;
  std::string allowed = {};  ///< methods of the path, where the method is another
};

[[nodiscard]] EndpointMatch FindEndpoint(const HttpRequest& request);

/// 404, or 405 with the methods that there are.
[[nodiscard]] HttpReply NoEndpointReply(const HttpRequest& request, const EndpointMatch& match);

[[nodiscard]] std::string NewRequestId();

}  // namespace bittern::serve
