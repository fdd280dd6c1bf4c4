// SPDX-License-Identifier: Apache-2.0
// Inside of HttpServer: its state and its connections. Included by the two sources behind
// http_server.hpp alone.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "serve/http/http_server.hpp"
#include "serve/http/request_reader.hpp"
#include "serve/http/transport.hpp"

namespace bittern::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

class HttpConnection;

/// The listening socket, its timers and its connections. Run's thread alone uses them, except for
/// `open` and `accepted`.
struct HttpServer::Impl {
  Impl(const HttpServerOptions& made, Handler handle) : options(made), handler(std::move(handle)) {}

  /// Waits for the next connection.
  void Accept();
  void OnAccept(const error_code& error, tcp::socket socket);
  /// Starts a connection, or turns it away.
  void Take(tcp::socket socket);
  /// The idle connection that others need most: the address with the most connections has it, and
  /// it was idle longest. Null: none is idle.
  [[nodiscard]] HttpConnection* Spare() const;
  void Remove(const std::shared_ptr<HttpConnection>& connection);
  /// Calls OnTick of all connections, and itself again after kTick.
  void Tick();
  void EndIfDrained();

  HttpServerOptions options;
  Handler handler;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context}, retry{context};
  std::set<std::shared_ptr<HttpConnection>> connections = {};
  std::unordered_map<std::string, std::size_t> of_peer = {};  // connections of an address
  std::size_t held = 0;         // bytes of all connections: HttpServerOptions::max_held_bytes
  std::size_t turned_away = 0;  // of `connections`, those that get 503
  std::atomic<std::uint64_t> open{0}, accepted{0};
  bool draining = false, accepting = false;
  int port = 0;
};

/// One connection. All members run on the thread of Run.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpServer::Impl* server, tcp::socket socket) : server_(server) {
    error_code error;
    const auto peer = socket.remote_endpoint(error);
    if (!error) peer_ = peer.address().to_string();
    (void)socket.set_option(tcp::no_delay(true), error);
    transport_ = server->options.tls ? TlsTransportOf(server->options.tls, std::move(socket))
                                     : std::make_unique<PlainTransport>(std::move(socket));
    NewRequest();
  }

  void Begin();
  /// In place of Begin: answers 503 and closes.
  void TurnAway();
  void Close();
  /// Closes what has waited too long; sends pings.
  void OnTick(Clock::time_point now);
  [[nodiscard]] bool idle() const {
    return state_ == State::kReading && !began_ && !writing_ && !turned_away_;
  }
  [[nodiscard]] Clock::time_point idle_since() const { return idle_since_; }
  [[nodiscard]] bool turned_away() const { return turned_away_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  asio::io_context& context() { return server_->context; }

  // By an exchange, posted to this thread; `number` tells the exchange.
  void Reply(std::uint64_t number, const HttpReply& reply);
  void Begin(std::uint64_t number, const std::string& content_type, std::string ping);
  void Piece(std::uint64_t number, std::string_view piece);
  void End(std::uint64_t number);
  void Abandon(std::uint64_t number);
  void AddHeader(std::uint64_t number, std::string name, std::string value);
  void SetNote(std::uint64_t number, std::string note);
  void SetUsage(std::uint64_t number, RequestUsage usage);

 private:
  /// kReading: a request is being read, or none has come yet. kAnswering: the handler has it.
  /// kLingering: the answer is out, and what the client still sends is dropped.
  enum class State { kReading, kAnswering, kLingering, kClosed };

  void Read();
  void NewRequest();
  void OnRead(const error_code& error, std::size_t size);
  void Parse();
  void Dispatch();
  void Refuse(int status, std::string_view why);
  void Send(std::string bytes);
  void Flush();
  void OnWritten(const error_code& error);
  void FinishAnswer();
  void Gone();
  void Record(bool gone);
  /// Counts the bytes that the connection holds now. False: it holds much, and all hold too much.
  [[nodiscard]] bool CountHeld();
  void SetDeadline(int seconds) { deadline_ = Clock::now() + std::chrono::seconds(seconds); }
  [[nodiscard]] std::string Head(int status, const std::string& content_type);
  [[nodiscard]] bool Answers(std::uint64_t number) const {
    return state_ == State::kAnswering && number == number_ && !ending_;
  }

  HttpServer::Impl* server_;
  std::unique_ptr<Transport> transport_;
  std::string peer_;
  State state_ = State::kReading;
  std::array<char, 8 << 10> scratch_;
  std::string buffer_;
  std::optional<RequestReader> reader_;
  // A read is under way; a byte of the request has come; "Expect: 100-continue" was looked for.
  bool reading_ = false, began_ = false, continued_ = false;
  bool turned_away_ = false;
  std::size_t lingered_ = 0;
  // Bytes of the request that is being answered, of what is to be sent, and both as counted.
  std::size_t request_bytes_ = 0, unsent_ = 0, held_ = 0;
  Clock::time_point deadline_ = {}, idle_since_ = {};

  // The answer. number_ counts the requests: an exchange with another number is an old one and is
  // not heard.
  std::uint64_t number_ = 0;
  std::weak_ptr<Exchange> exchange_;
  // Bytes to send next, and bytes that the transport is sending.
  std::deque<std::string> out_ = {}, sending_ = {};
  bool writing_ = false, ending_ = false, keep_alive_ = true, chunked_ = false, is_head_ = false;
  bool streaming_ = false, is_old_ = false;
  std::string ping_ = {};
  Clock::time_point last_sent_ = {}, started_ = {};
  HttpHeaders headers_ = {};
  AccessRecord record_ = {};
};

}  // namespace bittern::serve
