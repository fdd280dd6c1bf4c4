// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/template_option.hpp"

#include <CLI/CLI.hpp>

#include "runtime/chat/chosen_template.hpp"

namespace bittern::cli {

void AddChatTemplateOption(CLI::App& command, std::string* name_or_file) {
  command
      .add_option("--chat-template,--chat-template-file", *name_or_file,
                  "bitnet, llama3, chatml, or a file with a Jinja template (default: what the "
                  "model's file says)")
      ->type_name("NAME|FILE");
}

Result<std::string> ReadChatTemplate(const std::string& name_or_file) {
  return runtime::ReadChosenTemplate(name_or_file, "--chat-template, --chat-template-file");
}

}  // namespace bittern::cli
