// SPDX-License-Identifier: Apache-2.0
// A pull has four steps. It looks into the cache. It asks the hub for the list of files. It chooses
// files. It fetches each one while it holds a lock on the file's name in the cache.
#include "hub/pull.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files/partial_file.hpp"
#include "base/text/display.hpp"
#include "base/text/percent.hpp"
#include "hub/ask.hpp"
#include "hub/cache.hpp"
#include "hub/choice.hpp"
#include "hub/digest.hpp"
#include "hub/http.hpp"
#include "hub/known_models.hpp"
#include "hub/repo_info.hpp"
#include "hub/transfer.hpp"

namespace bittern::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPathKeeps = "-._~/";  // in the path of an address

/// A hash as an ETag writes it: W/"..." or "..." or bare.
std::string HashOfTag(std::string_view tag) {
  if (tag.starts_with("W/")) tag.remove_prefix(2);
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"')
    tag = tag.substr(1, tag.size() - 2);
  return std::string(tag);
}

/// The path to open: the snapshot of a folder, else the first part of the file.
fs::path ModelPath(const Cache& cache, const std::string& repo, const std::string& commit,
                   const Choice& choice) {
  const fs::path snapshot = cache.Snapshot(repo, commit);
  return choice.is_folder ? snapshot : snapshot / choice.files.front();
}

/// False while shards of "model-00001-of-00003.safetensors" are missing.
bool HasAllShards(const Choice& choice) {
  constexpr std::string_view kOf = "-of-", kEnd = ".safetensors";
  std::size_t shards = 0, expected = 0;
  for (const std::string& file : choice.files) {
    const std::size_t of = file.rfind(kOf);
    if (!file.ends_with(kEnd) || of == std::string::npos) continue;
    ++shards;
    expected = static_cast<std::size_t>(std::strtoul(file.c_str() + of + kOf.size(), nullptr, 10));
  }
  return shards == expected;
}

/// All of one pull.
class Puller {
 public:
  Puller(const Reference& reference, const Settings& settings, const PullListener& listener)
      : reference_(reference), settings_(settings), listener_(listener), cache_(settings.cache) {
    watch_.is_cancelled = [this] { return listener_.is_cancelled && listener_.is_cancelled(); };
    watch_.say = [this](const std::string& sentence) {
      if (listener_.on_notice) listener_.on_notice(sentence);
    };
  }

  /// The revision is set last: until then a search of the cache does not find a model that is there
  /// in part.
  Result<Pulled> Run() {
    const auto start = std::chrono::steady_clock::now();
    client_ = BITTERN_TRY(HttpClient::Create(settings_.stall, settings_.ca_file));
    const RepoInfo info = BITTERN_TRY(AskInfo());
    const Choice choice = BITTERN_TRY(ChooseOf(info));
    BITTERN_TRY(cache_.MakeFolders(reference_.repo));
    Pulled pulled{.repo = reference_.repo, .commit = info.commit, .path = {}, .files = {}};
    Announce(info, choice);
    for (const std::string& path : choice.files) {
      const auto found = std::ranges::find(info.files, path, &RepoFile::path);
      pulled.files.push_back(BITTERN_TRY(Fetch(info.commit, *found)));
      done_before_ += pulled.files.back().size;
    }
    BITTERN_TRY(cache_.SetRevision(reference_.repo, reference_.revision, info.commit));
    pulled.path = ModelPath(cache_, reference_.repo, info.commit, choice);
    pulled.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return pulled;
  }

 private:
  [[nodiscard]] std::string Address(const std::string& commit, const std::string& path) const {
    return fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, reference_.repo, commit,
                       PercentEncoded(path, kPathKeeps));
  }

  /// Asks /api/models/REPO/revision/REVISION for the commit and the list of files.
  Result<RepoInfo> AskInfo() {
    const std::string url =
        fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint, reference_.repo,
                    PercentEncoded(reference_.revision));
    const Answer answer = BITTERN_TRY(AskText(*client_, settings_, watch_, url, kMostInfoBytes));
    if (answer.head.status != 200) {
      return tl::unexpected(
          StatusError(answer.head, settings_, reference_.repo, RepoText(reference_)));
    }
    auto info = ParseRepoInfo(answer.body);
    if (!info) return tl::unexpected(Within(settings_.endpoint, std::move(info).error()));
    return info;
  }

  /// Chooses the files. Names that are no safe paths are counted in the error, as the wanted one
  /// may be among them.
  Result<Choice> ChooseOf(const RepoInfo& info) const {
    std::vector<Candidate> files;
    for (const RepoFile& file : info.files) files.push_back({file.path, file.size});
    auto choice = Choose(files, reference_.file);
    if (choice) return choice;
    Error error = Within(RepoText(reference_), std::move(choice).error());
    if (info.left_out > 0) {
      error.message +=
          fmt::format("\n  ({} names that are no safe paths were left out)", info.left_out);
    }
    return tl::unexpected(std::move(error));
  }

  /// Tells the listener what will be downloaded. `bytes_` has the files whose size is known.
  void Announce(const RepoInfo& info, const Choice& choice) {
    for (const std::string& path : choice.files) {
      bytes_ += std::ranges::find(info.files, path, &RepoFile::path)->size.value_or(0);
    }
    if (!listener_.on_plan) return;
    listener_.on_plan({.name = RepoText(reference_),
                       .commit = info.commit,
                       .files = choice.files,
                       .bytes = bytes_,
                       .why = choice.why});
  }

  /// Size and hash of a file: what the list of files says and what the file's own head says.
  Result<RepoFile> AskFile(const std::string& commit, const RepoFile& listed) {
    const Answer answer =
        BITTERN_TRY(AskHead(*client_, settings_, watch_, Address(commit, listed.path)));
    const HttpHead& head = answer.head;
    if (head.status >= 400) {
      return tl::unexpected(StatusError(head, settings_, reference_.repo, Name(listed.path)));
    }
    const std::string at = HashOfTag(head.Field("x-repo-commit"));
    const bool linked = !head.Field("x-linked-etag").empty();
    const std::string tag = HashOfTag(head.Field(linked ? "x-linked-etag" : "etag"));
    RepoFile file = listed;
    if (!at.empty() && at != commit) return Differs(listed.path, "the commit", commit, at);
    for (const auto& [hash, digits] :
         {std::pair(&file.sha256, 64), std::pair(&file.git_sha1, 40)}) {
      if (!IsHex(tag, static_cast<std::size_t>(digits))) continue;
      if (!hash->empty() && *hash != tag) return Differs(listed.path, "the hash", *hash, tag);
      *hash = tag;
    }
    const std::string_view length =
        head.Field(!head.Field("x-linked-size").empty() ? "x-linked-size"
                   : head.status == 200                 ? "content-length"
                                                        : "");
    const std::string said = file.size ? std::to_string(*file.size) : std::string(length);
    if (!length.empty() && length != said) return Differs(listed.path, "the size", said, length);
    if (!file.size) {
      file.size = ParseSize(length);
      if (!file.size) return Silent(listed.path, "size");
    }
    if (file.sha256.empty() && file.git_sha1.empty()) return Silent(listed.path, "hash");
    return file;
  }

  /// A size of up to 14 digits; nullopt for all other texts.
  static std::optional<std::uint64_t> ParseSize(std::string_view text) {
    if (text.empty() || text.size() > 14) return std::nullopt;
    std::uint64_t size = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      size = 10 * size + static_cast<std::uint64_t>(c - '0');
    }
    return size;
  }

  [[nodiscard]] std::string Name(const std::string& path) const {
    return fmt::format("{}:{}", reference_.repo, path);
  }
  [[nodiscard]] tl::unexpected<Error> Differs(const std::string& path, const char* what,
                                              const std::string& listed,
                                              std::string_view said) const {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: {} is {} in the list of files, but {} in the file's own head",
                            Name(path), what, listed, Printable(said)));
  }
  [[nodiscard]] tl::unexpected<Error> Silent(const std::string& path, const char* what) const {
    return Fail(ErrorCode::kCorruptFile, fmt::format("{}: {} does not say the file's {}",
                                                     Name(path), settings_.endpoint, what));
  }

  /// Gets one file unless it is there. The lock is taken before the blob is looked for, as another
  /// program may be just writing it.
  Result<PulledFile> Fetch(const std::string& commit, const RepoFile& listed) {
    const RepoFile file = BITTERN_TRY(AskFile(commit, listed));
    const std::string& hash = file.sha256.empty() ? file.git_sha1 : file.sha256;
    NoticeUnknown(file);
    PulledFile pulled{.path = file.path, .size = *file.size, .hash = hash};
    const fs::path place = cache_.Snapshot(reference_.repo, commit) / file.path;
    bool wrong = false;  // of the blob, which then need not be hashed again
    if (IsThere(place, *file.size, hash)) {
      const bool same = BITTERN_TRY(IsAsSaid(place, file));
      if (same) return pulled;
      wrong = IsLink(place);
    }
    const FileLock lock = BITTERN_TRY(Lock(hash, file.path));
    const fs::path blob = cache_.Blob(reference_.repo, hash);
    bool good = !wrong && HasSize(blob, *file.size);
    if (good) good = BITTERN_TRY(IsAsSaid(blob, file));
    if (!good) {
      pulled.received = BITTERN_TRY(TransferTo(blob, commit, file));
      pulled.fetched = true;
    }
    BITTERN_TRY(cache_.Link(reference_.repo, commit, file.path, hash, pulled.fetched));
    return pulled;
  }

  /// Returns the bytes that were not there before.
  Result<std::uint64_t> TransferTo(const fs::path& blob, const std::string& commit,
                                   const RepoFile& file) {
    fs::path incomplete = blob;
    incomplete += ".incomplete";
    BITTERN_TRY(CheckSpace(incomplete, *file.size));
    std::error_code missing;
    const std::uint64_t found = fs::file_size(incomplete, missing);
    const std::uint64_t before = missing || found > *file.size ? 0 : found;
    if (before > 0) watch_.say(fmt::format("going on after {} of {}", SizeText(before), file.path));
    const bool large = !file.sha256.empty();
    const auto done = Transfer(*client_, settings_, watch_,
                               {.url = Address(commit, file.path),
                                .name = Name(file.path),
                                .repo = reference_.repo,
                                .size = *file.size,
                                .kind = large ? DigestKind::kSha256 : DigestKind::kGitBlob,
                                .hash = large ? file.sha256 : file.git_sha1,
                                .incomplete = incomplete,
                                .whole = blob,
                                .on_progress = [&](std::uint64_t now) { Tell(file, now); }});
    if (listener_.on_file_end) listener_.on_file_end();
    if (done) return *file.size - before;
    Error error = done.error();
    std::error_code ignored;
    const auto kept = fs::file_size(incomplete, ignored);
    if (!ignored && kept > 0) {
      error.message += fmt::format("; {} of {} are kept, and the same command goes on from there",
                                   SizeText(kept), SizeText(*file.size));
    }
    return tl::unexpected(std::move(error));
  }

  /// Passes progress on: of this file and of all.
  void Tell(const RepoFile& file, std::uint64_t done) const {
    if (!listener_.on_progress) return;
    listener_.on_progress({.file = file.path,
                           .done = done,
                           .size = *file.size,
                           .all_done = done_before_ + done,
                           .bytes = std::max(bytes_, done_before_ + *file.size)});
  }

  /// A model of the table whose bytes are others now.
  void NoticeUnknown(const RepoFile& file) const {
    const KnownModel* known = FindKnownFile(reference_.repo, file.path);
    if (known == nullptr || known->sha256.empty() || known->sha256 == file.sha256) return;
    watch_.say(fmt::format("{} is not the file that is known as {}: its SHA-256 was {}",
                           Name(file.path), known->name, known->sha256));
  }

  static bool HasSize(const fs::path& path, std::uint64_t size) {
    std::error_code failed;
    return fs::is_regular_file(path, failed) && fs::file_size(path, failed) == size;
  }
  /// True if the place in the snapshot holds these bytes: a link to the blob, or the file itself.
  static bool IsThere(const fs::path& place, std::uint64_t size, const std::string& hash) {
    std::error_code failed;
    if (!HasSize(place, size)) return false;
    return !IsLink(place) || fs::read_symlink(place, failed).filename() == hash;
  }
  static bool IsLink(const fs::path& path) {
    std::error_code failed;
    return fs::is_symlink(path, failed);
  }

  /// Hashes a file of the cache where that was asked for, and says how it is. True without a look
  /// where it was not.
  [[nodiscard]] Result<bool> IsAsSaid(const fs::path& path, const RepoFile& file) const {
    if (!settings_.check) return true;
    const bool large = !file.sha256.empty();
    Digest digest =
        BITTERN_TRY(Digest::Create(large ? DigestKind::kSha256 : DigestKind::kGitBlob, *file.size));
    std::ifstream bytes(path, std::ios::binary);
    std::vector<char> buffer(std::size_t{4} << 20);
    do {
      if (watch_.is_cancelled()) return Cancelled("interrupted");
      bytes.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
      digest.Add(std::as_bytes(std::span(buffer).first(static_cast<std::size_t>(bytes.gcount()))));
    } while (bytes);
    const bool same = digest.Finish() == (large ? file.sha256 : file.git_sha1);
    watch_.say(same ? fmt::format("checked {}: its hash is the hub's", Name(file.path))
                    : fmt::format("{}: the cache has other bytes than the hub; fetching it anew",
                                  Name(file.path)));
    return same;
  }

  /// Waits for another program that downloads the same file; says so once.
  Result<FileLock> Lock(const std::string& hash, const std::string& path) {
    const fs::path file = cache_.LockFile(reference_.repo, hash);
    for (bool said = false;; said = true) {
      auto lock = BITTERN_TRY(FileLock::Try(file));
      if (lock) return *std::move(lock);
      if (!said) watch_.say(fmt::format("another program is downloading {}; waiting for it", path));
      BITTERN_TRY(Pause(watch_, std::chrono::milliseconds(200)));
    }
  }

  /// Refuses a download that the disk has no room for. If the room is not known, it goes on.
  static Result<void> CheckSpace(const fs::path& incomplete, std::uint64_t size) {
    std::error_code failed, missing;
    const auto space = fs::space(incomplete.parent_path(), failed);
    const std::uintmax_t there = fs::file_size(incomplete, missing);
    const std::uint64_t wanted = size - std::min<std::uint64_t>(missing ? 0 : there, size);
    if (failed || space.available >= wanted) return {};
    return Fail(ErrorCode::kIo,
                fmt::format("{}: {} are needed, {} are free", incomplete.parent_path().string(),
                            SizeText(wanted), SizeText(space.available)),
                "make room, or set HF_HUB_CACHE to a folder on another disk");
  }

  const Reference& reference_;
  const Settings& settings_;
  const PullListener& listener_;
  Cache cache_;
  Watch watch_;
  std::uint64_t bytes_ = 0;        // of all files that were chosen
  std::uint64_t done_before_ = 0;  // of files that are whole
  std::unique_ptr<HttpClient> client_;
};

}  // namespace

/// Looks for the model without the network. nullopt where a part of it is missing, so that a pull
/// completes it.
Result<std::optional<Pulled>> FindInCache(const Reference& reference, const Settings& settings) {
  const Cache cache(settings.cache);
  const auto commit = cache.CommitOf(reference.repo, reference.revision);
  if (!commit) return std::nullopt;
  const std::vector<Candidate> files = cache.FilesOf(reference.repo, *commit);
  const auto choice = Choose(files, reference.file);
  if (!choice && choice.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!choice) return tl::unexpected(Within(RepoText(reference), choice.error()));
  if (choice->is_folder && !HasAllShards(*choice)) return std::nullopt;
  Pulled found{.repo = reference.repo,
               .commit = *commit,
               .path = ModelPath(cache, reference.repo, *commit, *choice),
               .files = {}};
  for (const std::string& path : choice->files) {
    const auto file = std::ranges::find(files, path, &Candidate::path);
    found.files.push_back({.path = path, .size = file->size.value_or(0), .hash = {}});
  }
  return found;
}

namespace {

/// A repository that is known not to run is refused before its download.
Result<void> CheckRuns(const Reference& reference) {
  constexpr std::string_view kNo = "no: ";
  const OtherModel* other = FindOtherModel(reference.repo);
  if (other == nullptr || !other->runs.starts_with(kNo) || !reference.file.empty()) return {};
  return Fail(
      ErrorCode::kUnsupported,
      fmt::format("{} does not run here: {}", reference.repo, other->runs.substr(kNo.size())),
      fmt::format("{}:FILE is downloaded all the same", reference.repo));
}

}  // namespace

/// Offline, the cache is all there is.
Result<Pulled> Pull(const Reference& reference, const Settings& settings,
                    const PullListener& listener) {
  BITTERN_TRY(CheckRuns(reference));
  if (!settings.offline) return Puller(reference, settings, listener).Run();
  if (settings.check) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: a check needs the hub, which says the hashes; offline, it is not "
                            "asked",
                            RepoText(reference)),
                "check without offline=true and HF_HUB_OFFLINE");
  }
  auto found = BITTERN_TRY(FindInCache(reference, settings));
  if (found) return *std::move(found);
  return Fail(
      ErrorCode::kNotFound,
      fmt::format("{}{}{} is not in {}", RepoText(reference), reference.file.empty() ? "" : ":",
                  reference.file, settings.cache.string()),
      "offline, nothing is downloaded (offline=true or HF_HUB_OFFLINE)");
}

Result<Pulled> FindOrPull(const Reference& reference, const Settings& settings,
                          const PullListener& listener) {
  auto found = BITTERN_TRY(FindInCache(reference, settings));
  if (found) return *std::move(found);
  return Pull(reference, settings, listener);
}

}  // namespace bittern::hub
