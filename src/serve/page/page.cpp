// SPDX-License-Identifier: Apache-2.0
#include "serve/page/page.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/os/process.hpp"

// The page's texts, put into the program by page.S.
extern "C" {
extern const char bittern_page[];
extern const char bittern_page_style[];
extern const char bittern_page_script[];
}

namespace bittern::serve {
namespace {

void ReplaceAll(std::string* text, std::string_view place, std::string_view with) {
  for (std::size_t at = 0; (at = text->find(place, at)) != std::string::npos; at += with.size()) {
    text->replace(at, place.size(), with);
  }
}

}  // namespace

/// Each reply has a new nonce. The policy lets only script and style with that nonce run, so a
/// model's text that looks like HTML can do nothing.
HttpReply PageReply() {
  const std::string nonce = fmt::format("{:08x}{:08x}{:08x}{:08x}", os::Random(), os::Random(),
                                        os::Random(), os::Random());
  std::string body = bittern_page;
  ReplaceAll(&body, "@NONCE@", nonce);
  ReplaceAll(&body, "@STYLE@", bittern_page_style);
  ReplaceAll(&body, "@SCRIPT@", bittern_page_script);
  const std::string policy = fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
      "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      nonce);
  return {.content_type = "text/html; charset=utf-8",
          .body = std::move(body),
          .headers = {{"Content-Security-Policy", policy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace bittern::serve
