// SPDX-License-Identifier: Apache-2.0
// The bytes of a connection, as they are (PlainTransport) or encrypted (TlsTransport). One read and
// one write may be under way at a time. All members are called on the thread of HttpServer::Run,
// and callbacks run there; a transport has to outlive the callbacks of what it began.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "serve/http/tls.hpp"

namespace bittern::serve {

class Transport {
 public:
  using ErrorCode = boost::system::error_code;
  using Done = std::function<void(const ErrorCode&)>;
  using DoneReading = std::function<void(const ErrorCode&, std::size_t)>;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Agrees with the client on how to talk, before the first read.
  virtual void Begin(Done done) = 0;
  /// Some bytes, at least one.
  virtual void Read(boost::asio::mutable_buffer into, DoneReading done) = 0;
  /// All of the bytes, which stay where they are until `done`.
  virtual void Write(const std::vector<boost::asio::const_buffer>& bytes, Done done) = 0;
  /// Tells the client that nothing more will be sent.
  virtual void EndWriting(Done done) = 0;
  /// Operations under way end with an error.
  virtual void Close() = 0;
};

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(boost::asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

  void Begin(Done done) override { done({}); }
  void Read(boost::asio::mutable_buffer into, DoneReading done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void Write(const std::vector<boost::asio::const_buffer>& bytes, Done done) override {
    boost::asio::async_write(
        socket_, bytes,
        [done = std::move(done)](const ErrorCode& error, std::size_t) { done(error); });
  }
  void EndWriting(Done done) override {
    ErrorCode error;
    (void)socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
    done(error);
  }
  void Close() override {
    ErrorCode error;
    (void)socket_.close(error);
  }

 private:
  boost::asio::ip::tcp::socket socket_;
};

/// Encrypts what goes through an accepted socket.
[[nodiscard]] std::unique_ptr<Transport> TlsTransportOf(std::shared_ptr<const Tls> tls,
                                                        boost::asio::ip::tcp::socket socket);

}  // namespace bittern::serve
