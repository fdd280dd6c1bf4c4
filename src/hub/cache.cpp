// SPDX-License-Identifier: Apache-2.0
// Names inside the cache may have been put there by others: those that are not safe are not seen.
#include "hub/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "base/files/atomic_file.hpp"
#include "base/files/partial_file.hpp"
#include "base/text/display.hpp"
#include "hub/reference.hpp"

namespace bittern::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "models--", kIncomplete = ".incomplete";

tl::unexpected<Error> Failed(const fs::path& path, const char* action, const std::error_code& why) {
  return Fail(ErrorCode::kIo,
              fmt::format("{}: cannot {}: {}", path.string(), action, why.message()));
}

/// "USER/REPO" gives "models--USER--REPO", as huggingface_hub names its folders.
std::string FolderName(const std::string& repo) {
  std::string name(kPrefix);
  for (const char c : repo) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

/// "USER/REPO" of "models--USER--REPO"; empty for other folders.
std::string RepoOf(const std::string& folder) {
  if (!folder.starts_with(kPrefix)) return {};
  std::string repo = folder.substr(kPrefix.size());
  const std::size_t dashes = repo.find("--");
  if (dashes == std::string::npos) return {};
  repo.replace(dashes, 2, "/");
  return ParseReference(repo) ? repo : std::string();
}

/// The text of a small file, without white space at its ends.
std::string FirstWord(const fs::path& path) {
  std::ifstream file(path);
  std::string word(100, '\0');
  file.read(word.data(), static_cast<std::streamsize>(word.size()));
  word.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return word.substr(0, word.find_first_of(" \t\r\n"));
}

/// Calls `visit(entry)` for all that lies below a folder, which may be missing.
template <class Visit>
void Walk(const fs::path& folder, Visit visit) {
  constexpr std::size_t kMost = 200000;
  std::error_code failed;
  auto it = fs::recursive_directory_iterator(folder, failed);
  for (std::size_t seen = 0; !failed && it != fs::recursive_directory_iterator() && seen < kMost;
       ++seen, it.increment(failed)) {
    visit(*it);
  }
}

std::uint64_t SizeOf(const fs::path& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  return failed ? 0 : size;
}

}  // namespace

fs::path Cache::RepoFolder(const std::string& repo) const { return root_ / FolderName(repo); }

fs::path Cache::Blob(const std::string& repo, const std::string& hash) const {
  return RepoFolder(repo) / "blobs" / hash;
}

/// The lock's place is huggingface_hub's.
fs::path Cache::LockFile(const std::string& repo, const std::string& hash) const {
  return root_ / ".locks" / FolderName(repo) / (hash + ".lock");
}

fs::path Cache::Snapshot(const std::string& repo, const std::string& commit) const {
  return RepoFolder(repo) / "snapshots" / commit;
}

/// A branch or tag is a file below refs that holds its commit.
std::optional<std::string> Cache::CommitOf(const std::string& repo,
                                           const std::string& revision) const {
  if (IsCommit(revision)) return revision;
  std::string commit = FirstWord(RepoFolder(repo) / "refs" / revision);
  if (IsCommit(commit)) return commit;
  return std::nullopt;
}

std::vector<Candidate> Cache::FilesOf(const std::string& repo, const std::string& commit) const {
  const fs::path folder = Snapshot(repo, commit);
  std::vector<Candidate> files;
  Walk(folder, [&](const fs::directory_entry& entry) {
    std::error_code failed;
    if (!entry.is_regular_file(failed)) return;  // follows links
    const std::string path = entry.path().lexically_relative(folder).generic_string();
    if (IsSafePath(path)) files.push_back({path, SizeOf(entry.path())});
  });
  std::ranges::sort(files, {}, &Candidate::path);
  return files;
}

Result<void> Cache::MakeFolders(const std::string& repo) const {
  for (const fs::path& folder :
       {RepoFolder(repo) / "blobs", RepoFolder(repo) / "refs", LockFile(repo, "x").parent_path()}) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) return Failed(folder, "make the folder", failed);
  }
  return {};
}

/// Puts a link into the snapshot, relative, so that the cache can be moved. On a file system
/// without links the file is moved there if it was just downloaded, else copied.
Result<void> Cache::Link(const std::string& repo, const std::string& commit,
                         const std::string& path, const std::string& hash, bool fresh) const {
  const fs::path place = Snapshot(repo, commit) / path, blob = Blob(repo, hash);
  std::error_code failed;
  fs::create_directories(place.parent_path(), failed);
  if (failed) return Failed(place.parent_path(), "make the folder", failed);
  const fs::path target = blob.lexically_relative(place.parent_path());
  // The file that has the place already may be a link to older bytes; it is replaced in one step.
  fs::path made = place;
  made += fmt::format(".{}.new", hash.substr(0, 8));
  fs::remove(made, failed);
  fs::create_symlink(target, made, failed);
  if (failed) {
    if (fresh) {
      fs::rename(blob, place, failed);
      return failed ? Result<void>(Failed(place, "write", failed)) : Result<void>();
    }
    fs::copy_file(blob, made, fs::copy_options::overwrite_existing, failed);
    if (failed) return Failed(made, "write", failed);
  }
  fs::rename(made, place, failed);
  if (failed) return Failed(place, "write", failed);
  return {};
}

Result<void> Cache::SetRevision(const std::string& repo, const std::string& revision,
                                const std::string& commit) const {
  if (revision == commit) return {};
  const fs::path path = RepoFolder(repo) / "refs" / revision;
  if (FirstWord(path) == commit) return {};
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return Failed(path.parent_path(), "make the folder", failed);
  // A link here is none of huggingface_hub's; the file that it names is left alone.
  if (fs::is_symlink(path, failed) && !fs::remove(path, failed)) {
    return Failed(path, "replace", failed);
  }
  AtomicFile file = BITTERN_TRY(AtomicFile::Create(path));
  BITTERN_TRY(file.Write(commit));
  return file.Commit();
}

/// Bytes are counted on files, not on links, so that a file in two snapshots counts once.
std::vector<CachedRepo> Cache::Repos() const {
  std::vector<CachedRepo> repos;
  std::error_code failed;
  auto it = fs::directory_iterator(root_, failed);
  for (; !failed && it != fs::directory_iterator(); it.increment(failed)) {
    CachedRepo found{.repo = RepoOf(it->path().filename().string()), .snapshots = {}};
    if (found.repo.empty()) continue;
    Walk(it->path(), [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (entry.is_symlink(ignored) || !entry.is_regular_file(ignored)) return;
      const bool whole = !entry.path().filename().string().ends_with(kIncomplete);
      (whole ? found.bytes : found.incomplete_bytes) += SizeOf(entry.path());
    });
    std::error_code ignored;
    for (auto snapshot = fs::directory_iterator(it->path() / "snapshots", ignored);
         !ignored && snapshot != fs::directory_iterator(); snapshot.increment(ignored)) {
      const std::string commit = snapshot->path().filename().string();
      if (IsCommit(commit)) found.snapshots.push_back({commit, {}, FilesOf(found.repo, commit)});
    }
    const fs::path refs = it->path() / "refs";
    Walk(refs, [&](const fs::directory_entry& entry) {
      const std::string commit = FirstWord(entry.path());
      for (auto& snapshot : found.snapshots) {
        if (snapshot.commit != commit) continue;
        snapshot.revisions.push_back(entry.path().lexically_relative(refs).generic_string());
      }
    });
    std::ranges::sort(found.snapshots, {}, &CachedRepo::Snapshot::commit);
    repos.push_back(std::move(found));
  }
  std::ranges::sort(repos, {}, &CachedRepo::repo);
  return repos;
}

/// Tries every lock of the repository; one that is taken means that a download runs.
Result<void> Cache::CheckIdle(const std::string& repo) const {
  std::error_code failed;
  for (auto it = fs::directory_iterator(LockFile(repo, "x").parent_path(), failed);
       !failed && it != fs::directory_iterator(); it.increment(failed)) {
    const auto lock = FileLock::Try(it->path());
    if (lock && lock->has_value()) continue;
    return Fail(ErrorCode::kIo, fmt::format("{}: a file of it is being downloaded by another "
                                            "program; nothing was removed",
                                            repo));
  }
  return {};
}

/// Removes the file from all snapshots, then its bytes unless another name links to them. Returns
/// the bytes that became free.
Result<std::uint64_t> Cache::RemoveFile(const std::string& repo, const std::string& file) const {
  const fs::path blobs = RepoFolder(repo) / "blobs";
  std::set<fs::path> targets, used;
  std::uint64_t freed = 0;
  std::error_code failed;
  bool any = false;
  Walk(RepoFolder(repo) / "snapshots", [&](const fs::directory_entry& entry) {
    const fs::path below = entry.path().lexically_relative(RepoFolder(repo) / "snapshots");
    const fs::path path = below.lexically_relative(*below.begin());
    std::error_code ignored;
    const bool link = entry.is_symlink(ignored);
    if (!link && !entry.is_regular_file(ignored)) return;
    const fs::path target =
        link ? blobs / fs::read_symlink(entry.path(), ignored).filename() : fs::path();
    if (path.generic_string() != file) {
      used.insert(target);
      return;
    }
    any = true;
    if (!link) freed += SizeOf(entry.path());
    if (link) targets.insert(target);
    fs::remove(entry.path(), ignored);
    if (ignored) failed = ignored;
  });
  for (const fs::path& target : targets) {
    if (used.contains(target)) continue;
    const std::uint64_t bytes = SizeOf(target);
    std::error_code ignored;
    if (fs::remove(target, ignored)) freed += bytes;
    if (ignored) failed = ignored;
  }
  if (failed) return Failed(RepoFolder(repo), "remove a file", failed);
  if (any) return freed;
  return Fail(ErrorCode::kNotFound,
              fmt::format("{}:{} is not in {}", repo, Printable(file), root_.string()));
}

Result<std::uint64_t> Cache::Remove(const std::string& repo, const std::string& file) const {
  const fs::path folder = RepoFolder(repo);
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{} is not in {} (see `bittern models`)", repo, root_.string()));
  }
  BITTERN_TRY(CheckIdle(repo));
  if (!file.empty()) return RemoveFile(repo, file);
  std::uint64_t bytes = 0;
  Walk(folder, [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (!entry.is_symlink(ignored) && entry.is_regular_file(ignored)) bytes += SizeOf(entry.path());
  });
  fs::remove_all(folder, failed);
  if (failed) return Failed(folder, "remove", failed);
  fs::remove_all(LockFile(repo, "x").parent_path(), failed);
  return bytes;
}

}  // namespace bittern::hub
