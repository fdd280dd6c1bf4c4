// SPDX-License-Identifier: Apache-2.0
// An endpoint of the server: method, path, and what answers. Each API has a table of them, and the
// router (router.hpp) has them all.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/json/json.hpp"
#include "serve/core/api_error.hpp"
#include "serve/core/models.hpp"
#include "serve/core/service.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

struct Endpoint;

/// A request whose body was read once.
struct ApiRequest {
  HttpRequest http;
  const Endpoint* endpoint = nullptr;
  ErrorShape error = PlainErrorReply;  ///< of the endpoint's API
  Json body = {};  ///< of a POST; null at endpoints that read `http.body` themselves
};

/// For endpoints that answer at once.
struct QuickContext {
  Service* service;
  const HttpRequest& request;
  HttpStats http;
  bool metrics, slots;  ///< whether they are shown
};

/// One of `page`, `quick`, `run` and `command` is set.
struct Endpoint {
  std::string_view method, path;  ///< a path that ends with "/*" takes one more part
  std::string_view also = {};     ///< another path for the same
  bool is_public = false;         ///< needs no key
  bool raw_body = false;          ///< reads its body itself
  /// Answers without a model, too.
  HttpReply (*page)() = nullptr;
  /// Answers at once, by the thread of the sockets.
  HttpReply (*quick)(const QuickContext&) = nullptr;
  /// With several models: answers about all of them where a request names none with ?model=.
  HttpReply (*all)(const Models&, const HttpRequest&, const HttpStats&) = nullptr;
  bool lists = false;          ///< `all` tells which models there are: their folder is read first
  bool needs_no_name = false;  ///< `all` answers whatever model is named
  /// Answers by one of the two readers' threads; an error becomes the answer.
  Result<void> (*run)(Service*, const ApiRequest&, const std::shared_ptr<Exchange>&) = nullptr;
  /// Is there only where several models are served; `name` is one of them, if it is known.
  Result<void> (*command)(Models*, const std::string& name,
                          const std::shared_ptr<Exchange>&) = nullptr;
};

/// The endpoints of one API, and how it writes errors. All paths at `front` and below are its own,
/// also those that it has no endpoint for; empty: none are.
struct Api {
  ErrorShape error;
  std::span<const Endpoint> endpoints;
  std::string_view front = {};
};

}  // namespace bittern::serve
