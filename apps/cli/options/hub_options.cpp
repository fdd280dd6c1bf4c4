// SPDX-License-Identifier: Apache-2.0
#include "cli/options/hub_options.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/local_model.hpp"
#include "cli/options/tabled_options.hpp"
#include "hub/reference.hpp"

namespace bittern::cli {
namespace {

void AddTokenAndOffline(CLI::App& command) {
  AddTabled(command, "token", &GivenByFlags().token);
  AddTabled(command, "offline", &GivenByFlags().offline);
}

}  // namespace

/// --hf-repo and --hf-file may come in any order; each call makes the whole "hf:" path anew.
void AddHubModelOptions(CLI::App& command, std::string* path) {
  struct Named {
    std::string repo, file;
  };
  const auto named = std::make_shared<Named>();
  const auto update = [named, path] {
    *path =
        std::string(hub::kScheme) + named->repo + (named->file.empty() ? "" : ":" + named->file);
  };
  CLI::Option* repo =
      command
          .add_option_function<std::string>(
              "--hf-repo",
              [named, update](const std::string& text) {
                named->repo = text;
                update();
              },
              "Model by its name, as `bittern pull` takes it: the downloaded one, else it is "
              "downloaded")
          ->type_name("NAME")
          ->excludes("--model");
  command
      .add_option_function<std::string>(
          "--hf-file",
          [named, update](const std::string& text) {
            named->file = text;
            update();
          },
          "File of --hf-repo; the same as USER/REPO:FILE")
      ->type_name("PATH")
      ->needs(repo);
  AddTokenAndOffline(command);
  command.add_flag("-y,--yes", YesByFlag(),
                   "Download a model that stands by its name in a file's place and is not here, "
                   "without a question");
}

void AddHubOptions(CLI::App& command) {
  AddTabled(command, "endpoint", &GivenByFlags().endpoint);
  AddTokenAndOffline(command);
}

void AddTransferOptions(CLI::App& command) {
  AddTabled(command, "connections", &GivenByFlags().connections);
  AddTabled(command, "retries", &GivenByFlags().retries);
}

}  // namespace bittern::cli
