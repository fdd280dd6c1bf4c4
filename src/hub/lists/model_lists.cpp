// SPDX-License-Identifier: Apache-2.0
// Each list twice, as JSON for programs and as columns for people, from the same rows. Names come
// from folders of the cache, so they are made printable.
#include "hub/lists/model_lists.hpp"

#include <fmt/format.h>

#include "base/text/display.hpp"
#include "hub/choice.hpp"
#include "hub/known_models.hpp"

namespace bittern::hub {

Json ModelsJson(const std::filesystem::path& cache, std::span<const CachedModel> models) {
  Json list = Json::MakeArray();
  for (const CachedModel& model : models) {
    list.push_back({{"name", model.name},
                    {"bytes", model.bytes},
                    {"commit", model.commit},
                    {"path", model.path}});
  }
  return {{"cache", cache.string()}, {"models", std::move(list)}};
}

std::string ModelsText(std::span<const CachedModel> models) {
  std::string text;
  for (const CachedModel& model : models) {
    text += fmt::format("{:>12}  {}\n", SizeText(model.bytes), Printable(model.name, 300));
  }
  return text;
}

Json KnownModelsJson() {
  Json list = Json::MakeArray();
  for (const KnownModel& model : KnownModels()) {
    Json entry = {{"name", model.name}, {"repo", model.repo}};
    if (!model.file.empty()) entry["file"] = model.file;
    if (model.bytes != 0) entry["bytes"] = model.bytes;
    if (!model.sha256.empty()) entry["sha256"] = model.sha256;
    entry["template"] = model.chat;
    if (!model.licence.empty()) entry["licence"] = model.licence;
    entry["tried"] = model.tried;
    if (!model.note.empty()) entry["note"] = model.note;
    list.push_back(std::move(entry));
  }
  Json others = Json::MakeArray();
  for (const OtherModel& model : OtherModels()) {
    Json entry = {{"repo", model.repo}, {"formats", model.formats}};
    if (!model.licence.empty()) entry["licence"] = model.licence;
    entry["runs"] = model.runs;
    others.push_back(std::move(entry));
  }
  return {{"models", std::move(list)}, {"others", std::move(others)}};
}

std::string KnownModelsText() {
  std::string text;
  for (const KnownModel& model : KnownModels()) {
    text += fmt::format("{:<15} {:>10}  {}{}\n", model.name,
                        model.bytes == 0 ? "" : SizeText(model.bytes), model.repo,
                        model.note.empty() ? "" : fmt::format(" ({})", model.note));
  }
  return text;
}

Json UsageJson(const std::filesystem::path& cache, std::span<const CachedRepo> repos) {
  Json list = Json::MakeArray();
  std::uint64_t all = 0;
  for (const CachedRepo& repo : repos) {
    all += repo.bytes + repo.incomplete_bytes;
    list.push_back(
        {{"repo", repo.repo}, {"bytes", repo.bytes}, {"incomplete_bytes", repo.incomplete_bytes}});
  }
  return {{"cache", cache.string()}, {"bytes", all}, {"repos", std::move(list)}};
}

std::string UsageText(const std::filesystem::path& cache, std::span<const CachedRepo> repos) {
  std::string text;
  std::uint64_t all = 0;
  for (const CachedRepo& repo : repos) {
    all += repo.bytes + repo.incomplete_bytes;
    text += fmt::format("{:>12}  {}", SizeText(repo.bytes + repo.incomplete_bytes), repo.repo);
    if (repo.incomplete_bytes > 0) {
      text += fmt::format(" ({} of it unfinished)", SizeText(repo.incomplete_bytes));
    }
    text += "\n";
  }
  return text + fmt::format("{:>12}  {}\n", SizeText(all), cache.string());
}

}  // namespace bittern::hub
