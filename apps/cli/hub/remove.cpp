// SPDX-License-Identifier: Apache-2.0
// `bittern rm`: removes one model from the cache, after a question. `bittern models rm` is for
// scripts and asks nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.hpp"
#include "cli/options/local_model.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/question.hpp"
#include "hub/cache.hpp"
#include "hub/lists/cached_models.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kRemoveExamples = R"(Examples:
  bittern rm bitnet-2b
  bittern rm -y microsoft/bitnet-b1.58-2B-4T-gguf
  bittern rm USER/REPO:FILE

Bytes that another file of the cache uses stay. A file elsewhere is removed by the
shell's rm.)";

struct RemoveOptions {
  std::string name;
  bool json = false;
};

/// Part of the cache that goes: a repository, or one model of several.
struct Removal {
  std::string repo, file;   ///< `file` is empty: all of the repository
  std::uint64_t bytes = 0;  ///< at most
};

/// The models of a repository, whatever revision brought them.
std::vector<hub::CachedModel> ModelsOf(const hub::Cache& cache, const std::string& repo) {
  std::vector<hub::CachedModel> models = hub::ListModels(cache);
  std::erase_if(models, [&](const hub::CachedModel& model) {
    return model.name.substr(0, model.name.find_first_of(":@")) != repo;
  });
  return models;
}

/// The last model of a repository takes its notes and other small files with it.
Result<Removal> RemovalOf(const hub::Cache& cache, const hub::Reference& reference,
                          const hub::Settings& settings) {
  Removal removal{.repo = reference.repo, .file = {}};
  if (!reference.file.empty()) {
    const auto found = BITTERN_TRY(hub::FindInCache(reference, settings));
    if (!found) {
      return Fail(ErrorCode::kNotFound,
                  fmt::format("{}:{} is not in {} (see `bittern list`)", reference.repo,
                              reference.file, cache.root().string()));
    }
    if (ModelsOf(cache, reference.repo).size() > 1) {
      for (const hub::PulledFile& file : found->files) removal.bytes += file.size;
      removal.file = found->files.front().path;
      return removal;
    }
  }
  const auto repos = cache.Repos();
  const auto repo = std::ranges::find(repos, reference.repo, &hub::CachedRepo::repo);
  if (repo == repos.end()) {
    return Fail(ErrorCode::kNotFound, fmt::format("{} is not in {} (see `bittern list`)",
                                                  reference.repo, cache.root().string()));
  }
  removal.bytes = repo->bytes + repo->incomplete_bytes;
  return removal;
}

/// Lists what goes before it is asked for.
Result<std::string> RemoveAsked(const RemoveOptions& options) {
  const hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  const hub::Reference reference = BITTERN_TRY(hub::ParseReference(options.name));
  const hub::Cache cache(settings.cache);
  const Removal removal = BITTERN_TRY(RemovalOf(cache, reference, settings));
  const std::string name = removal.repo + (removal.file.empty() ? "" : ":" + removal.file);
  const std::size_t count = removal.file.empty() ? ModelsOf(cache, removal.repo).size() : 1;
  const std::string question =
      fmt::format("Remove {} ({} {}, {}) from {}?", name, count, count == 1 ? "model" : "models",
                  hub::SizeText(removal.bytes), cache.root().string());
  if (!YesByFlag() && !CanAsk()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} No terminal can answer; -y removes it without a question", question));
  }
  if (!YesByFlag() && !Ask(question)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: not removed", name));
  }
  const std::uint64_t freed = BITTERN_TRY(hub::RemoveModel(cache, removal.repo, removal.file));
  if (options.json) return Json({{"removed", name}, {"bytes", freed}}).Dump() + "\n";
  return fmt::format("removed {}: {}\n", name, hub::SizeText(freed));
}

int RemoveCommand(const RemoveOptions& options) {
  const auto text = RemoveAsked(options);
  if (!text) {
    return text.error().code == ErrorCode::kIo ? Report(text.error(), kExitRuntime)
                                               : Report(text.error());
  }
  StandardOutput output;
  output.Write(*text);
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

}  // namespace

void AddRemove(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("rm", "Remove a downloaded model, after a question");
  const auto options = std::make_shared<RemoveOptions>();
  command
      ->add_option(
          "NAME", options->name,
          "USER/REPO, USER/REPO:FILE or a short name, as `bittern list` and `bittern pull` "
          "have them")
      ->type_name("")
      ->required();
  command->add_flag("-y,--yes", YesByFlag(), "Remove it without a question");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(kRemoveExamples);
  command->callback([options, exit_code] { *exit_code = RemoveCommand(*options); });
}

}  // namespace bittern::cli
