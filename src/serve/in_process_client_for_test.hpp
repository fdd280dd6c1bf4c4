// SPDX-License-Identifier: Apache-2.0
// A client in the process of its server: requests go in and answers come out without a socket. It
// checks the protocol of Exchange: one answer, pieces between Begin and End.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "serve/core/worker.hpp"
#include "serve/server.hpp"

namespace bittern::serve {

/// An answer, as far as it has come.
struct Answer {
  int status = 0;  ///< 0: none yet
  std::string body;
  HttpHeaders headers;
  std::size_t pieces = 0;
  bool streamed = false;
  bool over = false;       ///< nothing more will come
  bool abandoned = false;  ///< the server dropped the request
};

/// A request on its way. Any thread.
class PendingAnswer {
 public:
  /// Waits for all of the answer.
  [[nodiscard]] Answer Wait() {
    return WaitUntil([this] { return answer_.over; });
  }
  /// Waits until so many pieces are there, or all of the answer.
  Answer WaitForPieces(std::size_t count) {
    return WaitUntil([this, count] { return answer_.over || answer_.pieces >= count; });
  }
  /// As if the client closed its connection.
  void GoAway() {
    if (const auto exchange = exchange_.lock()) exchange->SetGone();
  }

 private:
  friend class InProcessClient;
  class Sink;

  template <class Condition>
  Answer WaitUntil(Condition condition) {
    constexpr std::chrono::minutes kLongest{5};
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(wake_.wait_for(lock, kLongest, condition)) << "no answer: " << answer_.body;
    return answer_;
  }
  template <class Change>
  void Set(Change change) {
    const std::scoped_lock lock(mutex_);
    EXPECT_FALSE(answer_.over) << "after the end of " << answer_.body;
    change(&answer_);
    wake_.notify_all();
  }

  std::weak_ptr<Exchange> exchange_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Answer answer_;  // guarded by mutex_
};

class PendingAnswer::Sink final : public AnswerSink {
 public:
  explicit Sink(std::shared_ptr<PendingAnswer> to) : to_(std::move(to)) {}

  void Reply(HttpReply reply) override {
    to_->Set([&](Answer* answer) {
      EXPECT_EQ(answer->status, 0) << "a second answer: " << reply.body;
      answer->status = reply.status;
      answer->body = std::move(reply.body);
      answer->headers.insert(answer->headers.end(), reply.headers.begin(), reply.headers.end());
      answer->over = true;
    });
  }
  void Begin(std::string /*content_type*/, std::string /*ping*/) override {
    to_->Set([&](Answer* answer) {
      EXPECT_EQ(answer->status, 0) << "a second answer";
      answer->status = 200;
      answer->streamed = true;
    });
  }
  void Write(std::string piece) override {
    to_->Set([&](Answer* answer) {
      EXPECT_TRUE(answer->streamed) << "a piece before the beginning: " << piece;
      answer->body += piece;
      ++answer->pieces;
    });
  }
  void End() override {
    to_->Set([&](Answer* answer) {
      EXPECT_TRUE(answer->streamed) << "an end without a beginning";
      answer->over = true;
    });
  }
  void Abandon() override {
    to_->Set([&](Answer* answer) { answer->over = answer->abandoned = true; });
  }
  void AddHeader(std::string name, std::string value) override {
    to_->Set([&](Answer* answer) {
      EXPECT_EQ(answer->status, 0) << "a header after the answer began: " << name;
      answer->headers.emplace_back(std::move(name), std::move(value));
    });
  }
  void SetNote(std::string /*note*/) override {}

 private:
  std::shared_ptr<PendingAnswer> to_;
};

/// Any thread. A thread of the client hands requests to the server, as the sockets' thread does.
class InProcessClient {
 public:
  /// `server` outlives it.
  explicit InProcessClient(Server* server) : server_(server) {}

  [[nodiscard]] std::shared_ptr<PendingAnswer> Send(std::string method, std::string path,
                                                    std::string body = {}) {
    HttpRequest request{.method = std::move(method),
                        .path = std::move(path),
                        .query = {},
                        .headers = {{"host", "localhost"}},
                        .body = std::move(body),
                        .peer = "test"};
    auto pending = std::make_shared<PendingAnswer>();
    const auto exchange =
        std::make_shared<Exchange>(std::make_unique<PendingAnswer::Sink>(pending));
    pending->exchange_ = exchange;
    sockets_.Post([server = server_, request = std::move(request), exchange]() mutable {
      server->Handle(std::move(request), std::move(exchange));
    });
    return pending;
  }
  [[nodiscard]] Answer Post(std::string path, std::string body) {
    return Send("POST", std::move(path), std::move(body))->Wait();
  }
  [[nodiscard]] Answer Get(std::string path) { return Send("GET", std::move(path))->Wait(); }

 private:
  Server* server_;
  Worker sockets_;
};

}  // namespace bittern::serve
