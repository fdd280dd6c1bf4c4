// SPDX-License-Identifier: Apache-2.0
// Limits of a server: connections, and bytes that all of them hold.
#include "serve/http/http_server.hpp"

#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <mutex>
#include <thread>

namespace bittern::serve {
namespace {

using boost::asio::ip::tcp;

/// A client at an address of its own below 127.0.0.0.
class SocketClient {
 public:
  SocketClient(int port, const char* own) : socket_(io_) {
    boost::system::error_code error;
    socket_.open(tcp::v4(), error);
    if (!error) socket_.bind({boost::asio::ip::make_address(own), 0}, error);
    const auto to = static_cast<unsigned short>(port);
    if (!error) socket_.connect({boost::asio::ip::address_v4::loopback(), to}, error);
    is_open_ = !error;
  }

  void Send(std::string_view path) {
    SendBytes("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  void SendBytes(std::string_view bytes) {
    boost::system::error_code ignored;  // the server may close
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  /// The status of an answer; 0: the server closed; -1: nothing came for 10 s.
  [[nodiscard]] int Status() {
    char bytes[4096];
    std::size_t size = 0;
    boost::system::error_code error = boost::asio::error::would_block;
    socket_.async_read_some(boost::asio::buffer(bytes), [&](auto result, std::size_t read) {
      error = result;
      size = read;
    });
    io_.restart();
    io_.run_for(std::chrono::seconds(10));
    if (size >= 12) return std::stoi(std::string(bytes + 9, 3));
    if (error != boost::asio::error::would_block) return 0;
    socket_.cancel();
    io_.run();
    return -1;
  }
  [[nodiscard]] bool is_open() const { return is_open_; }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_;
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
  auto busy = Client(), first = Client(), second = Client();
  busy->Send("/kept");
  WaitForKept(1);
  first->Send("/now");  // it was used after the second came
  EXPECT_EQ(first->Status(), 200);
  auto third = Client();
  EXPECT_EQ(second->Status(), 0);
  for (SocketClient* one : {first.get(), third.get()}) {
    one->Send("/now");
    EXPECT_EQ(one->Status(), 200);
  }
  EXPECT_EQ(server_->stats().connections, 3U);
}

TEST_F(FewConnections, TheAddressWithMostGivesWay) {
  Start(4);
  auto alone = Client("127.0.0.2");
  auto first = Client("127.0.0.3"), second = Client("127.0.0.3"), third = Client("127.0.0.3");
  auto newcomer = Client("127.0.0.3");
  EXPECT_EQ(first->Status(), 0);
  alone->Send("/now");
  EXPECT_EQ(alone->Status(), 200);
  second->Send("/now");
  EXPECT_EQ(second->Status(), 200);
}

TEST_F(FewConnections, WithoutAnIdleOneANewcomerIsTold) {
  Start(2);
  auto first = Client(), second = Client();
  first->Send("/kept");
  WaitForKept(1);
  second->Send("/kept");
  WaitForKept(2);
  for (int i = 0; i < 5; ++i) {
    auto newcomer = Client();
    EXPECT_EQ(newcomer->Status(), 503);
    EXPECT_EQ(newcomer->Status(), 0);
  }
  {
    const std::scoped_lock lock(mutex_);
    kept_.front()->Reply({.body = "{}"});
  }
  EXPECT_EQ(first->Status(), 200);
  auto newcomer = Client();  // the one that was answered is idle now
  newcomer->Send("/now");
  EXPECT_EQ(newcomer->Status(), 200);
}

/// Bodies are held until they are answered. The second of two large ones is refused, a small
/// request is not. The bytes are free once the first client has gone.
TEST_F(FewConnections, HoldSoManyBytes) {
  Start(10, 1 << 20);
  const auto post = [](SocketClient& client, std::size_t size) {
    client.SendBytes("POST /kept HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
                     "\r\n\r\n" + std::string(size, 'x'));
  };
  {
    SocketClient first(server_->port(), "127.0.0.1");
    post(first, 900'000);
    WaitForKept(1);
    SocketClient second(server_->port(), "127.0.0.2");
    post(second, 900'000);
    EXPECT_EQ(second.Status(), 503);
    SocketClient small(server_->port(), "127.0.0.2");
    small.Send("/now");
    EXPECT_EQ(small.Status(), 200);
  }
  WaitForNone();
  SocketClient third(server_->port(), "127.0.0.2");
  post(third, 900'000);
  WaitForKept(2);
}

/// A client that does not read its answer loses the connection once all hold too much.
TEST_F(FewConnections, AnswersThatNobodyTakes) {
  Start(10, 1 << 20);
  SocketClient client(server_->port(), "127.0.0.1");
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
  SocketClient other(server_->port(), "127.0.0.1");
  other.Send("/now");
  EXPECT_EQ(other.Status(), 200);
}

}  // namespace
}  // namespace bittern::serve
