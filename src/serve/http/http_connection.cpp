// SPDX-License-Identifier: Apache-2.0
// A connection reads all the time, also while its request is being answered: that is how a client
// that went away is noticed.
#include "serve/http/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include "serve/http/http_text.hpp"

namespace bittern::serve {

namespace {
// Limits of a connection.
constexpr std::size_t kMostAhead = 64 << 10;     // read of the next request during an answer
constexpr std::size_t kMostLingered = 64 << 20;  // of a refused request, read and dropped
constexpr int kLingerSeconds = 5;
}  // namespace

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
  /// At once where this is the thread of the sockets: what that thread posts to itself may be
  /// overtaken by an answer that another thread posts, which would then miss its headers.
  void AddHeader(std::string name, std::string value) override {
    asio::dispatch(connection_->context(),
                   [to = connection_, number = number_, name = std::move(name),
                    value = std::move(value)] { to->AddHeader(number, name, value); });
  }
  void SetNote(std::string note) override {
    Post([note = std::move(note)](auto& to, auto number) { to.SetNote(number, note); });
  }
  void SetUsage(RequestUsage usage) override {
    Post([usage = std::move(usage)](auto& to, auto number) { to.SetUsage(number, usage); });
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

bool HttpConnection::CountHeld() {
  constexpr std::size_t kMuch = 64 << 10;
  const bool closed = state_ == State::kClosed;
  const std::size_t now = closed ? 0 : std::max(request_bytes_, reader_->body().size()) + unsent_;
  server_->held += now - std::exchange(held_, now);
  return held_ <= kMuch || server_->held <= server_->options.max_held_bytes;
}

/// Makes ready for a request. A reader reads one message only.
void HttpConnection::NewRequest() {
  reader_.emplace(server_->options.max_header_bytes, server_->options.max_body_bytes);
  state_ = State::kReading;
  began_ = continued_ = ending_ = streaming_ = chunked_ = false;
  request_bytes_ = 0;
  headers_.clear();
  idle_since_ = Clock::now();
  SetDeadline(server_->options.idle_s);
}

/// The handshake of TLS has the deadline of a request, and so has the first byte of the first one.
void HttpConnection::Begin() {
  SetDeadline(server_->options.timeout_s);
  transport_->Begin([self = shared_from_this()](const error_code& error) {
    if (error) return self->Close();
    const HttpServerOptions& options = self->server_->options;
    self->SetDeadline(std::min(options.idle_s, options.timeout_s));
    self->Read();
  });
}

void HttpConnection::TurnAway() {
  turned_away_ = true;
  SetDeadline(kLingerSeconds);
  transport_->Begin([self = shared_from_this()](const error_code& error) {
    if (error) return self->Close();
    self->headers_.emplace_back("Retry-After", "1");
    self->Refuse(503, "the server has as many connections as it may have; try again later");
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
  if (state_ != State::kReading || buffer_.empty()) return;
  buffer_.erase(0, reader_->Put(buffer_));
  if (!began_ && reader_->began()) {
    began_ = true;
    SetDeadline(server_->options.timeout_s);
  }
  if (const HeadCheck& refusal = reader_->refusal()) return Refuse(refusal->status, refusal->why);
  if (!CountHeld()) {
    headers_.emplace_back("Retry-After", "1");
    return Refuse(503, "the server holds as many bytes of requests as it may; try again later");
  }
  if (reader_->done()) return Dispatch();
  if (reader_->waits() && !continued_) {
    continued_ = true;
    Send("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

/// A request that cannot be read: answers, then closes.
void HttpConnection::Refuse(int status, std::string_view why) {
  const RequestHead& head = reader_->head();
  const std::string path = head.target.substr(0, head.target.find('?'));
  state_ = State::kAnswering;
  ++number_;
  exchange_.reset();
  keep_alive_ = false;
  started_ = Clock::now();
  is_old_ = head.is_old;
  is_head_ = head.method == "HEAD";
  std::string().swap(reader_->body());
  record_ = {.peer = peer_,
             .method = head.target.empty() ? "-" : head.method,
             .path = path.empty() ? "-" : path};
  const auto& shape = server_->options.refusal;
  Reply(number_, shape ? shape(path, status, why)
                       : HttpReply{.status = status, .body = ErrorBody(status, why)});
}

/// Hands a whole request to the handler. HTTP/1.0 knows no chunks; HEAD gets no body.
void HttpConnection::Dispatch() {
  RequestHead& head = reader_->head();
  request_bytes_ = reader_->body().size();
  HttpRequest request{.method = std::move(head.method),
                      .path = std::move(head.target),
                      .query = {},
                      .headers = std::move(head.headers),
                      .body = std::move(reader_->body()),
                      .peer = peer_};
  if (const auto mark = request.path.find('?'); mark != std::string::npos) {
    request.query = request.path.substr(mark + 1);
    request.path.resize(mark);
  }
  is_old_ = head.is_old;
  is_head_ = request.method == "HEAD";
  keep_alive_ = head.keep_alive && !server_->draining;
  record_ = {.peer = peer_, .method = request.method, .path = request.path};
  state_ = State::kAnswering;
  started_ = last_sent_ = Clock::now();
  auto exchange =
      std::make_shared<Exchange>(std::make_unique<ConnectionSink>(shared_from_this(), ++number_));
  exchange_ = exchange;
  server_->handler(std::move(request), std::move(exchange));
}

/// The status line and the headers that every answer has, without the empty line at the end. A
/// client of HTTP/1.0 must be told that the connection stays (RFC 9112 section 9.3).
std::string HttpConnection::Head(int status, const std::string& content_type) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: bittern\r\nDate: {}\r\n", status,
                                 StatusText(status), HttpDate(std::time(nullptr)));
  if (!content_type.empty()) head += fmt::format("Content-Type: {}\r\n", content_type);
  for (const auto& [name, value] : headers_) head += fmt::format("{}: {}\r\n", name, value);
  if (!keep_alive_) head += "Connection: close\r\n";
  if (keep_alive_ && is_old_) head += "Connection: keep-alive\r\n";
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
  if (!Answers(number)) return;
  if (name == "X-Request-Id") record_.id = value;
  headers_.emplace_back(std::move(name), std::move(value));
}

void HttpConnection::SetNote(std::uint64_t number, std::string note) {
  if (number == number_) record_.note = std::move(note);
}

void HttpConnection::SetUsage(std::uint64_t number, RequestUsage usage) {
  if (number == number_) record_.usage = std::move(usage);
}

/// Queues bytes. While a write is under way they wait, and go out together in the next one.
void HttpConnection::Send(std::string bytes) {
  unsent_ += bytes.size();
  if (!CountHeld()) return Gone();
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
  for (const std::string& bytes : std::exchange(sending_, {})) unsent_ -= bytes.size();
  (void)CountHeld();
  if (state_ == State::kClosed) return;
  if (error) return Gone();
  Flush();
}

void HttpConnection::Record(bool gone) {
  record_.gone = gone;
  record_.time = std::chrono::system_clock::now();
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

/// May end a draining server. `self` keeps this alive until then.
void HttpConnection::Close() {
  if (state_ == State::kClosed) return;
  if (const auto exchange = exchange_.lock()) exchange->SetGone();
  state_ = State::kClosed;
  (void)CountHeld();
  transport_->Close();
  const auto self = shared_from_this();
  server_->Remove(self);
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

}  // namespace bittern::serve
