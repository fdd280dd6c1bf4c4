// SPDX-License-Identifier: Apache-2.0
#include "hub/lists/cached_models.hpp"

#include <algorithm>

namespace bittern::hub {
namespace {

/// A file with the other parts of its split model, else the file alone.
std::vector<std::string> PartsOf(const Cache& cache, const std::string& repo,
                                 const std::string& file) {
  for (const CachedRepo& cached : cache.Repos()) {
    if (cached.repo != repo) continue;
    for (const auto& snapshot : cached.snapshots) {
      for (GgufModel& model : FindGgufs(snapshot.files)) {
        if (std::ranges::find(model.parts, file) != model.parts.end()) return model.parts;
      }
    }
  }
  return {file};
}

}  // namespace

std::vector<CachedModel> ListModels(const Cache& cache) {
  std::vector<CachedModel> found;
  for (const CachedRepo& repo : cache.Repos()) {
    for (const auto& snapshot : repo.snapshots) {
      const bool main = std::ranges::find(snapshot.revisions, "main") != snapshot.revisions.end();
      const std::string name = main ? repo.repo : repo.repo + "@" + snapshot.commit;
      const auto folder = cache.Snapshot(repo.repo, snapshot.commit);
      std::uint64_t weights = 0;
      bool config = false;
      for (const Candidate& file : snapshot.files) {
        config = config || file.path == "config.json";
        if (file.path.ends_with(".safetensors")) weights += file.size.value_or(0);
      }
      for (const GgufModel& model : FindGgufs(snapshot.files)) {
        found.push_back({name + ":" + model.parts.front(), (folder / model.parts.front()).string(),
                         snapshot.commit, model.size.value_or(0)});
      }
      if (config && weights > 0) {
        found.push_back({name, folder.string(), snapshot.commit, weights});
      }
    }
  }
  return found;
}

Result<std::uint64_t> RemoveModel(const Cache& cache, const std::string& repo,
                                  const std::string& file) {
  std::uint64_t freed = 0;
  for (const std::string& part : PartsOf(cache, repo, file)) {
    freed += BITTERN_TRY(cache.Remove(repo, part));
  }
  return freed;
}

}  // namespace bittern::hub
