// SPDX-License-Identifier: Apache-2.0
// The whole server: sockets on one thread, requests read and prepared on a second (a long prompt
// must not hold up the streams of others), the engine on a third. Answers 503 until it is given a
// model.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "serve/core/models.hpp"
#include "serve/core/server_options.hpp"
#include "serve/core/service.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

class Server {
 public:
  /// Binds, and serves from now on. Errors as HttpServer::Listen and StaticFiles::Open.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Stops at once.
  ~Server();

  /// Once: requests get answers from now on.
  void SetService(std::unique_ptr<Service> service);
  /// In place of SetService: requests name one of several models.
  void SetModels(std::unique_ptr<Models> models);
  /// Answers a request as if it came through a socket: for programs that are both ends. One thread
  /// at a time; the exchange is answered by other threads, too.
  void Handle(HttpRequest request, std::shared_ptr<Exchange> exchange);
  /// Finishes what has begun and accepts nothing more. Any thread.
  void Drain();
  /// Ends at once, answers or not. Any thread.
  void Stop();
  /// Returns after Drain or Stop has done its work.
  void Wait();

  [[nodiscard]] int port() const noexcept;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bittern::serve
