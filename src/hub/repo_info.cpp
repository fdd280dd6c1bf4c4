// SPDX-License-Identifier: Apache-2.0
#include "hub/repo_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "hub/reference.hpp"

namespace bittern::hub {
namespace {

constexpr std::size_t kMostFiles = 20000;
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 46;

tl::unexpected<Error> NotSuch(const char* what, const Json* found) {
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("the hub's answer about the repository: {} expected, {} found", what,
                          found == nullptr ? "nothing" : Printable(found->Shown())));
}

/// A hash of `count` digits; empty where it is missing or something else.
std::string HashOf(const Json* value, std::size_t count) {
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  return text != nullptr && IsHex(*text, count) ? *text : std::string();
}

Result<RepoFile> ReadFile(const Json& entry, const std::string& path) {
  RepoFile file{.path = path};
  const Json* size = entry.Find("size");
  const Json* lfs = entry.Find("lfs");
  if (lfs != nullptr && lfs->AsObject() != nullptr) {
    file.sha256 = HashOf(lfs->Find("sha256"), 64);
    if (file.sha256.empty()) file.sha256 = HashOf(lfs->Find("oid"), 64);
    if (lfs->Find("size") != nullptr) size = lfs->Find("size");
  } else {
    file.git_sha1 = HashOf(entry.Find("blobId"), 40);
  }
  if (size != nullptr && !size->is_null()) {
    file.size = size->AsUint();
    if (!file.size || *file.size > kMostFileBytes) {
      return NotSuch(fmt::format("a size of {}", path).c_str(), size);
    }
  }
  return file;
}

}  // namespace

bool IsHex(std::string_view text, std::size_t count) noexcept {
  return text.size() == count && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<RepoInfo> ParseRepoInfo(std::string_view json) {
  auto parsed =
      Json::Parse(json, {.max_bytes = kMostInfoBytes, .max_depth = 64, .max_values = 1 << 20});
  if (!parsed) {
    return tl::unexpected(
        Within("the hub's answer about the repository", std::move(parsed).error()));
  }
  const Json* sha = parsed->Find("sha");
  const std::string* commit = sha == nullptr ? nullptr : sha->AsString();
  if (commit == nullptr || !IsCommit(*commit)) return NotSuch("a commit (\"sha\")", sha);
  const Json* siblings = parsed->Find("siblings");
  const Json::Array* list = siblings == nullptr ? nullptr : siblings->AsArray();
  if (list == nullptr) return NotSuch("a list of files (\"siblings\")", siblings);
  if (list->size() > kMostFiles) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("the hub's answer about the repository: {} files at most expected, {} "
                            "found",
                            kMostFiles, list->size()));
  }
  RepoInfo info{.commit = *commit, .files = {}};
  for (const Json& entry : *list) {
    const Json* name = entry.Find("rfilename");
    const std::string* path = name == nullptr ? nullptr : name->AsString();
    if (path == nullptr) return NotSuch("a file's name (\"rfilename\")", name);
    if (!IsSafePath(*path)) {
      ++info.left_out;
      continue;
    }
    info.files.push_back(BITTERN_TRY(ReadFile(entry, *path)));
  }
  return info;
}

}  // namespace bittern::hub
