// SPDX-License-Identifier: Apache-2.0
// OpenSSL through Boost.Asio. OpenSSL's headers stay in this file. Key and certificates are read
// once, when the server starts; each connection then has a stream of its own on the server's
// thread.
#include "serve/http/tls.hpp"

#include <fmt/format.h>

#ifdef BITTERN_HAS_TLS
#include <boost/asio/ssl.hpp>
#endif

#include "serve/http/transport.hpp"

namespace bittern::serve {

namespace asio = boost::asio;
using asio::ip::tcp;

#ifndef BITTERN_HAS_TLS

struct Tls::Impl {};

Result<std::shared_ptr<const Tls>> Tls::Load(const std::string& /*certificate_file*/,
                                             const std::string& /*key_file*/) {
  return Fail(ErrorCode::kUnsupported,
              "this program was built without TLS: put a proxy with TLS (HAProxy, nginx) in front "
              "of the server");
}

std::unique_ptr<Transport> TlsTransportOf(std::shared_ptr<const Tls> /*tls*/, tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));  // there is no Tls to call it with
}

#else

struct Tls::Impl {
  // A stream takes it without const, and only makes its own state from it.
  mutable asio::ssl::context context{asio::ssl::context::tls_server};
};

namespace {

/// The answer to a client that speaks HTTP without TLS, which would see only a closed connection.
constexpr std::string_view kHttpsOnly =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 57\r\n"
    "Connection: close\r\n\r\nthis port answers https:// only, the request was http://\n";

bool IsPlainHttp(const boost::system::error_code& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

/// OpenSSL's stream over a socket. EndWriting sends close_notify (RFC 8446 section 6.1).
class TlsTransport final : public Transport {
 public:
  TlsTransport(std::shared_ptr<const Tls> tls, tcp::socket socket)
      : tls_(std::move(tls)), stream_(std::move(socket), tls_->impl().context) {}

  void Begin(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [this, done = std::move(done)](const ErrorCode& error) {
                              return IsPlainHttp(error) ? EndPlain(done, error) : done(error);
                            });
  }
  void Read(asio::mutable_buffer into, DoneReading done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void Write(const std::vector<asio::const_buffer>& bytes, Done done) override {
    asio::async_write(
        stream_, bytes,
        [done = std::move(done)](const ErrorCode& error, std::size_t) { done(error); });
  }
  void EndWriting(Done done) override { stream_.async_shutdown(std::move(done)); }
  void Close() override {
    ErrorCode error;
    (void)stream_.next_layer().close(error);
  }

 private:
  /// Says that this is the wrong port for HTTP; `done` gets `error`.
  void EndPlain(const Done& done, const ErrorCode& error) {
    asio::async_write(stream_.next_layer(), asio::buffer(kHttpsOnly),
                      [this, done, error](const ErrorCode&, std::size_t) {
                        ErrorCode ignored;
                        (void)stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
                        done(error);
                      });
  }

  std::shared_ptr<const Tls> tls_;
  asio::ssl::stream<tcp::socket> stream_;
};

/// OpenSSL's messages name no file, so the file is put before them.
Result<void> CheckLoaded(const boost::system::error_code& error, const std::string& file,
                         std::string_view expected) {
  if (!error) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected ({})", file, expected, error.message()));
}

}  // namespace

/// The key comes last: OpenSSL checks it against the certificate as it is read.
Result<std::shared_ptr<const Tls>> Tls::Load(const std::string& certificate_file,
                                             const std::string& key_file) {
  using Context = asio::ssl::context;
  auto impl = std::make_unique<Impl>();
  boost::system::error_code error;
  (void)impl->context.set_options(Context::default_workarounds | Context::no_tlsv1 |
                                      Context::no_tlsv1_1 | Context::no_compression,
                                  error);
  // Without a callback OpenSSL would ask for a password at the terminal.
  (void)impl->context.set_password_callback(
      [](std::size_t, Context::password_purpose) { return std::string(); }, error);
  (void)impl->context.use_certificate_chain_file(certificate_file, error);
  BITTERN_TRY(CheckLoaded(error, certificate_file, "a certificate in PEM form"));
  (void)impl->context.use_private_key_file(key_file, Context::pem, error);
  BITTERN_TRY(CheckLoaded(error, key_file,
                          "the certificate's private key, in PEM form and without a password,"));
  return std::make_shared<const Tls>(std::move(impl));
}

std::unique_ptr<Transport> TlsTransportOf(std::shared_ptr<const Tls> tls, tcp::socket socket) {
  return std::make_unique<TlsTransport>(std::move(tls), std::move(socket));
}

#endif

Tls::Tls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tls::~Tls() = default;

}  // namespace bittern::serve
