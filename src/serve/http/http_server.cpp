// SPDX-License-Identifier: Apache-2.0
// Requests are parsed by Boost.Beast, sockets and time are Boost.Asio's. A connection reads all the
// time, also while its request is being answered: that is how a client that went away is noticed.
// One timer of the server looks after the deadlines of all connections.
#include "serve/http/http_server.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <set>

#include "serve/http/http_text.hpp"
#include "serve/http/transport.hpp"

namespace bittern::serve {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {
// Limits of a connection. kTick is how often deadlines are looked at.
constexpr std::size_t kReadBytes = 8 << 10;
constexpr std::size_t kMostAhead = 64 << 10;     // read of the next request during an answer
constexpr std::size_t kMostLingered = 64 << 20;  // of a refused request, read and dropped
constexpr int kLingerSeconds = 5;
constexpr auto kTick = std::chrono::milliseconds(250);
}  // namespace

class HttpConnection;

/// The listening socket, its timers and its connections. Run's thread alone uses them, except for
/// `open` and `accepted`.
struct HttpServer::Impl {
  Impl(const HttpServerOptions& made, Handler handle) : options(made), handler(std::move(handle)) {}

  /// Waits for the next connection, unless there are as many as may be.
  void Accept();
  void OnAccept(const error_code& error, tcp::socket socket);
  /// Calls OnTick of all connections, and itself again after kTick.
  void Tick();
  void EndIfDrained();

  HttpServerOptions options;
  Handler handler;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context}, retry{context};
  std::set<std::shared_ptr<HttpConnection>> connections = {};
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
  void Close();
  /// Closes what has waited too long; sends pings.
  void OnTick(Clock::time_point now);
  [[nodiscard]] bool idle() const { return state_ == State::kReading && !began_ && !writing_; }
  asio::io_context& context() { return server_->context; }

  // By an exchange, posted to this thread; `number` tells the exchange.
  void Reply(std::uint64_t number, const HttpReply& reply);
  void Begin(std::uint64_t number, const std::string& content_type, std::string ping);
  void Piece(std::uint64_t number, std::string_view piece);
  void End(std::uint64_t number);
  void Abandon(std::uint64_t number);
  void AddHeader(std::uint64_t number, std::string name, std::string value);
  void SetNote(std::uint64_t number, std::string note);

 private:
  /// kReading: a request is being read, or none has come yet. kAnswering: the handler has it.
  /// kLingering: the answer is out, and what the client still sends is dropped.
  enum class State { kReading, kAnswering, kLingering, kClosed };
  using Parser = http::request_parser<http::string_body>;

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
  void SetDeadline(int seconds) { deadline_ = Clock::now() + std::chrono::seconds(seconds); }
  [[nodiscard]] std::string Head(int status, const std::string& content_type);
  [[nodiscard]] bool Answers(std::uint64_t number) const {
    return state_ == State::kAnswering && number == number_ && !ending_;
  }

  HttpServer::Impl* server_;
  std::unique_ptr<Transport> transport_;
  std::string peer_;
  State state_ = State::kReading;
  std::array<char, kReadBytes> scratch_;
  std::string buffer_;
  std::optional<Parser> parser_;
  // A read is under way; a byte of the request has come; "Expect: 100-continue" was looked for.
  bool reading_ = false, began_ = false, continued_ = false;
  std::size_t lingered_ = 0;
  Clock::time_point deadline_ = {};

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

/// Brings the answer of one request to the connection's thread.
class ConnectionSink final : public AnswerSink {
 public:
  /// `number` tells the requests of a connection apart.
  ConnectionSink(std::shared_ptr<HttpConnection> connection, std::uint64_t number)
      : connection_(std::move(connection)), number_(number) {}

  void Reply(HttpReply reply) override {
    Post([reply = std::move(reply)](auto& to, auto number) { to.Reply(number, reply); });
  }
  void Begin(std::string content_type, std::string ping) override {
    Post([type = std::move(content_type), ping = std::move(ping)](auto& to, auto number) {
      to.Begin(number, type, ping);
    });
  }
  void Write(std::string piece) override {
    Post([piece = std::move(piece)](auto& to, auto number) { to.Piece(number, piece); });
  }
  void End() override {
    Post([](auto& to, auto number) { to.End(number); });
  }
  void Abandon() override {
    Post([](auto& to, auto number) { to.Abandon(number); });
  }
  void AddHeader(std::string name, std::string value) override {
    Post([name = std::move(name), value = std::move(value)](auto& to, auto number) {
      to.AddHeader(number, name, value);
    });
  }
  void SetNote(std::string note) override {
    Post([note = std::move(note)](auto& to, auto number) { to.SetNote(number, note); });
  }

 private:
  template <class Task>
  void Post(Task task) {
    asio::post(connection_->context(),
               [to = connection_, number = number_, task = std::move(task)] { task(*to, number); });
  }

  std::shared_ptr<HttpConnection> connection_;
  std::uint64_t number_;
};

/// Makes ready for a request. A parser reads one message only.
void HttpConnection::NewRequest() {
  parser_.emplace();
  // One put() may read head and body.
  parser_->eager(true);
  parser_->header_limit(static_cast<std::uint32_t>(server_->options.max_header_bytes));
  parser_->body_limit(server_->options.max_body_bytes);
  state_ = State::kReading;
  began_ = continued_ = ending_ = streaming_ = chunked_ = false;
  headers_.clear();
  SetDeadline(server_->options.idle_s);
}

/// The handshake of TLS has the deadline of a request.
void HttpConnection::Begin() {
  SetDeadline(server_->options.timeout_s);
  transport_->Begin([self = shared_from_this()](const error_code& error) {
    if (error) return self->Close();
    self->SetDeadline(self->server_->options.idle_s);
    self->Read();
  });
}

/// Goes on reading, unless the client has already sent much of the next request: then TCP makes it
/// wait until the answer is out.
void HttpConnection::Read() {
  if (reading_ || state_ == State::kClosed) return;
  if (state_ == State::kAnswering && buffer_.size() >= kMostAhead) return;
  reading_ = true;
  transport_->Read(asio::buffer(scratch_),
                   [self = shared_from_this()](const error_code& error, std::size_t size) {
                     self->OnRead(error, size);
                   });
}

/// An error or the end of the stream means that the client went away, also during an answer.
void HttpConnection::OnRead(const error_code& error, std::size_t size) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) return Gone();
  if (state_ == State::kLingering) {
    lingered_ += size;
    if (lingered_ > kMostLingered) return Close();
  } else {
    buffer_.append(scratch_.data(), size);
    if (state_ == State::kReading) Parse();
  }
  Read();
}

/// Parses what has been read, up to the end of the request. Requests sent ahead (pipelining, RFC
/// 9112 section 9.3.2) stay in buffer_ until the answer is out.
void HttpConnection::Parse() {
  while (state_ == State::kReading && !buffer_.empty()) {
    if (!began_) {
      began_ = true;
      SetDeadline(server_->options.timeout_s);
    }
    error_code error;
    const std::size_t used = parser_->put(asio::buffer(buffer_), error);
    buffer_.erase(0, used);
    if (error == http::error::body_limit) {
      return Refuse(413, fmt::format("the body of a request may have {} bytes at most",
                                     server_->options.max_body_bytes));
    }
    if (error == http::error::header_limit) {
      return Refuse(431, fmt::format("the head of a request may have {} bytes at most",
                                     server_->options.max_header_bytes));
    }
    if (error && error != http::error::need_more) {
      return Refuse(400, "this is not HTTP/1.1: " + error.message());
    }
    if (parser_->is_done()) return Dispatch();
    if (parser_->is_header_done() && !continued_) {
      continued_ = true;
      const auto expect = parser_->get()[http::field::expect];
      if (IsToken(std::string_view(expect.data(), expect.size()), "100-continue")) {
        Send("HTTP/1.1 100 Continue\r\n\r\n");
      }
    }
    // More bytes are needed; what is in buffer_ stays there.
    if (error || used == 0) return;
  }
}

/// A request that cannot be read: answers, then closes.
void HttpConnection::Refuse(int status, std::string_view why) {
  state_ = State::kAnswering;
  ++number_;
  exchange_.reset();
  keep_alive_ = false;
  started_ = Clock::now();
  is_head_ = is_old_ = false;
  record_ = {.peer = peer_, .method = "-", .path = "-"};
  Reply(number_, {.status = status, .body = ErrorBody(status, why)});
}

/// Hands a whole request to the handler. HTTP/1.0 knows no chunks; HEAD gets no body.
void HttpConnection::Dispatch() {
  auto message = parser_->release();
  HttpRequest request{.method = std::string(message.method_string()),
                      .path = std::string(message.target()),
                      .query = {},
                      .headers = {},
                      .body = std::move(message.body()),
                      .peer = peer_};
  if (const auto mark = request.path.find('?'); mark != std::string::npos) {
    request.query = request.path.substr(mark + 1);
    request.path.resize(mark);
  }
  for (const auto& field : message) {
    request.headers.emplace_back(
        LowerCase({field.name_string().data(), field.name_string().size()}),
        std::string(field.value()));
  }
  is_old_ = message.version() < 11;
  is_head_ = request.method == "HEAD";
  keep_alive_ = message.keep_alive() && !server_->draining;
  record_ = {.peer = peer_, .method = request.method, .path = request.path};
  state_ = State::kAnswering;
  started_ = last_sent_ = Clock::now();
  auto exchange =
      std::make_shared<Exchange>(std::make_unique<ConnectionSink>(shared_from_this(), ++number_));
  exchange_ = exchange;
  server_->handler(std::move(request), std::move(exchange));
}

/// The status line and the headers that every answer has, without the empty line at the end.
std::string HttpConnection::Head(int status, const std::string& content_type) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nServer: bittern\r\n", status, StatusText(status));
  if (!content_type.empty()) head += fmt::format("Content-Type: {}\r\n", content_type);
  for (const auto& [name, value] : headers_) head += fmt::format("{}: {}\r\n", name, value);
  if (!keep_alive_) head += "Connection: close\r\n";
  record_.status = status;
  return head;
}

/// A whole answer. 204 and 304 have no body and no length (RFC 9110 section 8.6).
void HttpConnection::Reply(std::uint64_t number, const HttpReply& reply) {
  if (!Answers(number)) return;
  headers_.insert(headers_.end(), reply.headers.begin(), reply.headers.end());
  const bool bodiless = reply.status == 204 || reply.status == 304;
  std::string bytes = Head(reply.status, bodiless ? std::string() : reply.content_type);
  if (!bodiless) bytes += fmt::format("Content-Length: {}\r\n", reply.body.size());
  bytes += "\r\n";
  if (!is_head_ && !bodiless) bytes += reply.body;
  record_.bytes = reply.body.size();
  ending_ = true;
  Send(std::move(bytes));
}

/// The head of a stream. With HTTP/1.0 the end of the connection is the end of the answer.
/// X-Accel-Buffering tells nginx to pass each piece on at once.
void HttpConnection::Begin(std::uint64_t number, const std::string& content_type,
                           std::string ping) {
  if (!Answers(number)) return;
  chunked_ = !is_old_;
  if (is_old_) keep_alive_ = false;
  std::string head =
      Head(200, content_type) + "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  if (chunked_) head += "Transfer-Encoding: chunked\r\n";
  streaming_ = true;
  ping_ = std::move(ping);
  Send(head + "\r\n");
}

/// One chunk: its size in hexadecimal digits, then the bytes (RFC 9112 section 7.1).
void HttpConnection::Piece(std::uint64_t number, std::string_view piece) {
  if (!Answers(number) || piece.empty() || is_head_) return;
  record_.bytes += piece.size();
  Send(chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::string(piece));
}

/// An empty chunk ends a chunked answer.
void HttpConnection::End(std::uint64_t number) {
  if (!Answers(number)) return;
  ending_ = true;
  Send(chunked_ && !is_head_ ? "0\r\n\r\n" : "");
}

/// An exchange was dropped: a defect, but no client shall wait for ever.
void HttpConnection::Abandon(std::uint64_t number) {
  if (!Answers(number)) return;
  if (streaming_) return Close();
  keep_alive_ = false;
  Reply(number, {.status = 500, .body = ErrorBody(500, "the request was not answered")});
}

void HttpConnection::AddHeader(std::uint64_t number, std::string name, std::string value) {
  if (Answers(number)) headers_.emplace_back(std::move(name), std::move(value));
}

void HttpConnection::SetNote(std::uint64_t number, std::string note) {
  if (number == number_) record_.note = std::move(note);
}

/// Queues bytes. While a write is under way they wait, and go out together in the next one.
void HttpConnection::Send(std::string bytes) {
  if (!bytes.empty()) out_.push_back(std::move(bytes));
  last_sent_ = Clock::now();
  if (!writing_) Flush();
}

/// Writes all that is queued, or ends the answer where nothing is left. The client has timeout_s to
/// take it.
void HttpConnection::Flush() {
  if (out_.empty()) {
    if (ending_) FinishAnswer();
    return;
  }
  writing_ = true;
  SetDeadline(server_->options.timeout_s);
  sending_.clear();
  std::swap(sending_, out_);
  std::vector<asio::const_buffer> buffers;
  for (const std::string& bytes : sending_) buffers.push_back(asio::buffer(bytes));
  transport_->Write(
      buffers, [self = shared_from_this()](const error_code& error) { self->OnWritten(error); });
}

void HttpConnection::OnWritten(const error_code& error) {
  writing_ = false;
  if (state_ == State::kClosed) return;
  if (error) return Gone();
  Flush();
}

void HttpConnection::Record(bool gone) {
  record_.gone = gone;
  record_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  if (server_->options.on_access) server_->options.on_access(record_);
}

/// The answer is out: the next request, or the end of the connection. The end waits until the
/// client has sent what it was sending, or it would not see the answer.
void HttpConnection::FinishAnswer() {
  Record(false);
  if (keep_alive_ && !server_->draining) {
    NewRequest();
    Parse();
    return Read();
  }
  state_ = State::kLingering;
  SetDeadline(kLingerSeconds);
  Read();
  transport_->EndWriting([self = shared_from_this()](const error_code& error) {
    if (error) self->Close();
  });
}

/// The client went away: its sequences stop at their next token, since they look at gone().
void HttpConnection::Gone() {
  if (state_ == State::kAnswering) {
    if (const auto exchange = exchange_.lock()) exchange->SetGone();
    Record(true);
  }
  Close();
}

/// May free the last place of the server, so that it accepts again, or end a draining one. `self`
/// keeps this alive until then.
void HttpConnection::Close() {
  if (state_ == State::kClosed) return;
  if (const auto exchange = exchange_.lock()) exchange->SetGone();
  state_ = State::kClosed;
  transport_->Close();
  const auto self = shared_from_this();
  server_->connections.erase(self);
  server_->open.store(server_->connections.size());
  if (!server_->accepting) server_->Accept();
  server_->EndIfDrained();
}

/// While the model works there is no deadline, but a quiet stream gets a ping. A request that comes
/// too slowly gets 408; a client that takes nothing of its answer is given up.
void HttpConnection::OnTick(Clock::time_point now) {
  const bool waits_for_us = state_ == State::kAnswering && !writing_;
  if (waits_for_us) {
    const auto quiet = std::chrono::seconds(server_->options.ping_s);
    if (streaming_ && !ping_.empty() && !ending_ && now - last_sent_ > quiet) Piece(number_, ping_);
    return;
  }
  if (now < deadline_) return;
  if (state_ == State::kReading && began_) {
    return Refuse(408, "the request took too long to arrive");
  }
  if (state_ == State::kAnswering) return Gone();
  Close();
}

void HttpServer::Impl::Accept() {
  if (draining || accepting) return;
  if (connections.size() >= static_cast<std::size_t>(options.max_connections)) return;
  accepting = true;
  acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
    accepting = false;
    OnAccept(error, std::move(socket));
  });
}

/// An error here is not the end of the server: it accepts again 50 ms later.
void HttpServer::Impl::OnAccept(const error_code& error, tcp::socket socket) {
  if (draining) return;
  if (error) {  // no descriptor left, or the client gave up: later again
    retry.expires_after(std::chrono::milliseconds(50));
    accepting = true;
    retry.async_wait([this](const error_code&) {
      accepting = false;
      Accept();
    });
    return;
  }
  const auto connection = std::make_shared<HttpConnection>(this, std::move(socket));
  connections.insert(connection);
  open.store(connections.size());
  accepted.fetch_add(1);
  connection->Begin();
  Accept();
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
