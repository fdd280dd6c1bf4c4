// SPDX-License-Identifier: Apache-2.0
// Sockets and time are Boost.Asio's. One timer of the server looks after the deadlines of all
// connections. Every connection is taken: where there are as many as may be, an idle one goes for
// it, or it gets 503.
#include "serve/http/http_server.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>

#include "serve/http/http_connection.hpp"

namespace bittern::serve {

namespace {
constexpr std::size_t kMostTurnedAway = 64;             // that get their 503 at the same time
constexpr auto kTick = std::chrono::milliseconds(250);  // how often deadlines are looked at
}  // namespace

void HttpServer::Impl::Accept() {
  if (draining || accepting) return;
  accepting = true;
  acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
    accepting = false;
    OnAccept(error, std::move(socket));
  });
}

/// An error here is not the end of the server: no descriptor may be left, or the client gave up. It
/// accepts again, 50 ms later where no idle connection can go.
void HttpServer::Impl::OnAccept(const error_code& error, tcp::socket socket) {
  if (draining) return;
  if (!error) {
    Take(std::move(socket));
    return Accept();
  }
  HttpConnection* const spare = error == asio::error::no_descriptors ? Spare() : nullptr;
  if (spare != nullptr) {
    spare->Close();
    return Accept();
  }
  retry.expires_after(std::chrono::milliseconds(50));
  accepting = true;
  retry.async_wait([this](const error_code&) {
    accepting = false;
    Accept();
  });
}

/// One beyond those that are turned away just now is closed.
void HttpServer::Impl::Take(tcp::socket socket) {
  const auto most = static_cast<std::size_t>(options.max_connections);
  const auto is_full = [&] { return connections.size() - turned_away >= most; };
  if (is_full()) {
    if (HttpConnection* const spare = Spare()) spare->Close();
  }
  const bool away = is_full();
  if (away && turned_away >= kMostTurnedAway) return;
  const auto connection = std::make_shared<HttpConnection>(this, std::move(socket));
  connections.insert(connection);
  ++of_peer[connection->peer()];
  open.store(connections.size());
  accepted.fetch_add(1);
  if (!away) return connection->Begin();
  ++turned_away;
  connection->TurnAway();
}

HttpConnection* HttpServer::Impl::Spare() const {
  HttpConnection* spare = nullptr;
  std::size_t most = 0;
  for (const auto& connection : connections) {
    if (!connection->idle()) continue;
    const std::size_t count = of_peer.at(connection->peer());
    if (count < most || (count == most && connection->idle_since() >= spare->idle_since())) {
      continue;
    }
    spare = connection.get();
    most = count;
  }
  return spare;
}

void HttpServer::Impl::Remove(const std::shared_ptr<HttpConnection>& connection) {
  if (connections.erase(connection) == 0) return;
  const auto count = of_peer.find(connection->peer());
  if (--count->second == 0) of_peer.erase(count);
  if (connection->turned_away()) --turned_away;
  open.store(connections.size());
}

/// The list is copied, since OnTick may close a connection.
void HttpServer::Impl::Tick() {
  const Clock::time_point now = Clock::now();
  const std::vector<std::shared_ptr<HttpConnection>> all(connections.begin(), connections.end());
  for (const auto& connection : all) connection->OnTick(now);
  timer.expires_after(kTick);
  timer.async_wait([this](const error_code& error) {
    if (!error) Tick();
  });
}

/// Ends Run once the last answer of a draining server is out.
void HttpServer::Impl::EndIfDrained() {
  if (draining && connections.empty()) context.stop();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

/// Run has returned. Connections go before the context that their sockets belong to.
HttpServer::~HttpServer() {
  const auto connections = std::move(impl_->connections);
  impl_->connections.clear();
  impl_->draining = true;
  for (const auto& connection : connections) connection->Close();
}

/// No names are resolved: "localhost" is 127.0.0.1. SO_REUSEADDR lets a new server take the port
/// while connections of the last one are still in TIME_WAIT.
Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const HttpServerOptions& options,
                                                       Handler handler) {
  error_code error;
  const auto address =
      asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
  if (error) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("host: an IP address or localhost expected, \"{}\" found", options.host));
  }
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
  tcp::acceptor& acceptor = impl->acceptor;
  (void)acceptor.open(endpoint.protocol(), error);
  if (!error) (void)acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) (void)acceptor.bind(endpoint, error);
  if (!error) (void)acceptor.listen(1024, error);
  if (error) {
    return Fail(ErrorCode::kIo, fmt::format("cannot listen at {} port {}: {}", options.host,
                                            options.port, error.message()));
  }
  impl->port = acceptor.local_endpoint(error).port();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::Run() {
  impl_->Accept();
  impl_->Tick();
  impl_->context.run();
}

/// Idle connections are closed now, the others after their answers.
void HttpServer::Drain() {
  asio::post(impl_->context, [impl = impl_.get()] {
    impl->draining = true;
    error_code error;
    (void)impl->acceptor.close(error);
    const std::vector<std::shared_ptr<HttpConnection>> all(impl->connections.begin(),
                                                           impl->connections.end());
    for (const auto& connection : all) {
      if (connection->idle()) connection->Close();
    }
    impl->EndIfDrained();
  });
}

void HttpServer::Stop() { impl_->context.stop(); }
int HttpServer::port() const noexcept { return impl_->port; }
HttpStats HttpServer::stats() const noexcept {
  return {.connections = impl_->open.load(), .accepted = impl_->accepted.load()};
}

}  // namespace bittern::serve
