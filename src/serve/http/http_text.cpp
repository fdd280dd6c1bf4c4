// SPDX-License-Identifier: Apache-2.0
// Comparing secrets takes the same time wherever they differ.
#include "serve/http/http_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/calendar.hpp"
#include "base/json/json.hpp"
#include "base/text/percent.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {
namespace {

/// tolower of ASCII only: the C library's depends on the locale.
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// A "+" in a query means a space. It must be replaced before %2B becomes "+".
std::string DecodeQuery(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return PercentDecoded(spaced);
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const noexcept {
  const auto it = std::ranges::find(headers, name, &HttpHeaders::value_type::first);
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), Lower);
  return out;
}

bool IsToken(std::string_view text, std::string_view lower_case) {
  return LowerCase(text) == lower_case;
}

/// A name without "=" has an empty value. The first of several equal names counts.
std::optional<std::string> QueryValue(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (DecodeQuery(pair.substr(0, equals)) != name) continue;
    return DecodeQuery(pair.substr(std::min(pair.size(), equals + 1)));
  }
  return std::nullopt;
}

/// Looks at every byte of `given`, and never ends early. A wrong length alone makes it false.
bool SameSecret(std::string_view given, std::string_view secret) noexcept {
  if (secret.empty()) return false;
  unsigned differs = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto a = static_cast<unsigned char>(given[i]);
    const auto b = static_cast<unsigned char>(secret[i % secret.size()]);
    differs |= static_cast<unsigned>(a ^ b);
  }
  return differs == 0;
}

/// llama-server's names.
std::string_view ErrorType(int status) noexcept {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 500:
      return "server_error";
    case 501:
      return "not_supported_error";
    case 503:
      return "unavailable_error";
    default:
      return "invalid_request_error";
  }
}

std::string ErrorBody(int status, std::string_view message, std::string_view param) {
  Json error = {{"code", status},
                {"message", std::string(message)},
                {"type", std::string(ErrorType(status))},
                {"param", nullptr}};
  if (!param.empty()) error["param"] = std::string(param);
  return Json{{"error", std::move(error)}}.Dump();
}

/// The names of days and months are those of the RFC, whatever the locale is.
std::string HttpDate(std::time_t time) {
  constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = UtcTime(time);
  if (!found) return "Thu, 01 Jan 1970 00:00:00 GMT";
  const std::tm& at = *found;
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[at.tm_wday], at.tm_mday,
                     kMonths[at.tm_mon], at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
}

std::string_view StatusText(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace bittern::serve
