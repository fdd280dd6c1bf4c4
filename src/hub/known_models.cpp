// SPDX-License-Identifier: Apache-2.0
#include "hub/known_models.hpp"

#include <algorithm>
#include <vector>

#include "base/text/closest_name.hpp"
#include "hub/reference.hpp"

namespace bittern::hub {
namespace {

constexpr KnownModel kModels[] = {
#define BITTERN_KNOWN(name, repo, file, bytes, sha256, chat, licence, tried, note) \
  {name, repo, file, bytes, sha256, chat, licence, tried, note},
#define BITTERN_OTHER(...)
#include "hub/known_models.def"
#undef BITTERN_KNOWN
#undef BITTERN_OTHER
};

constexpr OtherModel kOthers[] = {
#define BITTERN_KNOWN(...)
#define BITTERN_OTHER(repo, formats, licence, runs) {repo, formats, licence, runs},
#include "hub/known_models.def"
#undef BITTERN_KNOWN
#undef BITTERN_OTHER
};

}  // namespace

std::span<const KnownModel> KnownModels() noexcept { return kModels; }

std::span<const OtherModel> OtherModels() noexcept { return kOthers; }

const OtherModel* FindOtherModel(std::string_view repo) noexcept {
  const auto* found = std::ranges::find_if(
      kOthers, [&](const OtherModel& row) { return Lower(row.repo) == Lower(repo); });
  return found == std::end(kOthers) ? nullptr : found;
}

const KnownModel* FindKnownModel(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kModels, Lower(name), &KnownModel::name);
  return found == std::end(kModels) ? nullptr : found;
}

std::string ClosestKnownName(std::string_view typed) {
  if (typed.find('/') != std::string_view::npos) return {};
  std::vector<std::string> names;
  for (const KnownModel& model : kModels) names.emplace_back(model.name);
  return ClosestName(Lower(typed), names);
}

const KnownModel* FindKnownFile(std::string_view repo, std::string_view file) noexcept {
  const auto* found = std::ranges::find_if(kModels, [&](const KnownModel& row) {
    return row.file == file && Lower(row.repo) == Lower(repo);
  });
  return found == std::end(kModels) ? nullptr : found;
}

}  // namespace bittern::hub
