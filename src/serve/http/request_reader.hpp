// SPDX-License-Identifier: Apache-2.0
// Reads one request of HTTP/1.1, from bytes as they come: its head by the rules of
// request_head.hpp, and its body, by length or in chunks (RFC 9112 section 7.1). Memory is bounded:
// of all that is no body, one line is kept at a time, beside the head. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "serve/http/request_head.hpp"

namespace bittern::serve {

class RequestReader {
 public:
  /// `most_other_bytes` is for all that is no body: the head, empty lines before it, extensions of
  /// chunks, zeros before their sizes, and trailers. So a body of n bytes takes 6 n bytes and those
  /// at most, which is what chunks of one byte take.
  RequestReader(std::size_t most_other_bytes, std::size_t most_body_bytes)
      : most_other_(most_other_bytes), most_body_(most_body_bytes) {}

  /// Takes bytes up to the end of the request, or up to the one that is refused. Returns how many.
  /// Nothing may be put after done() or refusal().
  std::size_t Put(std::string_view bytes);

  /// A byte of the request itself has come, beyond empty lines.
  [[nodiscard]] bool began() const noexcept { return state_ != State::kStart || !line_.empty(); }
  [[nodiscard]] bool done() const noexcept { return state_ == State::kDone; }
  [[nodiscard]] const HeadCheck& refusal() const noexcept { return refusal_; }
  /// The client waits for "100 Continue": the head is there, and nothing of the body yet.
  [[nodiscard]] bool waits() const noexcept {
    return head_.expects_continue && !refusal_ && !touched_body_ &&
           (state_ == State::kBody || state_ == State::kChunkSize);
  }
  /// As far as it has been read. Its method and target are set once their line is there.
  [[nodiscard]] RequestHead& head() noexcept { return head_; }
  [[nodiscard]] std::string& body() noexcept { return body_; }

 private:
  /// The part of the request that the next byte belongs to. kStart: its first line, or an empty one
  /// before it. kChunkEnd: the line end behind the bytes of a chunk.
  enum class State { kStart, kFields, kBody, kChunkSize, kChunk, kChunkEnd, kTrailers, kDone };

  [[nodiscard]] std::size_t PutBody(std::string_view bytes);
  void PutLineByte(char byte);
  /// A whole line is in line_.
  void TakeLine();
  [[nodiscard]] HeadCheck BeginBody();
  [[nodiscard]] HeadCheck BeginChunk();
  /// Errors with status 413 and 431.
  [[nodiscard]] HttpRefusal TooLong() const;
  [[nodiscard]] HttpRefusal TooMuchElse() const;

  std::size_t most_other_, most_body_;
  State state_ = State::kStart;
  RequestHead head_ = {};
  HeadCheck refusal_ = {};
  std::string line_ = {};   // the line that is being read
  bool after_cr_ = false;   // its "\r" has come
  std::size_t other_ = 0;   // bytes so far that are no body
  std::uint64_t left_ = 0;  // bytes of the body or the chunk that are still to come
  bool touched_body_ = false;
  std::string body_ = {};
};

}  // namespace bittern::serve
