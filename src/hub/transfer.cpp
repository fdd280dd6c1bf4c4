// SPDX-License-Identifier: Apache-2.0
// Chunks lie in a queue by their place in the file. The front one is written as it comes, the
// others are held in memory until they are the front; the queue is short, so memory is bounded.
#include "hub/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files/partial_file.hpp"
#include "base/text/display.hpp"
#include "hub/route.hpp"

namespace bittern::hub {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kMostCuts = 1000;          // of one file, however little each costs
constexpr std::uint64_t kSlowest = 256;  // bytes per second of a connection; fewer are a stall
constexpr std::size_t kMostIgnored = std::size_t{1} << 20;

/// A part of the file that one lane asks for. `held` has its bytes until it is the front.
struct Chunk {
  std::uint64_t first = 0, size = 0, received = 0;
  std::vector<std::byte> held = {};
  [[nodiscard]] bool is_whole() const noexcept { return received == size; }
};

/// "bytes 5-9/100" -> {5, 9, 100}; the total may be "*".
struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;
};
/// Reads Content-Range of RFC 9110 section 14.4; nullopt for other units or forms.
std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const auto read = [&](std::uint64_t* number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  const auto skip = [&](char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  };
  ContentRange range;
  std::uint64_t total = 0;
  if (!read(&range.first) || !skip('-') || !read(&range.last) || !skip('/')) return std::nullopt;
  if (text == "*") return range;
  if (!read(&total) || !text.empty()) return std::nullopt;
  range.total = total;
  return range;
}

/// The file as far as it is there: bytes in order, hashed.
class Front {
 public:
  /// A file that is longer than it should be is of no use, and begins anew.
  static Result<Front> Open(const TransferJob& job) {
    auto file = BITTERN_TRY(PartialFile::Open(job.incomplete));
    if (file.size() > job.size) BITTERN_TRY(file.Clear());
    auto digest = BITTERN_TRY(Digest::Create(job.kind, job.size));
    return Front(std::move(file), std::move(digest));
  }
  /// Hashes what an earlier run left.
  Result<void> ReadBack(const Watch& watch) {
    std::vector<std::byte> buffer(std::size_t{4} << 20);
    for (std::uint64_t at = 0; at < file_.size();) {
      if (watch.is_cancelled()) return Cancelled("interrupted");
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file_.size() - at));
      const std::span<std::byte> part = std::span(buffer).first(count);
      BITTERN_TRY(file_.Read(at, part));
      digest_.Add(part);
      at += count;
    }
    return {};
  }
  Result<void> Append(std::span<const std::byte> bytes) {
    BITTERN_TRY(file_.Append(bytes));
    digest_.Add(bytes);
    return {};
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return file_.size(); }
  [[nodiscard]] std::string Hash() { return digest_.Finish(); }
  PartialFile& file() noexcept { return file_; }

 private:
  Front(PartialFile file, Digest digest) : file_(std::move(file)), digest_(std::move(digest)) {}
  PartialFile file_;
  Digest digest_;
};

class Download;

/// One connection: asks for one chunk after the other.
class Lane final : public HttpReceiver {
 public:
  Lane(Download& owner, const std::string& url, const std::string& token)
      : owner_(owner), route(url, token) {}

  bool OnHead(const HttpHead& head) override;
  bool OnBytes(std::span<const std::byte> bytes) override;
  void OnEnd(const HttpEnd& end) override {
    running = false;
    how = end;
  }

 private:
  bool CheckRange(const HttpHead& head);
  Download& owner_;

 public:
  Route route;
  std::shared_ptr<Chunk> chunk;
  HttpHead head;
  std::optional<HttpEnd> how;  ///< of an exchange that is over and was not looked at
  bool running = false;
  Clock::time_point not_before = {};
  int failures = 0;              ///< in a row without a byte
  Clock::time_point since = {};  ///< when `recent` was begun
  std::uint64_t recent = 0;      ///< bytes since then
  int slow = 0;                  ///< exchanges in a row that were ended as too slow
  std::uint64_t skip = 0;        ///< bytes to come that are there already
  std::size_t ignored = 0;       ///< bytes of bodies that are not the file
};

/// Shares a file out to the lanes. All on one thread: lanes are called while the client waits.
class Download {
 public:
  Download(HttpClient& client, const Settings& settings, const Watch& watch, const TransferJob& job,
           Front& front)
      : client_(client), settings_(settings), watch_(watch), job_(job), front_(front) {
    next_ = front.size();
    for (int i = 0; i < settings.connections; ++i) {
      lanes_.push_back(std::make_unique<Lane>(*this, job.url, settings.token));
    }
  }
  ~Download() {
    for (const auto& lane : lanes_) client_.Cancel(lane.get());
  }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  /// Runs until the front is the whole file.
  Result<void> Run() {
    while (front_.size() < job_.size) {
      if (watch_.is_cancelled()) return Cancelled("interrupted");
      for (const auto& lane : lanes_) BITTERN_TRY(Move(*lane));
      BITTERN_TRY(client_.Wait(milliseconds(50)));
      if (error_) return tl::unexpected(*error_);
      if (only_whole_ && !single_) BecomeSingle();
      job_.on_progress(Received());
    }
    return {};
  }

  // For lanes, while the client waits.
  [[nodiscard]] const TransferJob& job() const noexcept { return job_; }
  [[nodiscard]] bool is_single() const noexcept { return single_; }
  /// Keeps the first error, which Run returns. False ends the exchange.
  bool Refuse(Error error) {
    if (!error_) error_ = std::move(error);
    return false;
  }
  /// Notes that the server ignores ranges. Lanes may not be changed during a call of theirs, so Run
  /// does the rest.
  bool RefuseRanges() {
    only_whole_ = true;
    return false;
  }
  /// Takes bytes of a chunk: to the file if it is the front, else into memory. When the front is
  /// whole, the chunks behind it follow as far as they are there.
  bool Take(Chunk& chunk, std::span<const std::byte> bytes) {
    if (bytes.size() > chunk.size - chunk.received) {
      return Refuse({ErrorCode::kCorruptFile,
                     fmt::format("{}: the server sends more bytes than it said", job_.name)});
    }
    chunk.received += bytes.size();
    if (&chunk != queue_.front().get()) {
      if (chunk.held.empty()) chunk.held.reserve(static_cast<std::size_t>(chunk.size));
      chunk.held.insert(chunk.held.end(), bytes.begin(), bytes.end());
      return true;
    }
    auto written = front_.Append(bytes);
    while (written && !queue_.empty() && queue_.front()->is_whole()) {
      queue_.pop_front();
      if (queue_.empty()) break;
      written = front_.Append(queue_.front()->held);
      queue_.front()->held = {};
    }
    return written.has_value() || Refuse(std::move(written).error());
  }

 private:
  [[nodiscard]] std::uint64_t Received() const {
    std::uint64_t held = 0;
    for (const auto& chunk : queue_) held += chunk->held.size();
    return front_.size() + held;
  }

  /// The server sends whole files only: one lane, from the beginning, dropping what is there.
  void BecomeSingle() {
    single_ = true;
    for (const auto& lane : lanes_) {
      client_.Cancel(lane.get());
      lane->running = false;
      lane->how.reset();
      lane->chunk.reset();
    }
    lanes_.resize(1);
    queue_.clear();
    next_ = front_.size();
  }

  /// Gives an idle lane something to do; looks at what an exchange that is over came to.
  Result<void> Move(Lane& lane) {
    if (lane.how) {
      const HttpEnd how = *std::exchange(lane.how, std::nullopt);
      BITTERN_TRY(Judge(lane, how));
    }
    if (lane.running) return CheckSpeed(lane);
    if (Clock::now() < lane.not_before) return {};
    if (lane.chunk && lane.chunk->is_whole()) lane.chunk.reset();
    if (!lane.chunk && !NextChunk(lane)) return {};
    const Chunk& chunk = *lane.chunk;
    const std::uint64_t first = chunk.first + chunk.received, end = chunk.first + chunk.size;
    lane.head = {};
    lane.skip = 0;
    lane.ignored = 0;
    BITTERN_TRY(client_.Start({.url = lane.route.url(),
                               .token = lane.route.token(),
                               .with_range = first != 0 || end != job_.size,
                               .first = first,
                               .last = end - 1},
                              &lane));
    lane.running = true;
    lane.since = Clock::now();
    lane.recent = 0;
    return {};
  }

  /// Ends an exchange that brings next to nothing; one that brings nothing ends by itself.
  Result<void> CheckSpeed(Lane& lane) {
    const auto time = 2 * settings_.stall;
    if (Clock::now() - lane.since < time) return {};
    const bool slow = lane.recent < kSlowest * static_cast<std::uint64_t>(time.count());
    lane.since = Clock::now();
    lane.recent = 0;
    if (!slow) lane.slow = 0;
    if (!slow) return {};
    client_.Cancel(&lane);
    lane.running = false;
    lane.failures = lane.slow++;
    return TryAgain(
        lane, fmt::format("fewer than {} bytes per second came for {} s", kSlowest, time.count()),
        milliseconds(0));
  }

  /// Gives the lane the next part of the file. False while the queue is full: the front is slow,
  /// and more chunks would only fill the memory.
  bool NextChunk(Lane& lane) {
    const std::size_t most = lanes_.size() + 2;
    if (next_ >= job_.size || queue_.size() >= most) return false;
    const std::uint64_t size =
        single_ ? job_.size - next_ : std::min(kChunkBytes, job_.size - next_);
    lane.chunk = std::make_shared<Chunk>(Chunk{.first = next_, .size = size});
    queue_.push_back(lane.chunk);
    next_ += size;
    return true;
  }

  /// Looks at how an exchange ended: redirect, done, cut short, passing failure, or refusal.
  Result<void> Judge(Lane& lane, const HttpEnd& how) {
    const int status = lane.head.status;
    if (IsRedirect(status) && (how.complete || how.worth_retrying)) {
      return lane.route.Follow(std::string(lane.head.Field("location")));
    }
    if ((status == 200 || status == 206) && lane.chunk->is_whole()) {
      lane.slow = 0;
      return {};
    }
    if (status == 0 || status == 200 || status == 206) {
      if (!how.complete && !how.worth_retrying) {
        return Fail(ErrorCode::kIo, fmt::format("{}: {}", job_.name, how.trouble));
      }
      return TryAgain(lane, how.complete ? "the connection ended early" : how.trouble,
                      milliseconds(0));
    }
    if (IsPassing(status)) {
      const auto wait = BITTERN_TRY(RetryAfter(lane.head));
      return TryAgain(lane, fmt::format("the server answered with status {}", status), wait);
    }
    // A signed address of another host ends after some time; the hub gives a new one.
    if (!lane.route.is_at_start() && lane.failures == 0) {
      return TryAgain(lane, fmt::format("the server answered with status {}", status),
                      milliseconds(0));
    }
    return tl::unexpected(StatusError(lane.head, settings_, job_.repo, job_.name));
  }

  /// Lets the lane wait, and begin at the first address again. Bytes that came are kept.
  Result<void> TryAgain(Lane& lane, const std::string& why, milliseconds least) {
    if (++lane.failures > settings_.retries || ++cuts_ > kMostCuts) {
      return Fail(ErrorCode::kIo,
                  fmt::format("{}: {}, {} times in a row", job_.name, why, lane.failures));
    }
    const milliseconds wait = std::max(least, DelayAfter(lane.failures));
    if (wait >= milliseconds(1000)) {
      watch_.say(fmt::format("{}; trying again in {:.1f} s", why, double(wait.count()) / 1e3));
    }
    lane.not_before = Clock::now() + wait;
    lane.route.Restart();
    return {};
  }

  HttpClient& client_;
  const Settings& settings_;
  const Watch& watch_;
  const TransferJob& job_;
  Front& front_;
  std::deque<std::shared_ptr<Chunk>> queue_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::uint64_t next_ = 0;  ///< where the next chunk begins
  std::optional<Error> error_;
  bool only_whole_ = false, single_ = false;
  int cuts_ = 0;
};

/// The answer must begin where it was asked to; it may end sooner.
bool Lane::CheckRange(const HttpHead& answer) {
  const TransferJob& job = owner_.job();
  const auto range = ParseContentRange(answer.Field("content-range"));
  const std::uint64_t first = chunk->first + chunk->received, end = chunk->first + chunk->size;
  if (range && range->first == first && range->last >= first && range->last < end &&
      range->total.value_or(job.size) == job.size) {
    return true;
  }
  return owner_.Refuse(
      {ErrorCode::kCorruptFile,
       fmt::format("{}: bytes {}-{}/{} asked for, {} found in the server's answer", job.name, first,
                   end - 1, job.size, Quoted(answer.Field("content-range")))});
}

/// A 200 means the whole file. That is good for a file in one chunk; otherwise the server has no
/// ranges, and the bytes that are there already are skipped.
bool Lane::OnHead(const HttpHead& answer) {
  head = answer;
  const TransferJob& job = owner_.job();
  if (head.status == 206) return CheckRange(answer);
  if (head.status != 200) return true;
  const std::string_view length = answer.Field("content-length");
  if (!length.empty() && length != std::to_string(job.size)) {
    return owner_.Refuse(
        {ErrorCode::kCorruptFile, fmt::format("{}: {} bytes expected, the server says {}", job.name,
                                              job.size, Printable(length))});
  }
  const bool to_end = chunk->first + chunk->size == job.size;
  if (!to_end || (chunk->first + chunk->received != 0 && !owner_.is_single())) {
    return owner_.RefuseRanges();
  }
  skip = chunk->first + chunk->received;
  return true;
}

/// Bodies of refusals are read to their end, up to a limit, so that the connection stays usable.
bool Lane::OnBytes(std::span<const std::byte> bytes) {
  recent += bytes.size();
  if (head.status != 200 && head.status != 206) {
    ignored += bytes.size();
    return ignored <= kMostIgnored;
  }
  const auto dropped = static_cast<std::size_t>(std::min<std::uint64_t>(skip, bytes.size()));
  skip -= dropped;
  bytes = bytes.subspan(dropped);
  if (bytes.empty()) return true;
  failures = 0;
  return owner_.Take(*chunk, bytes);
}

/// True if the file got its name; false if its hash is wrong and it was removed.
Result<bool> Attempt(HttpClient& client, const Settings& settings, const Watch& watch,
                     const TransferJob& job, bool* went_on) {
  Front front = BITTERN_TRY(Front::Open(job));
  *went_on = front.size() > 0;
  BITTERN_TRY(front.ReadBack(watch));
  BITTERN_TRY(Download(client, settings, watch, job, front).Run());
  if (front.Hash() == job.hash) {
    BITTERN_TRY(front.file().FinishAs(job.whole));
    return true;
  }
  std::error_code ignored;
  std::filesystem::remove(job.incomplete, ignored);
  return false;
}

}  // namespace

/// A wrong hash is tried once more only if an earlier run left bytes: these may have been the wrong
/// ones.
Result<void> Transfer(HttpClient& client, const Settings& settings, const Watch& watch,
                      const TransferJob& job) {
  bool went_on = false;
  if (BITTERN_TRY(Attempt(client, settings, watch, job, &went_on))) return {};
  if (went_on) {
    watch.say(fmt::format("{}: the unfinished file had wrong bytes; beginning anew", job.name));
    if (BITTERN_TRY(Attempt(client, settings, watch, job, &went_on))) return {};
  }
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{}: the hash {} expected, the bytes that came have another; nothing of "
                          "them was kept",
                          job.name, job.hash));
}

}  // namespace bittern::hub
