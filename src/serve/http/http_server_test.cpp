// SPDX-License-Identifier: Apache-2.0
// Limits of a server: connections, and bytes that all of them hold.
#include "serve/http/http_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

namespace bittern::serve {
namespace {

/// A client at an address of its own below 127.0.0.0.
class SocketClient {
 public:
  SocketClient(int port, const char* own) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in from = {}, to = {};
    from.sin_family = to.sin_family = AF_INET;
    (void)inet_pton(AF_INET, own, &from.sin_addr);
    (void)inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    (void)setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    is_open_ = bind(fd_, reinterpret_cast<sockaddr*>(&from), sizeof(from)) == 0 &&
               connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0;
  }
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;
  ~SocketClient() { close(fd_); }

  void Send(std::string_view path) const {
    const std::string bytes = "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    (void)send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void SendBytes(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// The status of an answer; 0: the server closed; -1: nothing came for 10 s.
  [[nodiscard]] int Status() const {
    char bytes[4096];
    const ssize_t size = recv(fd_, bytes, sizeof(bytes), 0);
    if (size < 12) return size == 0 || errno == ECONNRESET ? 0 : -1;
    return std::stoi(std::string(bytes + 9, 3));
  }
  [[nodiscard]] bool is_open() const { return is_open_; }

 private:
  int fd_;
  bool is_open_ = false;
};

/// Answers "/now" at once and keeps the exchanges of all other paths.
class FewConnections : public testing::Test {
 protected:
  void Start(int most, std::size_t held = std::size_t{1} << 30) {
    HttpServerOptions options{.port = 0, .max_held_bytes = held, .max_connections = most};
    auto made = HttpServer::Listen(options, [this](HttpRequest request, auto exchange) {
      if (request.path == "/now") return exchange->Reply({.body = "{}"});
      const std::scoped_lock lock(mutex_);
      kept_.push_back(std::move(exchange));
    });
    ASSERT_TRUE(made.has_value());
    server_ = *std::move(made);
    thread_ = std::thread([this] { server_->Run(); });
  }
  void TearDown() override {
    server_->Stop();
    thread_.join();
    kept_.clear();
  }
  std::unique_ptr<SocketClient> Client(const char* own = "127.0.0.1") {
    const std::uint64_t before = server_->stats().accepted;
    auto client = std::make_unique<SocketClient>(server_->port(), own);
    EXPECT_TRUE(client->is_open());
    for (int i = 0; i < 1000 && server_->stats().accepted == before; ++i) Nap();
    return client;
  }
  void WaitForKept(std::size_t count) {
    for (int i = 0; i < 1000; ++i, Nap()) {
      const std::scoped_lock lock(mutex_);
      if (kept_.size() == count) return;
    }
    FAIL() << "the requests do not arrive";
  }
  void WaitForNone() {
    for (int i = 0; i < 1000 && server_->stats().connections != 0; ++i) Nap();
  }
  static void Nap() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> kept_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(FewConnections, TheLongestIdleGivesWay) {
  Start(3);
  const auto busy = Client(), first = Client(), second = Client();
  busy->Send("/kept");
  WaitForKept(1);
  first->Send("/now");  // it was used after the second came
  EXPECT_EQ(first->Status(), 200);
  const auto third = Client();
  EXPECT_EQ(second->Status(), 0);
  for (const SocketClient* one : {first.get(), third.get()}) {
    one->Send("/now");
    EXPECT_EQ(one->Status(), 200);
  }
  EXPECT_EQ(server_->stats().connections, 3U);
}

TEST_F(FewConnections, TheAddressWithMostGivesWay) {
  Start(4);
  const auto alone = Client("127.0.0.2");
  const auto first = Client("127.0.0.3"), second = Client("127.0.0.3"), third = Client("127.0.0.3");
  const auto newcomer = Client("127.0.0.3");
  EXPECT_EQ(first->Status(), 0);
  alone->Send("/now");
  EXPECT_EQ(alone->Status(), 200);
  second->Send("/now");
  EXPECT_EQ(second->Status(), 200);
}

TEST_F(FewConnections, WithoutAnIdleOneANewcomerIsTold) {
  Start(2);
  const auto first = Client(), second = Client();
  first->Send("/kept");
  WaitForKept(1);
  second->Send("/kept");
  WaitForKept(2);
  for (int i = 0; i < 5; ++i) {
    const auto newcomer = Client();
    EXPECT_EQ(newcomer->Status(), 503);
    EXPECT_EQ(newcomer->Status(), 0);
  }
  {
    const std::scoped_lock lock(mutex_);
    kept_.front()->Reply({.body = "{}"});
  }
  EXPECT_EQ(first->Status(), 200);
  const auto newcomer = Client();  // the one that was answered is idle now
  newcomer->Send("/now");
  EXPECT_EQ(newcomer->Status(), 200);
}

/// Bodies are held until they are answered. The second of two large ones is refused, a small
/// request is not. The bytes are free once the first client has gone.
TEST_F(FewConnections, HoldSoManyBytes) {
  Start(10, 1 << 20);
  const auto post = [](const SocketClient& client, std::size_t size) {
    client.SendBytes("POST /kept HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
                     "\r\n\r\n" + std::string(size, 'x'));
  };
  {
    const SocketClient first(server_->port(), "127.0.0.1");
    post(first, 900'000);
    WaitForKept(1);
    const SocketClient second(server_->port(), "127.0.0.2");
    post(second, 900'000);
    EXPECT_EQ(second.Status(), 503);
    const SocketClient small(server_->port(), "127.0.0.2");
    small.Send("/now");
    EXPECT_EQ(small.Status(), 200);
  }
  WaitForNone();
  const SocketClient third(server_->port(), "127.0.0.2");
  post(third, 900'000);
  WaitForKept(2);
}

/// A client that does not read its answer loses the connection once all hold too much.
TEST_F(FewConnections, AnswersThatNobodyTakes) {
  Start(10, 1 << 20);
  const SocketClient client(server_->port(), "127.0.0.1");
  client.Send("/kept");
  WaitForKept(1);
  std::shared_ptr<Exchange> exchange;
  {
    const std::scoped_lock lock(mutex_);
    exchange = kept_.back();
  }
  exchange->Begin("text/plain", "");
  for (int i = 0; i < 200 && !exchange->gone().load(); ++i) {
    exchange->Write(std::string(100'000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(exchange->gone().load());
  const SocketClient other(server_->port(), "127.0.0.1");
  other.Send("/now");
  EXPECT_EQ(other.Status(), 200);
}

}  // namespace
}  // namespace bittern::serve
