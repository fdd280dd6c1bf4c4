// SPDX-License-Identifier: Apache-2.0
// One question to a hub with a short answer: redirects followed, the network's failures tried
// again. And what a refusal means, in words. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "hub/http.hpp"
#include "hub/settings.hpp"

namespace bittern::hub {

struct Answer {
  HttpHead head;     ///< of the last answer, with the X- fields of those before it
  std::string body;  ///< empty of HEAD
};

/// Told and asked around a request. Both may be called often.
struct Watch {
  std::function<bool()> is_cancelled;
  std::function<void(const std::string&)> say;  ///< one sentence, e.g. "waiting 3 s: ..."
};

/// GET, of at most `most_bytes`. Returns any answer that is no redirect and not worth trying again.
/// Errors: kIo (network), kCorruptFile (too long, redirects), kCancelled.
[[nodiscard]] Result<Answer> AskText(HttpClient& client, const Settings& settings,
                                     const Watch& watch, const std::string& url,
                                     std::size_t most_bytes);
/// HEAD, which stops at a redirect to another host.
[[nodiscard]] Result<Answer> AskHead(HttpClient& client, const Settings& settings,
                                     const Watch& watch, const std::string& url);

/// How long to wait before the next try of a request that failed `failures` times in a row.
[[nodiscard]] std::chrono::milliseconds DelayAfter(int failures) noexcept;
/// The Retry-After of an answer, in seconds or as a date; 0 without one. Error kIo: longer than
/// this program waits.
[[nodiscard]] Result<std::chrono::milliseconds> RetryAfter(const HttpHead& head);
/// True for 408, 429 and 5xx: another try may help.
[[nodiscard]] bool IsPassing(int status) noexcept;

/// The words for a status that is not 2xx. `what`: the repository or file that was wanted.
[[nodiscard]] Error StatusError(const HttpHead& head, const Settings& settings,
                                const std::string& repo, const std::string& what);

/// Error kCancelled.
[[nodiscard]] tl::unexpected<Error> Cancelled(std::string what);

/// Moves the client on for `time` at least, or until it is cancelled (error kCancelled).
[[nodiscard]] Result<void> Pause(const Watch& watch, std::chrono::milliseconds time);

}  // namespace bittern::hub
