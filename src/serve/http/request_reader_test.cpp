// SPDX-License-Identifier: Apache-2.0
#include "serve/http/request_reader.hpp"

#include <gtest/gtest.h>

namespace bittern::serve {
namespace {

constexpr std::size_t kMostOther = 200, kMostBody = 50;

/// The end of some bytes. `status`: 0 is a whole request, -1 one that needs more, else a refusal.
struct Outcome {
  int status = -1;
  std::size_t used = 0;
  std::string target = {}, body = {};
  bool operator==(const Outcome&) const = default;
};

/// Puts the bytes in pieces of `step`.
Outcome ReadInSteps(std::string_view bytes, std::size_t step) {
  RequestReader reader(kMostOther, kMostBody);
  Outcome outcome;
  while (outcome.used < bytes.size() && !reader.done() && !reader.refusal()) {
    outcome.used += reader.Put(bytes.substr(outcome.used, step));
  }
  if (reader.done()) outcome.status = 0;
  if (reader.refusal()) outcome.status = reader.refusal()->status;
  outcome.target = reader.head().target;
  outcome.body = reader.body();
  return outcome;
}

std::string Chunked(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

TEST(RequestReader, ReadsUpToTheEndAndNotBeyond) {
  const std::string next = "GET /next";
  for (const std::string& request :
       {std::string("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("\r\nGET / HTTP/1.0\r\n\r\n"),
        std::string("PUT / HTTP/1.1\r\nHost:\r\nContent-Length: 3\r\n\r\nabc"),
        Chunked("2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: u\r\n\r\n")}) {
    const Outcome whole = ReadInSteps(request + next, 1 << 10);
    EXPECT_EQ(whole.status, 0) << request;
    EXPECT_EQ(whole.used, request.size()) << request;
    if (!whole.body.empty()) {
      EXPECT_EQ(whole.body, "abc");
    }
    EXPECT_EQ(ReadInSteps(request.substr(0, request.size() - 1), 1 << 10).status, -1) << request;
  }
}

/// Whatever is changed in a good request, the outcome does not depend on the pieces it comes in.
TEST(RequestReader, PiecesChangeNothing) {
  const std::string good =
      "\r\nPOST http://b:1/c HTTP/1.1\r\nHost: a\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3 ;e\r\nabc\r\n0b\r\n01234567890\r\n0\r\nT: u\r\n\r\n";
  ASSERT_EQ(ReadInSteps(good, 1).status, 0);
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const std::string_view change :
         {"", "\r", "\n", " ", "0", ";", ":", "\x01", "\r\n", ",", "G"}) {
      for (const std::size_t drop : {0, 1}) {
        std::string bytes = good;
        bytes.replace(at, drop, change);
        const Outcome whole = ReadInSteps(bytes, 1 << 10);
        EXPECT_EQ(ReadInSteps(bytes, 1), whole) << bytes;
        EXPECT_EQ(ReadInSteps(bytes, 7), whole) << bytes;
        refused += whole.status > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(RequestReader, CountsAllThatIsNoBody) {
  const std::string head = Chunked("");
  const std::size_t left = kMostOther - head.size();
  struct Case {
    std::string bytes;
    int status;
  };
  const Case cases[] = {{head + "1;" + std::string(left - 3, 'a') + "\r\nx\r\n0\r\n\r\n", 431},
                        {head + "1;" + std::string(left - 8, 'a') + "\r\nx\r\n0\r\n\r\n", 0},
                        {head + std::string(left - 8, '0') + "1\r\nx\r\n0\r\n\r\n", 0},
                        {head + std::string(left, '0'), 431},
                        {head + "0\r\nT:" + std::string(left - 6, 'a') + "\r\n\r\n", 0},
                        {head + "0\r\nT:" + std::string(left - 5, 'a') + "\r\n\r\n", 431},
                        {std::string(kMostOther, '\r').replace(1, 1, "\n"), 400},
                        {"GET / HTTP/1.1\r\nX: " + std::string(kMostOther, 'a'), 431}};
  for (const Case& one : cases)
    EXPECT_EQ(ReadInSteps(one.bytes, 3).status, one.status) << one.bytes;
  std::string blank, tiny = head;
  for (std::size_t i = 0; i <= kMostOther / 2; ++i) blank += "\r\n";
  EXPECT_EQ(ReadInSteps(blank, 1).status, 431);
  for (std::size_t i = 0; i < kMostBody; ++i) tiny += "1\r\nx\r\n";  // 6 bytes for each
  EXPECT_EQ(ReadInSteps(tiny + "0\r\n\r\n", 100).status, 0);
  EXPECT_EQ(ReadInSteps(tiny + "1\r\n", 100).status, 413);
}

TEST(RequestReader, SaysWhenTheClientWaits) {
  RequestReader reader(kMostOther, kMostBody);
  EXPECT_FALSE(reader.began());
  reader.Put("\r\n");
  EXPECT_FALSE(reader.began());
  reader.Put("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n");
  EXPECT_TRUE(reader.began());
  EXPECT_FALSE(reader.waits());
  reader.Put("\r\n");
  EXPECT_TRUE(reader.waits());
  reader.Put("a");
  EXPECT_FALSE(reader.waits());
}

TEST(HttpDate, IsTheRfcsExample) {
  EXPECT_EQ(HttpDate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(HttpDate(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
}

}  // namespace
}  // namespace bittern::serve
