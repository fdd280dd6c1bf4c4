// SPDX-License-Identifier: Apache-2.0
// A line is checked as it comes. What belongs together (hosts, lengths, codings) is settled when
// all lines are there.
#include "serve/http/request_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBlank = " \t";

HeadCheck Bad(std::string_view why) {
  return HttpRefusal{.status = 400, .why = fmt::format("this is not HTTP/1.1: {}", why)};
}

/// True if all of a text are letters, digits or of `more`, and there is one at least.
bool HasOnly(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [more](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  });
}

/// A token of RFC 9110 section 5.6.2.
bool IsHttpToken(std::string_view text) { return HasOnly(text, "!#$%&'*+-.^_`|~"); }

std::string_view WithoutBlanks(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  const std::size_t end = text.find_last_not_of(kBlank);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

/// A host with or without a port, and no user (RFC 3986 section 3.2.2). It may be empty.
bool IsAuthority(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || !HasOnly(text.substr(1, end - 1), ":.")) return false;
    text.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0 && !HasOnly(text.substr(0, end), "-._~%!$&'()*+,;=")) return false;
    text.remove_prefix(end);
  }
  return text.empty() ||
         (text[0] == ':' && text.find_first_not_of(kDigits, 1) == std::string_view::npos);
}

/// "http://host/path" becomes "/path" with the header Host (RFC 9112 section 3.2.2).
HeadCheck TakeAbsolute(std::string_view target, RequestHead* head) {
  const std::size_t mark = target.find("://");
  const std::string scheme = mark == target.npos ? "" : LowerCase(target.substr(0, mark));
  if (scheme != "http" && scheme != "https") return Bad("the target is no path");
  target.remove_prefix(mark + 3);
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  const std::string_view authority = target.substr(0, end);
  if (authority.empty() || !IsAuthority(authority)) return Bad("the target names no host");
  const std::string_view rest = target.substr(end);
  head->authority = authority;
  if (rest.empty() && head->method == "OPTIONS") {
    head->target = "*";
  } else {
    head->target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  }
  return std::nullopt;
}

/// The items of a list, over all fields of that name, in lower case. Empty items count.
std::vector<std::string> ListOf(const HttpHeaders& headers, std::string_view name) {
  std::vector<std::string> items;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    std::string_view rest = value;
    for (;;) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      items.push_back(LowerCase(WithoutBlanks(rest.substr(0, comma))));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return items;
}

/// One Host, also beside a target in absolute form, whose authority takes its place. HTTP/1.0 needs
/// none.
HeadCheck SettleHost(RequestHead* head) {
  const auto is_host = [](const auto& field) { return field.first == "host"; };
  const auto host = std::ranges::find_if(head->headers, is_host);
  if (std::ranges::count_if(head->headers, is_host) > 1) return Bad("there is more than one Host");
  if (host == head->headers.end()) {
    if (!head->is_old) return Bad("there is no Host");
    if (!head->authority.empty()) head->headers.emplace_back("host", head->authority);
    return std::nullopt;
  }
  if (!IsAuthority(host->second)) return Bad("Host is no name of a host");
  if (!head->authority.empty()) host->second = head->authority;
  return std::nullopt;
}

/// Section 6.1: only `chunked` is known here, last and once. With a length beside it, or in
/// HTTP/1.0, the framing is faulty.
HeadCheck SettleCoding(const std::vector<std::string>& codings, bool has_length,
                       RequestHead* head) {
  if (head->is_old) return Bad("Transfer-Encoding in HTTP/1.0");
  if (has_length) return Bad("Transfer-Encoding and Content-Length together");
  if (codings.back() != "chunked") return Bad("the last Transfer-Encoding is not chunked");
  if (std::ranges::count(codings, "chunked") > 1) return Bad("chunked more than once");
  if (std::ranges::any_of(codings, [](const auto& coding) { return coding.empty(); })) {
    return Bad("an empty Transfer-Encoding");
  }
  if (codings.size() > 1) {
    return HttpRefusal{
        .status = 501,
        .why = fmt::format("Transfer-Encoding: chunked alone is taken, \"{}\" is not",
                           codings.front())};
  }
  head->chunked = true;
  return std::nullopt;
}

/// Section 6.2. A length that fits no number is a good one, and too long for any limit.
HeadCheck SettleLength(const std::vector<std::string>& lengths, RequestHead* head) {
  if (lengths.size() > 1) return Bad("there is more than one Content-Length");
  const std::string& text = lengths.front();
  if (text.empty() || text.find_first_not_of(kDigits) != std::string::npos) {
    return Bad("Content-Length is no number");
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), head->length);
  if (error != std::errc()) head->length = std::numeric_limits<std::uint64_t>::max();
  return std::nullopt;
}

}  // namespace

/// Single spaces and nothing else divide the three parts. A version 1.2 would be read as 1.1 (RFC
/// 9110 section 2.5).
HeadCheck ReadRequestLine(std::string_view line, RequestHead* head) {
  const std::size_t first = std::min(line.find(' '), line.size()), last = line.rfind(' ');
  if (last == std::string_view::npos || last <= first)
    return Bad("method, target and version expected");
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  head->method = line.substr(0, first);
  if (!IsHttpToken(head->method)) return Bad("a method is a word");
  const bool is_version = version.size() == 8 && version.starts_with("HTTP/") &&
                          kDigits.find(version[5]) != std::string_view::npos && version[6] == '.' &&
                          kDigits.find(version[7]) != std::string_view::npos;
  if (!is_version) return Bad("a version is HTTP/ with two digits");
  if (version[5] != '1') {
    return HttpRefusal{.status = 505, .why = "HTTP/1.1 and HTTP/1.0 are spoken here"};
  }
  head->is_old = version[7] == '0';
  const bool visible =
      std::ranges::all_of(target, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
  if (target.empty() || !visible)
    return Bad("a target has visible characters of ASCII and no \"#\"");
  if (head->method == "CONNECT") {
    return HttpRefusal{.status = 501, .why = "CONNECT is for proxies, and this server is none"};
  }
  head->target = target;
  if (target.starts_with('/') || (target == "*" && head->method == "OPTIONS")) return std::nullopt;
  return TakeAbsolute(target, head);
}

/// A blank at the front would be the rest of the line before (obs-fold, section 5.2), or, after the
/// request line, a field that others do not see (section 2.2).
HeadCheck ReadFieldLine(std::string_view line, HttpHeaders* headers) {
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  if (kBlank.find(line[0]) != std::string_view::npos)
    return Bad("a header goes on in a second line");
  if (colon == line.size()) return Bad("a header without a colon");
  if (!IsHttpToken(name)) return Bad("the name of a header is a word, with its colon behind it");
  headers->emplace_back(LowerCase(name), std::string(WithoutBlanks(line.substr(colon + 1))));
  return std::nullopt;
}

HeadCheck SettleHead(RequestHead* head) {
  if (auto refused = SettleHost(head)) return refused;
  const auto codings = ListOf(head->headers, "transfer-encoding");
  const auto lengths = ListOf(head->headers, "content-length");
  if (!codings.empty()) {
    if (auto refused = SettleCoding(codings, !lengths.empty(), head)) return refused;
  } else if (!lengths.empty()) {
    if (auto refused = SettleLength(lengths, head)) return refused;
  }
  const auto wishes = ListOf(head->headers, "connection");
  const auto wants = [&](std::string_view what) { return std::ranges::count(wishes, what) > 0; };
  head->keep_alive = !wants("close") && (!head->is_old || wants("keep-alive"));
  for (const std::string& expected : ListOf(head->headers, "expect")) {
    if (head->is_old || expected.empty()) continue;  // RFC 9110: HTTP/1.0 has no expectations
    if (expected != "100-continue") {
      return HttpRefusal{.status = 417, .why = "Expect: 100-continue is met here, and no other"};
    }
    head->expects_continue = true;
  }
  return std::nullopt;
}

}  // namespace bittern::serve
