// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 over TCP: accepts connections, reads whole requests within limits, and sends answers
// whole or in pieces. Boost's headers stay behind this one, since they take seconds to compile. One
// thread runs Run(); everything an Exchange offers may be called by any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace bittern::serve {

class Tls;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;     ///< without the query, as it was sent
  std::string query;    ///< after the '?'
  HttpHeaders headers;  ///< names in lower case, in the order sent
  std::string body;
  std::string peer;  ///< address of the client

  /// The first header of that (lower-case) name; empty if there is none.
  [[nodiscard]] std::string_view Header(std::string_view name) const noexcept;
};

/// A whole answer.
struct HttpReply {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::string body = {};
  HttpHeaders headers = {};
};

/// Tokens that a request took, for the log.
struct RequestUsage {
  std::string model = {};
  int prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
};

/// The record of a request once its answer has been sent.
struct AccessRecord {
  std::string peer, method, path;
  int status = 0;         ///< 0: the client went away before there was one
  std::size_t bytes = 0;  ///< of the answer's body
  double seconds = 0;     ///< from the last byte of the request to the last of the answer
  bool gone = false;      ///< the client went away first
  std::string note = {};  ///< Exchange::SetNote
  std::string id = {};    ///< X-Request-Id of the answer
  std::optional<RequestUsage> usage = {};           ///< Exchange::SetUsage
  std::chrono::system_clock::time_point time = {};  ///< when the answer was out
};

/// Takes what an Exchange is given: a connection, or a test. Any thread.
class AnswerSink {
 public:
  AnswerSink() = default;
  AnswerSink(const AnswerSink&) = delete;
  AnswerSink& operator=(const AnswerSink&) = delete;
  virtual ~AnswerSink() = default;

  virtual void Reply(HttpReply reply) = 0;
  virtual void Begin(std::string content_type, std::string ping) = 0;
  virtual void Write(std::string piece) = 0;
  virtual void End() = 0;
  /// The exchange was destroyed without an answer.
  virtual void Abandon() = 0;
  virtual void AddHeader(std::string name, std::string value) = 0;
  virtual void SetNote(std::string note) = 0;
  virtual void SetUsage(RequestUsage /*usage*/) {}
};

/// One request and its answer: Reply once, or Begin, Write as often as needed, End. What is sent
/// after the client went away is dropped. An exchange that is destroyed without an answer closes
/// the connection.
class Exchange {
 public:
  explicit Exchange(std::unique_ptr<AnswerSink> sink) : sink_(std::move(sink)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    if (!answered_.load()) sink_->Abandon();
  }

  void Reply(HttpReply reply) {
    answered_.store(true);
    sink_->Reply(std::move(reply));
  }
  /// Starts an answer in pieces. `ping`, if not empty, is sent after a while without a piece.
  void Begin(std::string content_type, std::string ping) {
    sink_->Begin(std::move(content_type), std::move(ping));
  }
  void Write(std::string piece) { sink_->Write(std::move(piece)); }
  void End() {
    answered_.store(true);
    sink_->End();
  }

  /// Before the answer begins: a header for it.
  void AddHeader(std::string name, std::string value) {
    sink_->AddHeader(std::move(name), std::move(value));
  }
  /// A few words for the log.
  void SetNote(std::string note) { sink_->SetNote(std::move(note)); }
  /// The model that answers and its tokens, for the log.
  void SetUsage(RequestUsage usage) { sink_->SetUsage(std::move(usage)); }
  /// Held until the exchange is over and its answer made.
  void Keep(std::shared_ptr<const void> held) { held_ = std::move(held); }
  /// True once the client went away, for GenerateOptions::cancel.
  [[nodiscard]] const std::atomic<bool>& gone() const noexcept { return gone_; }
  /// By the maker of the exchange: the client went away.
  void SetGone() noexcept { gone_.store(true); }

 private:
  std::unique_ptr<AnswerSink> sink_;
  std::atomic<bool> gone_{false};
  std::atomic<bool> answered_{false};
  std::shared_ptr<const void> held_ = {};
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  ///< an address, or "localhost"
  int port = 8080;                 ///< 0: any free one
  /// All of a request that is no body: its head, and what stands around chunks.
  std::size_t max_header_bytes = 32 << 10;
  std::size_t max_body_bytes = 16 << 20;
  /// For a client to send a request (from the connection on for the first byte of the first one),
  /// or to take the next part of an answer.
  int timeout_s = 60;
  int idle_s = 75;  ///< that a connection may be kept without a request
  int ping_s = 15;  ///< without a piece until a ping
  /// Bodies until they are answered, and answers until they are taken, of all connections together.
  /// Beyond it a request gets 503, and an answer that is not taken ends with its connection.
  std::size_t max_held_bytes = std::size_t{512} << 20;
  int max_connections = 4096;  ///< where one more comes an idle one goes, or it gets 503
  std::shared_ptr<const Tls> tls = nullptr;                 ///< null: connections are not encrypted
  std::function<void(const AccessRecord&)> on_access = {};  ///< by the thread of Run
  /// Writes the answer to a request that cannot be read; `path` may be empty. By the thread of Run.
  std::function<HttpReply(std::string_view path, int status, std::string_view why)> refusal = {};
};

struct HttpStats {
  std::uint64_t connections = 0;  ///< open now
  std::uint64_t accepted = 0;     ///< since the start
};

class HttpServer {
 public:
  /// Called by the thread of Run for each request; must not take long.
  using Handler = std::function<void(HttpRequest, std::shared_ptr<Exchange>)>;

  /// Binds and listens. Errors: kInvalidArgument (no such address), kIo (the port is taken).
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> Listen(const HttpServerOptions& options,
                                                                  Handler handler);
  ~HttpServer();

  /// Serves until Drain or Stop has done its work.
  void Run();
  /// No connection is accepted any more; answers on their way are finished, then Run returns. Any
  /// thread.
  void Drain();
  /// Run returns soon, answers or not. Any thread.
  void Stop();

  [[nodiscard]] int port() const noexcept;
  [[nodiscard]] HttpStats stats() const noexcept;  ///< any thread

  struct Impl;  ///< in the source file

 private:
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7).
[[nodiscard]] std::string HttpDate(std::time_t time);

/// "OK", "Not Found", ...
[[nodiscard]] std::string_view StatusText(int status) noexcept;

}  // namespace bittern::serve
