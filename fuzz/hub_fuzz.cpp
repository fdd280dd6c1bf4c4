// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model's name (the first line) and a hub's answer about its files: refused, or
// paths that stay below their folder, hashes that are hashes, and a choice of files that the hub
// has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "hub/choice.hpp"
#include "hub/reference.hpp"
#include "hub/repo_info.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bittern::hub;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const auto reference = ParseReference(text.substr(0, line));
  if (reference) {
    const bool safe = IsSafePath(reference->repo) && IsSafePath(reference->revision) &&
                      (reference->file.empty() || IsSafePath(reference->file)) &&
                      std::ranges::count(reference->repo, '/') == 1;
    if (!safe) std::abort();
  }
  const auto info = ParseRepoInfo(text.substr(std::min(line + 1, text.size())));
  if (!info) return 0;
  if (!IsCommit(info->commit)) std::abort();
  std::vector<Candidate> files;
  for (const RepoFile& file : info->files) {
    const bool good = IsSafePath(file.path) && (file.sha256.empty() || IsHex(file.sha256, 64)) &&
                      (file.git_sha1.empty() || IsHex(file.git_sha1, 40));
    if (!good) std::abort();
    files.push_back({file.path, file.size});
  }
  const auto choice = Choose(files, reference ? std::string_view(reference->file) : "");
  if (!choice) return 0;
  if (choice->files.empty()) std::abort();
  for (const std::string& path : choice->files) {
    if (std::ranges::find(files, path, &Candidate::path) == files.end()) std::abort();
  }
  return 0;
}
