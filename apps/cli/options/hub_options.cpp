// SPDX-License-Identifier: Apache-2.0
#include "cli/options/hub_options.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/local_model.hpp"
#include "cli/options/model_options.hpp"
#include "hub/reference.hpp"

namespace bittern::cli {
namespace {

void AddTokenAndOffline(CLI::App& command) {
  command
      .add_option("--hf-token", GivenByFlags().token,
                  "Token for private and gated repositories; without it $HF_TOKEN, else the "
                  "file that `hf auth login` writes")
      ->type_name("TOKEN");
  command.add_flag("--offline", GivenByFlags().offline,
                   "Use downloaded models only; $HF_HUB_OFFLINE=1 does the same");
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
  command
      .add_option("--endpoint", GivenByFlags().endpoint,
                  "Address of the hub; without it $HF_ENDPOINT, else https://huggingface.co")
      ->type_name("URL");
  AddTokenAndOffline(command);
}

void AddTransferOptions(CLI::App& command) {
  command
      .add_option("--connections", GivenByFlags().connections,
                  "Connections for one file, each for 16 MiB at a time")
      ->type_name("N")
      ->check(WholeNumber(1, 16))
      ->default_str("4");
  command
      .add_option("--retries", GivenByFlags().retries,
                  "Tries in a row that may bring nothing before it is given up")
      ->type_name("N")
      ->check(WholeNumber(0, 100))
      ->default_str("5");
}

}  // namespace bittern::cli
