// SPDX-License-Identifier: Apache-2.0
#include "serve/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "serve/api/endpoints.hpp"
#include "serve/api/status.hpp"
#include "serve/core/guard.hpp"
#include "serve/core/worker.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {

struct Server::Impl {
  explicit Impl(ServerOptions made) : options(std::move(made)), guard(options) {}

  void Handle(HttpRequest request, std::shared_ptr<Exchange> exchange);
  void Run(const Endpoint& endpoint, HttpRequest request, std::shared_ptr<Exchange> exchange);

  ServerOptions options;
  Guard guard;
  std::atomic<Service*> ready{nullptr};
  // Destroyed from the last: nothing may outlive what it posts to.
  std::unique_ptr<HttpServer> http = {};
  std::unique_ptr<Service> service = {};
  std::unique_ptr<Worker> worker = {};
  std::thread thread = {};
};

void Server::Impl::Handle(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  exchange->AddHeader("X-Request-Id", NewRequestId());
  for (auto& [name, value] : guard.CorsHeaders(request)) {
    exchange->AddHeader(std::move(name), std::move(value));
  }
  if (auto refused = guard.CheckOrigin(request)) return exchange->Reply(*std::move(refused));
  if (request.method == "OPTIONS") return exchange->Reply({.status = 204});
  const EndpointMatch match = FindEndpoint(request);
  if (match.endpoint == nullptr || !match.endpoint->is_public) {
    if (auto refused = guard.CheckKey(request)) return exchange->Reply(*std::move(refused));
  }
  if (match.endpoint == nullptr) return exchange->Reply(NoEndpointReply(request, match));
  const Endpoint& endpoint = *match.endpoint;
  if (endpoint.page != nullptr && options.page) return exchange->Reply(endpoint.page());
  if (ready.load() == nullptr) {
    HttpReply reply = ErrorReply(endpoint.style, 503, "Loading model");
    reply.headers.emplace_back("Retry-After", "1");
    return exchange->Reply(std::move(reply));
  }
  if (endpoint.quick != nullptr) {
    const QuickContext context{.service = ready.load(),
                               .request = request,
                               .http = http->stats(),
                               .metrics = options.metrics,
                               .slots = options.slots};
    return exchange->Reply(endpoint.quick(context));
  }
  Run(endpoint, std::move(request), std::move(exchange));
}

void Server::Impl::Run(const Endpoint& endpoint, HttpRequest request,
                       std::shared_ptr<Exchange> exchange) {
  const auto shared = std::make_shared<HttpRequest>(std::move(request));
  worker->Post([to = ready.load(), &endpoint, shared, exchange = std::move(exchange)] {
    if (exchange->gone().load()) return;
    const Result<void> done = endpoint.run(to, *shared, exchange);
    if (!done.has_value()) exchange->Reply(ErrorReply(endpoint.style, done.error()));
  });
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->http = BITTERN_TRY(HttpServer::Listen(
      impl->options.http,
      [self = impl.get()](HttpRequest request, std::shared_ptr<Exchange> exchange) {
        self->Handle(std::move(request), std::move(exchange));
      }));
  impl->worker = std::make_unique<Worker>();
  impl->thread = std::thread([self = impl.get()] { self->http->Run(); });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() {
  Stop();
  Wait();
}

void Server::SetService(std::unique_ptr<Service> service) {
  impl_->service = std::move(service);
  impl_->ready.store(impl_->service.get());
}

void Server::Drain() { impl_->http->Drain(); }
void Server::Stop() { impl_->http->Stop(); }

void Server::Wait() {
  if (impl_->thread.joinable()) impl_->thread.join();
}

int Server::port() const noexcept { return impl_->http->port(); }

}  // namespace bittern::serve
