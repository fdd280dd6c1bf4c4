// SPDX-License-Identifier: Apache-2.0
// HTTP as downloads need it: several exchanges at a time on one thread, each followed by its
// receiver. Redirects are not followed here, because what is sent to the next host is the caller's
// to decide (route.hpp). libcurl does the work (http_curl.cpp, the only file that sees it); a build
// without it says so when a client is wanted (no_hub.cpp). One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern::hub {

struct HttpRequest {
  std::string url;
  std::string token = {};   ///< sent as "Authorization: Bearer"; empty: none
  bool head_only = false;   ///< HEAD instead of GET
  bool with_range = false;  ///< asks for the bytes first to last, both included
  std::uint64_t first = 0, last = 0;
  std::chrono::seconds most = {};  ///< time that the whole may take; 0: any
};

/// A status line and header fields, names in small letters. Values are as the server sent them.
struct HttpHead {
  int status = 0;
  std::map<std::string, std::string, std::less<>> fields = {};
  /// Empty where there is no such field.
  [[nodiscard]] std::string_view Field(std::string_view name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
  }
};

/// How an exchange ended.
struct HttpEnd {
  bool complete = false;        ///< the whole answer came, as long as its head said
  bool worth_retrying = false;  ///< if not complete: the network, not the address, was the cause
  bool no_address = false;      ///< if not complete: the host's name has none
  std::string trouble = {};     ///< if not complete: why
};

/// Gets an exchange while HttpClient::Wait runs; may not call the client itself.
class HttpReceiver {
 public:
  virtual ~HttpReceiver() = default;
  /// All of the head. False ends the exchange.
  virtual bool OnHead(const HttpHead& head) = 0;
  /// The next bytes of the body. False ends the exchange.
  virtual bool OnBytes(std::span<const std::byte> bytes) = 0;
  /// Once, last; not after Cancel.
  virtual void OnEnd(const HttpEnd& end) = 0;
};

class HttpClient {
 public:
  /// `stall`: an exchange that brings nothing for so long ends. `ca_file`: certificates (PEM) that
  /// prove hosts; empty: the system's. Errors: kUnsupported (this build has no downloads),
  /// kInternal.
  [[nodiscard]] static Result<std::unique_ptr<HttpClient>> Create(std::chrono::seconds stall,
                                                                  const std::string& ca_file);
  virtual ~HttpClient() = default;

  /// Begins an exchange. The receiver must live until its OnEnd or Cancel. Error kInternal.
  [[nodiscard]] virtual Result<void> Start(const HttpRequest& request, HttpReceiver* receiver) = 0;
  /// Ends the receiver's exchange, if it has one.
  virtual void Cancel(HttpReceiver* receiver) = 0;
  /// Moves all exchanges on; returns when something happened or after `time`. Error kInternal.
  [[nodiscard]] virtual Result<void> Wait(std::chrono::milliseconds time) = 0;
};

/// `location`, which may be relative, as seen from `base`. Error kCorruptFile: not an http or
/// https address, or one with a user's name in it.
[[nodiscard]] Result<std::string> ResolveUrl(const std::string& base, const std::string& location);
/// "https://host:443" of an address; empty where it is none.
[[nodiscard]] std::string OriginOf(const std::string& url);

}  // namespace bittern::hub
