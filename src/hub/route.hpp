// SPDX-License-Identifier: Apache-2.0
// The way of one request through redirects: where it goes next and whether the token goes along.
// The token belongs to the host that was asked first and is sent to no other. Pure.
#pragma once

#include <string>

#include "base/result.hpp"

namespace bittern::hub {

class Route {
 public:
  Route(std::string url, std::string token);

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  /// Empty where this host may not have it.
  [[nodiscard]] const std::string& token() const noexcept;
  /// True while the host is the one asked first.
  [[nodiscard]] bool is_at_origin() const noexcept { return at_origin_; }
  /// True before any redirect.
  [[nodiscard]] bool is_at_start() const noexcept { return hops_ == 0; }

  /// Goes where a 3xx answer says. Error kCorruptFile, naming the address: too many redirects, no
  /// address, one that is not http or https, from https to http.
  [[nodiscard]] Result<void> Follow(const std::string& location);
  /// Back to where it began: a signed address ends after some time.
  void Restart();

 private:
  std::string start_, token_, origin_, url_;
  int hops_ = 0;
  bool at_origin_ = true;
};

/// True for 301, 302, 303, 307 and 308.
[[nodiscard]] bool IsRedirect(int status) noexcept;

}  // namespace bittern::hub
