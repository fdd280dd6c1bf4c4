// SPDX-License-Identifier: Apache-2.0
// Quick endpoints answer on the thread of the sockets. Two threads read all other requests. One
// takes small bodies. The other takes large bodies and grammars that are to be compiled. So a small
// request never waits for a large one.
#include "serve/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "serve/api/shared/json_text.hpp"
#include "serve/core/guard.hpp"
#include "serve/core/requests.hpp"
#include "serve/core/worker.hpp"
#include "serve/http/http_text.hpp"
#include "serve/http/static_files.hpp"
#include "serve/router.hpp"

namespace bittern::serve {
namespace {

/// Bytes that are parsed, written as a prompt and tokenised within a few milliseconds.
constexpr std::size_t kSmallBody = 64 << 10;

/// True for what may take longer than a few milliseconds before it runs: a large body, and grammars
/// that are to be compiled. The body may not have been parsed yet.
bool IsSlowToRead(const ApiRequest& request) {
  if (request.http.body.size() > kSmallBody) return true;
  constexpr std::string_view kCompiled[] = {"grammar", "regex",  "json_schema",  "response_format",
                                            "tools",   "format", "output_config"};
  const auto is_given = [&](std::string_view key) { return !request.body[key].is_null(); };
  return std::ranges::any_of(kCompiled, is_given) || !request.body["text"]["format"].is_null();
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions made) : options(std::move(made)), guard(options) {}

  void Handle(HttpRequest request, std::shared_ptr<Exchange> exchange);
  /// A part of Handle: the page, or a file of the folder. False: the request asks for neither.
  bool ServeFile(const Endpoint* endpoint, const HttpRequest& request,
                 const std::shared_ptr<Exchange>& exchange);
  /// Chooses the thread for a request: it parses the body, then lets the endpoint answer.
  void Read(std::shared_ptr<ApiRequest> request, std::shared_ptr<Exchange> exchange);
  void Parse(const std::shared_ptr<ApiRequest>& request, const std::shared_ptr<Exchange>& exchange);
  /// Lets the endpoint answer on a thread, unless the client has gone by then.
  void PostRun(Worker* by, Service* to, std::shared_ptr<ApiRequest> request,
               std::shared_ptr<Exchange> exchange);
  [[nodiscard]] Worker* ThreadOf(const ApiRequest& request) const {
    return IsSlowToRead(request) ? slow_reader.get() : reader.get();
  }
  /// Finds the model that a request means, of several.
  void FindModel(Models* from, const std::shared_ptr<ApiRequest>& request,
                 const std::shared_ptr<Exchange>& exchange);
  /// Lets the endpoint answer for the model that was found. By either reader.
  void Run(Service* to, const ApiRequest& request, const std::shared_ptr<Exchange>& exchange) const;
  void RunQuick(Service* to, const Endpoint& endpoint, const HttpRequest& request,
                const std::shared_ptr<Exchange>& exchange) const;
  static void Refuse(const ApiRequest& request, const Error& error,
                     const std::shared_ptr<Exchange>& exchange) {
    exchange->Reply(request.error(ApiErrorOf(error)));
  }

  ServerOptions options;
  Guard guard;
  std::optional<StaticFiles> files = {};
  // Null until the model is there. The owners of both are below.
  std::atomic<Service*> ready{nullptr};
  std::atomic<Models*> many{nullptr};
  // Destroyed from the last: nothing may outlive what it posts to.
  std::unique_ptr<HttpServer> http = {};
  std::unique_ptr<Service> service = {};
  std::unique_ptr<Models> models = {};
  std::unique_ptr<Worker> reader = {}, slow_reader = {};
  std::thread thread = {};
};

/// By the thread of the sockets. Access checks come before anything else is told: first the origin,
/// then the page and files (open to all), then the key.
void Server::Impl::Handle(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  exchange->AddHeader("X-Request-Id", NewId("req-"));
  for (auto& [name, value] : guard.CorsHeaders(request)) {
    exchange->AddHeader(std::move(name), std::move(value));
  }
  Models* const from = many.load();
  const EndpointMatch match = FindEndpoint(request, from != nullptr);
  if (const auto refused = guard.CheckOrigin(request)) {
    return exchange->Reply(match.error(*refused));
  }
  if (request.method == "OPTIONS") return exchange->Reply({.body = {}});
  if (match.allowed.empty() && ServeFile(match.endpoint, request, exchange)) return;
  if (match.endpoint == nullptr || !match.endpoint->is_public) {
    if (const auto refused = guard.CheckKey(request)) return exchange->Reply(match.error(*refused));
  }
  if (match.endpoint == nullptr) return exchange->Reply(NoEndpointReply(request, match));
  const Endpoint& endpoint = *match.endpoint;
  if (from != nullptr) {
    const bool named = !endpoint.needs_no_name && QueryValue(request.query, "model").has_value();
    if (endpoint.lists) {
      return reader->Post([this, from, all = endpoint.all, request = std::move(request),
                           exchange = std::move(exchange)] {
        from->Refresh();
        exchange->Reply(all(*from, request, http->stats()));
      });
    }
    if (endpoint.all != nullptr && !named) {
      return exchange->Reply(endpoint.all(*from, request, http->stats()));
    }
  } else if (ready.load() == nullptr) {
    return exchange->Reply(match.error(
        {.status = 503, .message = "Loading model", .headers = {{"Retry-After", "1"}}}));
  } else if (endpoint.quick != nullptr) {
    return RunQuick(ready.load(), endpoint, request, exchange);
  }
  Read(std::make_shared<ApiRequest>(
           ApiRequest{.http = std::move(request), .endpoint = &endpoint, .error = match.error}),
       std::move(exchange));
}

/// A body that its endpoint reads itself is parsed here too where several models are served, but
/// only for the model's name.
void Server::Impl::Read(std::shared_ptr<ApiRequest> request, std::shared_ptr<Exchange> exchange) {
  Worker* const to = ThreadOf(*request);
  to->Post([this, request = std::move(request), exchange = std::move(exchange)] {
    if (!exchange->gone().load()) Parse(request, exchange);
  });
}

void Server::Impl::Parse(const std::shared_ptr<ApiRequest>& request,
                         const std::shared_ptr<Exchange>& exchange) {
  const bool was_slow = IsSlowToRead(*request);
  const bool has_body = request->http.method == "POST";
  if (has_body && !request->endpoint->raw_body) {
    auto body = ParseBody(request->http.body);
    if (!body.has_value()) return Refuse(*request, body.error(), exchange);
    request->body = *std::move(body);
  } else if (has_body && many.load() != nullptr) {
    request->body = ParseBody(request->http.body).value_or(Json());  // may name the model
  }
  if (Models* const from = many.load()) return FindModel(from, request, exchange);
  if (was_slow || !IsSlowToRead(*request)) return Run(ready.load(), *request, exchange);
  PostRun(slow_reader.get(), ready.load(), request, exchange);
}

void Server::Impl::PostRun(Worker* by, Service* to, std::shared_ptr<ApiRequest> request,
                           std::shared_ptr<Exchange> exchange) {
  by->Post([this, to, request = std::move(request), exchange = std::move(exchange)] {
    if (!exchange->gone().load()) Run(to, *request, exchange);
  });
}

/// Files are read by the reader, since a disk may be slow. Only GET and HEAD ask for files.
bool Server::Impl::ServeFile(const Endpoint* endpoint, const HttpRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const bool page = endpoint != nullptr && endpoint->page != nullptr;
  if (!page && (endpoint != nullptr || !files)) return false;
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (!files) {
    exchange->Reply(options.page ? endpoint->page()
                                 : NoEndpointReply(request, {.error = ErrorShapeOf(request.path)}));
    return true;
  }
  const std::string known(request.Header("if-none-match"));
  reader->Post([this, exchange, path = request.path, known] {
    if (!exchange->gone().load()) exchange->Reply(files->Reply(path, known));
  });
  return true;
}

/// Answers from figures that are at hand. By either thread.
void Server::Impl::RunQuick(Service* to, const Endpoint& endpoint, const HttpRequest& request,
                            const std::shared_ptr<Exchange>& exchange) const {
  const QuickContext context{.service = to,
                             .request = request,
                             .http = http->stats(),
                             .metrics = options.metrics,
                             .slots = options.slots};
  exchange->Reply(endpoint.quick(context));
}

void Server::Impl::Run(Service* to, const ApiRequest& request,
                       const std::shared_ptr<Exchange>& exchange) const {
  const Endpoint& endpoint = *request.endpoint;
  if (endpoint.quick != nullptr) return RunQuick(to, endpoint, request.http, exchange);
  const Result<void> done = endpoint.run(to, request, exchange);
  if (!done.has_value()) Refuse(request, done.error(), exchange);
}

/// A command is for the set of models. A GET is answered by what is loaded: any web page can make a
/// browser send one, and must not move models. Other requests wait for a lease, which the exchange
/// keeps until its answer is made, and run on a reader's thread then.
void Server::Impl::FindModel(Models* from, const std::shared_ptr<ApiRequest>& request,
                             const std::shared_ptr<Exchange>& exchange) {
  from->Refresh();
  const auto name = ModelOfRequest(*from, *request);
  if (!name) return Refuse(*request, name.error(), exchange);
  if (request->endpoint->command != nullptr) {
    const Result<void> done = request->endpoint->command(from, *name, exchange);
    if (!done.has_value()) Refuse(*request, done.error(), exchange);
    return;
  }
  if (request->http.method != "POST") {
    auto lease = from->UseLoaded(*name);
    if (!lease.has_value()) return Refuse(*request, lease.error(), exchange);
    Service* const to = lease->get();
    exchange->Keep(*std::move(lease));
    return Run(to, *request, exchange);
  }
  from->Use(*name, {exchange, &exchange->gone()},
            [this, request, exchange](Result<Models::Lease> lease) {
              if (!lease.has_value()) return Refuse(*request, lease.error(), exchange);
              Service* const to = lease->get();
              exchange->Keep(*std::move(lease));
              PostRun(ThreadOf(*request), to, request, exchange);
            });
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

/// The readers are there before the sockets' thread starts, since the first request needs it.
Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (!impl->options.folder.empty()) {
    impl->files = BITTERN_TRY(StaticFiles::Open(impl->options.folder));
  }
  HttpServerOptions http = impl->options.http;
  http.refusal = [](std::string_view path, int status, std::string_view why) {
    return ErrorShapeOf(path)({.status = status, .message = std::string(why)});
  };
  impl->http = BITTERN_TRY(HttpServer::Listen(
      http, [self = impl.get()](HttpRequest request, std::shared_ptr<Exchange> exchange) {
        self->Handle(std::move(request), std::move(exchange));
      }));
  impl->reader = std::make_unique<Worker>();
  impl->slow_reader = std::make_unique<Worker>();
  impl->thread = std::thread([self = impl.get()] { self->http->Run(); });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

/// The sockets end first. Then the members go, the readers before the models and the service.
Server::~Server() {
  Stop();
  Wait();
  if (impl_->models) impl_->models->Stop();  // it posts to the readers
  impl_->reader->Stop();                     // it posts to the slow one
}

/// The pointer is stored last: the thread of the sockets reads it without a lock.
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
