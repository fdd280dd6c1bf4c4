// SPDX-License-Identifier: Apache-2.0
// A question is sent again after a pause that doubles, as long as its failure looks passing; a
// refusal is put in words by its status.
#include "hub/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <thread>
#include <utility>

#include "base/calendar.hpp"
#include "base/text/display.hpp"
#include "hub/route.hpp"

namespace bittern::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongestWait{300};

/// Keeps a short body.
class TextReceiver final : public HttpReceiver {
 public:
  explicit TextReceiver(std::size_t most) : most_(most) {}
  bool OnHead(const HttpHead& head) override {
    answer.head = head;
    return true;
  }
  bool OnBytes(std::span<const std::byte> bytes) override {
    too_long = answer.body.size() + bytes.size() > most_;
    if (!too_long) answer.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return !too_long;
  }
  void OnEnd(const HttpEnd& end) override {
    ended = true;
    how = end;
  }

  Answer answer;
  HttpEnd how;
  bool too_long = false, ended = false;

 private:
  std::size_t most_;
};

/// Fields of earlier answers stay unless the next one has them: the first host knows the file.
void KeepFields(const HttpHead& earlier, HttpHead* head) {
  for (const auto& [name, value] : earlier.fields) {
    if (name.starts_with("x-")) head->fields.try_emplace(name, value);
  }
}

/// One question to the hub with all its redirects, pauses and retries. A retry begins at the first
/// address again, since a signed address of another host may have ended.
class Question {
 public:
  Question(HttpClient& client, const Settings& settings, const Watch& watch, std::string url,
           std::size_t most, bool head_only)
      : client_(client),
        settings_(settings),
        watch_(watch),
        route_(url, settings.token),
        url_(std::move(url)),
        most_(most),
        head_only_(head_only) {}

  /// Asks until there is an answer that is not passing, or the retries are used up. Redirects are
  /// no failures.
  Result<Answer> Ask() {
    for (int failures = 0;;) {
      TextReceiver receiver(most_);
      BITTERN_TRY(Exchange(&receiver));
      const HttpHead& head = receiver.answer.head;
      if (receiver.too_long) {
        return Fail(ErrorCode::kCorruptFile,
                    fmt::format("{}: an answer of {} bytes at most expected, more found",
                                Printable(url_, 200), most_));
      }
      milliseconds wait{0};
      std::string why = receiver.how.trouble;
      if (!receiver.how.complete && !receiver.how.worth_retrying) return Unreachable(why);
      if (receiver.how.complete) {
        if (IsRedirect(head.status)) {
          if (BITTERN_TRY(Follow(&receiver.answer))) continue;
          return std::move(receiver.answer);
        }
        if (!IsPassing(head.status)) {
          KeepFields(earlier_, &receiver.answer.head);
          return std::move(receiver.answer);
        }
        wait = BITTERN_TRY(RetryAfter(head));
        why = fmt::format("the hub answered with status {}", head.status);
      }
      if (++failures > Retries(receiver.how)) return Unreachable(why);
      wait = std::max(wait, DelayAfter(failures));
      watch_.say(fmt::format("{}; trying again in {:.1f} s", why, double(wait.count()) / 1e3));
      BITTERN_TRY(Pause(watch_, wait));
      route_.Restart();
    }
  }

 private:
  /// One request and its answer. Looks ten times a second whether the user wants to stop.
  Result<void> Exchange(TextReceiver* receiver) {
    const seconds most = 10 * settings_.stall;
    BITTERN_TRY(client_.Start(
        {.url = route_.url(), .token = route_.token(), .head_only = head_only_, .most = most},
        receiver));
    while (!receiver->ended) {
      const auto moved = client_.Wait(milliseconds(100));
      if (!moved || watch_.is_cancelled()) {
        client_.Cancel(receiver);
        if (!moved) return moved;
        return Cancelled("interrupted");
      }
    }
    return {};
  }

  /// False where the answer to HEAD is this redirect itself.
  Result<bool> Follow(Answer* answer) {
    KeepFields(earlier_, &answer->head);
    BITTERN_TRY(route_.Follow(std::string(answer->head.Field("location"))));
    if (head_only_ && !route_.is_at_origin()) return false;
    earlier_ = answer->head;
    return true;
  }

  /// A name that has no address is asked for twice: most often there is no network.
  [[nodiscard]] int Retries(const HttpEnd& how) const {
    return how.no_address ? std::min(settings_.retries, 1) : settings_.retries;
  }

  tl::unexpected<Error> Unreachable(const std::string& why) const {
    const std::string address = url_.substr(0, url_.find('?'));
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", Printable(address, 200), why),
                "offline=true uses what was downloaded before, model=FILE a file that is here");
  }

  HttpClient& client_;
  const Settings& settings_;
  const Watch& watch_;
  Route route_;
  std::string url_;
  std::size_t most_;
  bool head_only_;
  HttpHead earlier_;
};

}  // namespace

Result<Answer> AskText(HttpClient& client, const Settings& settings, const Watch& watch,
                       const std::string& url, std::size_t most_bytes) {
  return Question(client, settings, watch, url, most_bytes, false).Ask();
}

Result<Answer> AskHead(HttpClient& client, const Settings& settings, const Watch& watch,
                       const std::string& url) {
  return Question(client, settings, watch, url, 4096, true).Ask();
}

/// 250 ms after the first failure, then twice as long each time, 16 s at most.
milliseconds DelayAfter(int failures) noexcept {
  return milliseconds(250) * (1 << std::clamp(failures - 1, 0, 6));
}

/// Reads Retry-After of RFC 9110 section 10.2.3: seconds, or a date. A wait of more than
/// kLongestWait is an error, since a user would think that the program hangs.
Result<milliseconds> RetryAfter(const HttpHead& head) {
  const std::string text(head.Field("retry-after"));
  if (text.empty()) return milliseconds(0);
  std::uint64_t wait = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wait);
  if (error == std::errc::result_out_of_range) wait = UINT64_MAX;
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    const auto date = HttpTime(text);
    if (!date) return milliseconds(0);
    const std::time_t then = *date, now = std::time(nullptr);
    wait = then > now ? static_cast<std::uint64_t>(then - now) : 0;
  }
  if (wait <= static_cast<std::uint64_t>(kLongestWait.count())) {
    return milliseconds(seconds(static_cast<std::int64_t>(wait)));
  }
  return Fail(ErrorCode::kIo,
              fmt::format("the hub asks to wait {} s before the next request (status {}); {} s are "
                          "waited at most: try again later",
                          wait, head.status, kLongestWait.count()));
}

/// Timeout, too many requests, and errors of the server but 501 and 505, which say "never".
bool IsPassing(int status) noexcept {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

/// Puts a refusal in words. The hub answers 401 for a repository that is not there as well, so the
/// message names both reasons unless X-Error-Code tells.
Error StatusError(const HttpHead& head, const Settings& settings, const std::string& repo,
                  const std::string& what) {
  const std::string_view code = head.Field("x-error-code");
  const std::string page = fmt::format("{}/{}", settings.endpoint, repo);
  const bool has_token = !settings.token.empty();
  const bool gated = code == "GatedRepo";
  if (head.status == 401 || head.status == 403) {
    std::string message = fmt::format("{}: the hub refuses it (status {})", what, head.status);
    std::string cure;
    if (gated)
      message =
          fmt::format("{}: the repository is gated: its owner wants to know who uses it", what);
    if (code == "RepoNotFound" || (!gated && !has_token)) {
      message = fmt::format("{}: there is no such repository, or it is private or gated", what);
    }
    if (!has_token) {
      cure = fmt::format(
          "check the name; for a private or gated one ask for access at {}, make a "
          "token at {}/settings/tokens and set HF_TOKEN to it",
          page, settings.endpoint);
    } else {
      cure = fmt::format(
          "a token was sent: see at {} whether its user has access, and at "
          "{}/settings/tokens whether the token may read it",
          page, settings.endpoint);
    }
    return {ErrorCode::kNotFound, std::move(message), std::move(cure)};
  }
  if (head.status == 404 && code == "RevisionNotFound") {
    return {ErrorCode::kNotFound, fmt::format("{}: there is no such branch, tag or commit", what)};
  }
  if (head.status == 404) {
    return {ErrorCode::kNotFound, fmt::format("{}: not found at {}", what, settings.endpoint)};
  }
  std::string message = fmt::format("{}: status 200 expected, {} found", what, head.status);
  if (const std::string_view said = head.Field("x-error-message"); !said.empty()) {
    message += fmt::format(" ({})", Printable(said, 200));
  }
  return {ErrorCode::kIo, std::move(message)};
}

tl::unexpected<Error> Cancelled(std::string what) {
  return Fail(ErrorCode::kCancelled, std::move(what));
}

Result<void> Pause(const Watch& watch, milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (watch.is_cancelled()) return Cancelled("interrupted");
    std::this_thread::sleep_for(std::min(milliseconds(50), time));
  }
  return {};
}

}  // namespace bittern::hub
