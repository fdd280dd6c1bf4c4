// SPDX-License-Identifier: Apache-2.0
// The rules for the head of a request (RFC 9112 sections 2 to 6). Where the RFC lets a server be
// lenient about framing, this one refuses: two programs that read one head in two ways are how
// requests are smuggled. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/http_server.hpp"

namespace bittern::serve {

/// Why a request is not read. The connection is closed after the answer.
struct HttpRefusal {
  int status = 400;
  std::string why = {};
};

/// Nothing: the bytes keep the rules.
using HeadCheck = std::optional<HttpRefusal>;

struct RequestHead {
  std::string method = {};
  std::string target = {};     ///< a path with its query, or "*"
  std::string authority = {};  ///< of a target in absolute form; empty: it was a path
  bool is_old = false;         ///< HTTP/1.0
  HttpHeaders headers = {};
  bool keep_alive = true;         ///< the client wants to send another request
  bool expects_continue = false;  ///< it waits for "100 Continue" before it sends the body
  bool chunked = false;           ///< the body comes in chunks
  std::uint64_t length = 0;       ///< of a body that is not chunked
};

/// Method, target and version (section 3). The line has no line end. An address in absolute form is
/// cut to its path; SettleHead makes its authority the header "host".
[[nodiscard]] HeadCheck ReadRequestLine(std::string_view line, RequestHead* head);

/// Adds "name: value" (section 5), the name in lower case. No folded lines, no space before the
/// colon.
[[nodiscard]] HeadCheck ReadFieldLine(std::string_view line, HttpHeaders* headers);

/// Once all lines are read: Host (section 3.2), the length of the body (section 6), Connection
/// (section 9.3) and Expect (RFC 9110 section 10.1.1).
[[nodiscard]] HeadCheck SettleHead(RequestHead* head);

}  // namespace bittern::serve
