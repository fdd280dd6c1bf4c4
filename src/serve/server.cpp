// SPDX-License-Identifier: Apache-2.0
#include "serve/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "serve/api/endpoints.hpp"
#include "serve/api/many.hpp"
#include "serve/api/status.hpp"
#include "serve/core/guard.hpp"
#include "serve/core/worker.hpp"
#include "serve/http/http_text.hpp"
#include "serve/http/static_files.hpp"

namespace bittern::serve {

struct Server::Impl {
  explicit Impl(ServerOptions made) : options(std::move(made)), guard(options) {}

  void Handle(HttpRequest request, std::shared_ptr<Exchange> exchange);
  /// Of Handle: the page, or a file of the folder. False: the request asks for neither.
  bool ServeFile(const Endpoint* endpoint, const HttpRequest& request,
                 const std::shared_ptr<Exchange>& exchange);
  void Run(Service* to, const Endpoint& endpoint, const std::shared_ptr<HttpRequest>& request,
           std::shared_ptr<Exchange> exchange);
  void RunQuick(Service* to, const Endpoint& endpoint, const HttpRequest& request,
                const std::shared_ptr<Exchange>& exchange) const;
  /// Where several models are served: finds the one that is meant.
  void HandleMany(Models* from, const Endpoint& endpoint, HttpRequest request,
                  std::shared_ptr<Exchange> exchange);

  ServerOptions options;
  Guard guard;
  std::optional<StaticFiles> files = {};
  std::atomic<Service*> ready{nullptr};
  std::atomic<Models*> many{nullptr};
  // Destroyed from the last: nothing may outlive what it posts to.
  std::unique_ptr<HttpServer> http = {};
  std::unique_ptr<Service> service = {};
  std::unique_ptr<Models> models = {};
  std::unique_ptr<Worker> worker = {};
  std::thread thread = {};
};

void Server::Impl::Handle(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  exchange->AddHeader("X-Request-Id", NewRequestId());
  for (auto& [name, value] : guard.CorsHeaders(request)) {
    exchange->AddHeader(std::move(name), std::move(value));
  }
  if (auto refused = guard.CheckOrigin(request)) return exchange->Reply(*std::move(refused));
  if (request.method == "OPTIONS") return exchange->Reply({.body = {}});
  const EndpointMatch match = FindEndpoint(request);
  if (match.allowed.empty() && ServeFile(match.endpoint, request, exchange)) return;
  if (match.endpoint == nullptr || !match.endpoint->is_public) {
    if (auto refused = guard.CheckKey(request)) return exchange->Reply(*std::move(refused));
  }
  Models* const from = many.load();
  if (from != nullptr && IsModelCommand(request)) return RunModelCommand(from, request, exchange);
  if (match.endpoint == nullptr) return exchange->Reply(NoEndpointReply(request, match));
  const Endpoint& endpoint = *match.endpoint;
  if (from != nullptr) return HandleMany(from, endpoint, std::move(request), std::move(exchange));
  if (ready.load() == nullptr) {
    HttpReply reply = ErrorReply(endpoint.style, 503, "Loading model");
    reply.headers.emplace_back("Retry-After", "1");
    return exchange->Reply(std::move(reply));
  }
  if (endpoint.quick != nullptr) return RunQuick(ready.load(), endpoint, request, exchange);
  Run(ready.load(), endpoint, std::make_shared<HttpRequest>(std::move(request)),
      std::move(exchange));
}

bool Server::Impl::ServeFile(const Endpoint* endpoint, const HttpRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const bool page = endpoint != nullptr && endpoint->page != nullptr;
  if (!page && (endpoint != nullptr || !files)) return false;
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (!files) {
    exchange->Reply(options.page ? endpoint->page() : NoEndpointReply(request, {}));
    return true;
  }
  const std::string known(request.Header("if-none-match"));
  worker->Post([this, exchange, path = request.path, known] {
    if (!exchange->gone().load()) exchange->Reply(files->Reply(path, known));
  });
  return true;
}

void Server::Impl::RunQuick(Service* to, const Endpoint& endpoint, const HttpRequest& request,
                            const std::shared_ptr<Exchange>& exchange) const {
  const QuickContext context{.service = to,
                             .request = request,
                             .http = http->stats(),
                             .metrics = options.metrics,
                             .slots = options.slots};
  exchange->Reply(endpoint.quick(context));
}

void Server::Impl::Run(Service* to, const Endpoint& endpoint,
                       const std::shared_ptr<HttpRequest>& request,
                       std::shared_ptr<Exchange> exchange) {
  worker->Post([to, &endpoint, request, exchange = std::move(exchange)] {
    if (exchange->gone().load()) return;
    const Result<void> done = endpoint.run(to, *request, exchange);
    if (!done.has_value()) exchange->Reply(ErrorReply(endpoint.style, done.error()));
  });
}

void Server::Impl::HandleMany(Models* from, const Endpoint& endpoint, HttpRequest request,
                              std::shared_ptr<Exchange> exchange) {
  if (request.method != "POST") {
    if (auto reply = AllModelsReply(*from, request, http->stats())) {
      return exchange->Reply(*std::move(reply));
    }
  }
  const auto shared = std::make_shared<HttpRequest>(std::move(request));
  worker->Post([this, from, &endpoint, shared, exchange = std::move(exchange)] {
    if (exchange->gone().load()) return;
    const auto name = ModelOfRequest(*from, *shared);
    if (!name) return exchange->Reply(ErrorReply(endpoint.style, name.error()));
    from->Use(*name, {exchange, &exchange->gone()},
              [this, &endpoint, shared, exchange](Result<Models::Lease> lease) {
                if (!lease.has_value()) {
                  return exchange->Reply(ErrorReply(endpoint.style, lease.error()));
                }
                Service* const to = lease->get();
                exchange->Keep(*std::move(lease));
                if (endpoint.quick != nullptr) return RunQuick(to, endpoint, *shared, exchange);
                Run(to, endpoint, shared, exchange);
              });
  });
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (!impl->options.folder.empty()) {
    impl->files = BITTERN_TRY(StaticFiles::Open(impl->options.folder));
  }
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
  if (impl_->models) impl_->models->Stop();  // it posts to the worker
}

void Server::SetService(std::unique_ptr<Service> service) {
  impl_->service = std::move(service);
  impl_->ready.store(impl_->service.get());
}

void Server::SetModels(std::unique_ptr<Models> models) {
  impl_->models = std::move(models);
  impl_->many.store(impl_->models.get());
}

void Server::Handle(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  impl_->Handle(std::move(request), std::move(exchange));
}

void Server::Drain() { impl_->http->Drain(); }
void Server::Stop() { impl_->http->Stop(); }

void Server::Wait() {
  if (impl_->thread.joinable()) impl_->thread.join();
}

int Server::port() const noexcept { return impl_->http->port(); }

}  // namespace bittern::serve
