// SPDX-License-Identifier: Apache-2.0
// Hugging Face's shared cache folder, so that huggingface_hub, llama.cpp and Bittern use the same
// files: models--USER--REPO/{blobs/HASH, refs/REVISION, snapshots/COMMIT/PATH -> blob}, with locks
// in .locks. Bytes appear under blobs/ once they are whole and proved; unfinished ones are
// HASH.incomplete there. One thread; other processes may work in the same folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "hub/choice.hpp"

namespace bittern::hub {

/// A repository in the cache.
struct CachedRepo {
  std::string repo;                               ///< "USER/REPO"
  std::uint64_t bytes = 0, incomplete_bytes = 0;  ///< of blobs on disk, of unfinished ones
  struct Snapshot {
    std::string commit;
    std::vector<std::string> revisions;  ///< refs that name it
    std::vector<Candidate> files;        ///< those whose bytes are there, sorted
  };
  std::vector<Snapshot> snapshots;
};

class Cache {
 public:
  explicit Cache(std::filesystem::path root) : root_(std::move(root)) {}

  [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }
  [[nodiscard]] std::filesystem::path RepoFolder(const std::string& repo) const;
  [[nodiscard]] std::filesystem::path Blob(const std::string& repo, const std::string& hash) const;
  [[nodiscard]] std::filesystem::path LockFile(const std::string& repo,
                                               const std::string& hash) const;
  [[nodiscard]] std::filesystem::path Snapshot(const std::string& repo,
                                               const std::string& commit) const;

  /// The commit that a revision meant when it was last pulled; the revision itself if it is one.
  [[nodiscard]] std::optional<std::string> CommitOf(const std::string& repo,
                                                    const std::string& revision) const;
  /// Files of a snapshot whose bytes are there, sorted by path.
  [[nodiscard]] std::vector<Candidate> FilesOf(const std::string& repo,
                                               const std::string& commit) const;

  /// Makes the folders of a repository and of its locks. Error kIo.
  [[nodiscard]] Result<void> MakeFolders(const std::string& repo) const;
  /// Gives the blob its path in a snapshot: as a relative link; where links cannot be made, the
  /// file moves there if it is `fresh`, else it is copied, as huggingface_hub does. Error kIo.
  [[nodiscard]] Result<void> Link(const std::string& repo, const std::string& commit,
                                  const std::string& path, const std::string& hash,
                                  bool fresh) const;
  /// Notes that `revision` is `commit` now. Error kIo.
  [[nodiscard]] Result<void> SetRevision(const std::string& repo, const std::string& revision,
                                         const std::string& commit) const;

  /// All repositories of models, sorted by name; empty without a cache.
  [[nodiscard]] std::vector<CachedRepo> Repos() const;
  /// Removes a repository, or one file of it from all snapshots with bytes that nothing else uses.
  /// Returns the bytes that are free now. Errors: kNotFound, kIo; kIo also where a file of it is
  /// just being downloaded.
  [[nodiscard]] Result<std::uint64_t> Remove(const std::string& repo,
                                             const std::string& file) const;

 private:
  [[nodiscard]] Result<std::uint64_t> RemoveFile(const std::string& repo,
                                                 const std::string& file) const;
  [[nodiscard]] Result<void> CheckIdle(const std::string& repo) const;

  std::filesystem::path root_;
};

}  // namespace bittern::hub
