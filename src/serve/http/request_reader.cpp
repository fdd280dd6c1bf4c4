// SPDX-License-Identifier: Apache-2.0
// Everything but the body's bytes is lines, also in a chunked body. A line ends with "\r\n"; a "\r"
// or "\n" alone, which others may take for an end, and other control characters are refused at
// once.
#include "serve/http/request_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::serve {
namespace {

HttpRefusal Broken(std::string_view why) {
  return {.status = 400, .why = fmt::format("this is not HTTP/1.1: {}", why)};
}

/// -1: none.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// A size in front of a chunk.
struct ChunkSize {
  std::uint64_t bytes = 0;
  std::size_t digits = 0;  ///< without zeros at the front, but one at least
  bool fits = true;        ///< false: it is larger than any number here
};

/// "1a", "1a;name=value" or, with blanks that the RFC wants read over, "1a ;name". Nothing else: no
/// sign, no "0x", no blanks around.
std::optional<ChunkSize> ReadChunkSize(std::string_view line) {
  ChunkSize size;
  std::size_t end = 0;
  for (; end < line.size() && HexDigit(line[end]) >= 0; ++end) {
    if (size.bytes >> 60 != 0) size.fits = false;
    size.bytes = size.bytes << 4 | static_cast<std::uint64_t>(HexDigit(line[end]));
    if (size.bytes > 0) ++size.digits;
  }
  const std::size_t next = std::min(line.find_first_not_of(" \t", end), line.size());
  const bool is_end = end == line.size();
  if (end == 0 || (!is_end && (next == line.size() || line[next] != ';'))) return std::nullopt;
  size.digits = std::max<std::size_t>(size.digits, 1);
  return size;
}

}  // namespace

std::size_t RequestReader::Put(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !refusal_ && state_ != State::kDone) {
    if (state_ == State::kBody || state_ == State::kChunk) {
      used += PutBody(bytes.substr(used));
    } else {
      PutLineByte(bytes[used++]);
    }
  }
  return used;
}

std::size_t RequestReader::PutBody(std::string_view bytes) {
  const std::size_t size = std::min<std::uint64_t>(bytes.size(), left_);
  body_.append(bytes.substr(0, size));
  touched_body_ = true;
  left_ -= size;
  if (left_ == 0) state_ = state_ == State::kBody ? State::kDone : State::kChunkEnd;
  return size;
}

/// The line counts as it comes, so that one without an end is refused in time.
void RequestReader::PutLineByte(char byte) {
  touched_body_ |= state_ == State::kChunkSize;
  if (after_cr_) {
    if (byte != '\n') {
      refusal_ = Broken("a line ends with CR and LF, not with CR alone");
      return;
    }
    after_cr_ = false;
    TakeLine();
    line_.clear();
    return;
  }
  if (byte == '\r') {
    after_cr_ = true;
    return;
  }
  const bool is_control =
      (static_cast<unsigned char>(byte) < ' ' && byte != '\t') || byte == '\x7f';
  if (byte == '\n') {
    refusal_ = Broken("a line ends with CR and LF, not with LF alone");
  } else if (is_control) {
    refusal_ = Broken("a control character");
  } else if (state_ == State::kChunkEnd) {
    refusal_ = Broken("a chunk is longer than its size");
  } else if (other_ + line_.size() + 3 > most_other_) {
    refusal_ = TooMuchElse();
  } else {
    line_.push_back(byte);
  }
}

/// The digits and line ends that chunks need do not count as other bytes.
void RequestReader::TakeLine() {
  const bool in_chunks = state_ == State::kChunkSize || state_ == State::kChunkEnd;
  if (!in_chunks) other_ += line_.size() + 2;
  if (other_ > most_other_) {
    refusal_ = TooMuchElse();
    return;
  }
  switch (state_) {
    case State::kStart:
      if (line_.empty()) break;  // section 2.2: an empty line before a request is skipped
      refusal_ = ReadRequestLine(line_, &head_);
      state_ = State::kFields;
      break;
    case State::kFields:
      refusal_ = line_.empty() ? BeginBody() : ReadFieldLine(line_, &head_.headers);
      break;
    case State::kChunkSize:
      refusal_ = BeginChunk();
      break;
    case State::kChunkEnd:
      state_ = State::kChunkSize;
      break;
    case State::kTrailers:
      if (line_.empty()) {
        state_ = State::kDone;
      } else {
        HttpHeaders dropped;
        refusal_ = ReadFieldLine(line_, &dropped);
      }
      break;
    default:
      break;
  }
}

HeadCheck RequestReader::BeginBody() {
  if (auto refused = SettleHead(&head_)) return refused;
  if (head_.length > most_body_) return TooLong();
  left_ = head_.length;
  state_ = head_.chunked ? State::kChunkSize : left_ > 0 ? State::kBody : State::kDone;
  return std::nullopt;
}

HeadCheck RequestReader::BeginChunk() {
  const auto size = ReadChunkSize(line_);
  if (!size)
    return Broken("the size of a chunk is digits of base 16, with extensions behind \";\"");
  if (!size->fits || size->bytes > most_body_ - body_.size()) return TooLong();
  other_ += line_.size() - size->digits;
  left_ = size->bytes;
  state_ = left_ > 0 ? State::kChunk : State::kTrailers;
  return std::nullopt;
}

HttpRefusal RequestReader::TooLong() const {
  return {.status = 413,
          .why = fmt::format("the body of a request may have {} bytes at most", most_body_)};
}

HttpRefusal RequestReader::TooMuchElse() const {
  return {.status = 431,
          .why = fmt::format("the head of a request, with trailers and extensions of chunks, may "
                             "have {} bytes at most",
                             most_other_)};
}

}  // namespace bittern::serve
