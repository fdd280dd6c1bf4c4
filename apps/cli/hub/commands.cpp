// SPDX-License-Identifier: Apache-2.0
// `bittern pull` and `bittern models`. Where a model lies goes to standard output, all else to
// standard error.
#include "cli/shared/commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/local_model.hpp"
#include "cli/options/model_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "hub/cache.hpp"
#include "hub/lists/cached_models.hpp"
#include "hub/lists/model_lists.hpp"
#include "hub/lists/pulled_json.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kPullExamples = R"(Examples:
  bittern pull microsoft/bitnet-b1.58-2B-4T-gguf
  bittern pull bitnet-2b
  bittern pull tiiuae/Falcon-E-1B-Instruct-GGUF:ggml-model-i2_s.gguf
  bittern convert $(bittern pull bitnet-2b-hf) out.gguf

The path of the model goes to standard output, all else to standard error. An
interrupted download goes on where it was.)";

constexpr const char* kModelsExamples = R"(Examples:
  bittern models
  bittern models --known
  bittern models du
  bittern models rm microsoft/bitnet-b1.58-2B-4T-gguf)";

struct PullOptions {
  std::string name;
  bool check = false;
  bool json = false;
};

struct ModelsOptions {
  std::string name;
  bool known = false;
  bool json = false;
};

/// Names of files need not be UTF-8; JSON must.
std::string JsonLine(const Json& json) { return json.Dump() + "\n"; }

/// Prints the text of an action, or its error. kIo is the network or the disk here, not a model
/// file, hence another exit code.
int PrintResult(const Result<std::string>& text) {
  if (!text && text.error().code == ErrorCode::kIo) return Report(text.error(), kExitRuntime);
  if (!text) return Report(text.error());
  StandardOutput output;
  output.Write(*text);
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

/// `pull NAME`: the path of the model, for $(...) in a shell.
Result<std::string> RunPull(const PullOptions& options) {
  const hub::Reference reference = BITTERN_TRY(hub::ParseReference(options.name));
  hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  settings.check = options.check;
  const hub::Pulled pulled = BITTERN_TRY(PullShown(reference, settings));
  PrintError("{}\n", hub::PulledText(pulled));
  if (!options.json) return pulled.path.string() + "\n";
  Json json = hub::PulledJson(pulled);
  json["seconds"] = pulled.seconds;
  return JsonLine(json);
}

/// `models`: the models of the cache.
Result<std::string> RunList(const ModelsOptions& options) {
  const hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  const std::vector<hub::CachedModel> models = hub::ListModels(hub::Cache(settings.cache));
  if (options.json) return JsonLine(hub::ModelsJson(settings.cache, models));
  if (models.empty()) {
    PrintError(
        "no models in {}; `bittern pull NAME` gets one, `bittern models --known` names some\n",
        settings.cache.string());
  }
  return hub::ModelsText(models);
}

Result<std::string> RunKnown(const ModelsOptions& options) {
  return options.json ? JsonLine(hub::KnownModelsJson()) : hub::KnownModelsText();
}

/// `models du`: bytes of each repository on the disk.
Result<std::string> RunUsage(const ModelsOptions& options) {
  const hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  const std::vector<hub::CachedRepo> repos = hub::Cache(settings.cache).Repos();
  return options.json ? JsonLine(hub::UsageJson(settings.cache, repos))
                      : hub::UsageText(settings.cache, repos);
}

/// `models rm NAME`: removes a repository, or one file of it with ":FILE".
Result<std::string> RunRemove(const ModelsOptions& options) {
  const hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  const hub::Reference reference = BITTERN_TRY(hub::ParseReference(options.name));
  // A short name stands for the repository, as it was pulled.
  const bool whole = options.name.find(':') == std::string::npos;
  const std::string file = whole ? "" : reference.file;
  const hub::Cache cache(settings.cache);
  const std::uint64_t freed = BITTERN_TRY(hub::RemoveModel(cache, reference.repo, file));
  if (options.json) {
    return JsonLine(
        {{"removed", whole ? reference.repo : reference.repo + ":" + file}, {"bytes", freed}});
  }
  return fmt::format("removed {}{}{}: {}\n", reference.repo, whole ? "" : ":", file,
                     hub::SizeText(freed));
}

void AddJson(CLI::App& command, bool* json) {
  command.add_flag("--json", *json, "Print one JSON object");
}

}  // namespace

void AddPull(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("pull", "Download a model by its name");
  const auto options = std::make_shared<PullOptions>();
  command
      ->add_option("NAME", options->name,
                   "USER/REPO of a hub, USER/REPO:FILE, USER/REPO@REVISION, or a short name of "
                   "`bittern models --known`")
      ->type_name("")
      ->required();
  AddHubOptions(*command);
  AddTransferOptions(*command);
  command->add_flag("--check", options->check,
                    "Hash the files that are there, and fetch anew those with wrong bytes");
  AddJson(*command, &options->json);
  command->footer(kPullExamples);
  command->callback([options, exit_code] { *exit_code = PrintResult(RunPull(*options)); });
}

void AddModels(CLI::App& app, int* exit_code) {
  CLI::App* models = app.add_subcommand("models", "List downloaded models, or remove them");
  models->require_subcommand(0, 1);
  models->footer(kModelsExamples);
  const auto options = std::make_shared<ModelsOptions>();
  models->add_flag("--known", options->known, "List models that have a short name instead");
  AddJson(*models, &options->json);
  models->callback([models, options, exit_code] {
    if (!models->get_subcommands().empty()) return;
    *exit_code = PrintResult(options->known ? RunKnown(*options) : RunList(*options));
  });
  CLI::App* remove = models->add_subcommand("rm", "Remove a repository or one file of it");
  remove->add_option("NAME", options->name, "USER/REPO or USER/REPO:FILE")
      ->type_name("")
      ->required();
  AddJson(*remove, &options->json);
  remove->callback([options, exit_code] { *exit_code = PrintResult(RunRemove(*options)); });
  CLI::App* usage = models->add_subcommand("du", "Show how much space each repository takes");
  AddJson(*usage, &options->json);
  usage->callback([options, exit_code] { *exit_code = PrintResult(RunUsage(*options)); });
}

}  // namespace bittern::cli
