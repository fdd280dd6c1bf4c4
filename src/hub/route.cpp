// SPDX-License-Identifier: Apache-2.0
#include "hub/route.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/text/display.hpp"
#include "hub/http.hpp"

namespace bittern::hub {
namespace {

constexpr int kMostHops = 8;

/// Whether an address names a scheme (RFC 3986, 3.1) other than http and https. libcurl before 7.85
/// takes "javascript:1" for a path.
bool HasOtherScheme(std::string_view address) {
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  const std::size_t end = address.find_first_of(":/?#");
  if (end == address.npos || address[end] != ':' || !is_letter(address[0])) return false;
  std::string scheme(address.substr(0, end));
  for (char& c : scheme) c = is_letter(c) ? static_cast<char>(c | 0x20) : c;
  return scheme != "http" && scheme != "https";
}

}  // namespace

bool IsRedirect(int status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Route::Route(std::string url, std::string token)
    : start_(std::move(url)), token_(std::move(token)), origin_(OriginOf(start_)), url_(start_) {}

const std::string& Route::token() const noexcept {
  static const std::string kNone;
  return at_origin_ ? token_ : kNone;
}

Result<void> Route::Follow(const std::string& location) {
  if (++hops_ > kMostHops) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: {} redirects at most expected, more found", Printable(start_, 200),
                            kMostHops));
  }
  if (location.empty()) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: a redirect without an address", Printable(start_, 200)));
  }
  if (HasOtherScheme(location)) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: a redirect to http or https expected, \"{}\" found",
                            Printable(start_, 200), Printable(location, 200)));
  }
  std::string next = BITTERN_TRY(ResolveUrl(url_, location));
  if (url_.starts_with("https:") && !next.starts_with("https:")) {
    return Fail(
        ErrorCode::kCorruptFile,
        fmt::format("{}: a redirect from https to http is not followed", Printable(start_, 200)));
  }
  url_ = std::move(next);
  // Once away, a host that sends us back is not asked with the token either.
  at_origin_ = at_origin_ && OriginOf(url_) == origin_;
  return {};
}

void Route::Restart() {
  url_ = start_;
  hops_ = 0;
  at_origin_ = true;
}

}  // namespace bittern::hub
