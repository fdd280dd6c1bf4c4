// SPDX-License-Identifier: Apache-2.0
// The choices of `bittern chat` on the command line.
#pragma once

#include <string>

#include "cli/options/model_options.hpp"
#include "cli/shared/cli11.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::cli {

struct ChatOptions {
  const CLI::App* command = nullptr;  ///< which knows what was given
  ModelOptions model;
  ContextOptions context;
  runtime::GenerateOptions generate = {.max_tokens = 256};
  std::string system, chat_template, template_names, context_policy = "drop";
  std::string in_prefix, in_suffix;
  std::string resume, save;
  int num_threads = 0;
  bool json = false, no_markdown = false, show_thoughts = false;
};

}  // namespace bittern::cli
