// SPDX-License-Identifier: Apache-2.0
// A name is looked up before a file, so that no file in the working folder can stand for a name.
#include "cli/chat/template_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/files/mapped_file.hpp"
#include "runtime/chat/chat_template.hpp"

namespace bittern::cli {

void AddChatTemplateOption(CLI::App& command, std::string* name_or_file) {
  command
      .add_option("--chat-template,--chat-template-file", *name_or_file,
                  "bitnet, llama3, chatml, or a file with a Jinja template (default: what the "
                  "model's file says)")
      ->type_name("NAME|FILE");
}

Result<std::string> ReadChatTemplate(const std::string& name_or_file) {
  if (name_or_file.empty()) return name_or_file;
  std::string lower = name_or_file;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (runtime::ChatTemplateByName(lower)) return lower;
  auto file = MappedFile::Open(name_or_file);
  if (!file.has_value()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--chat-template, --chat-template-file: one of {} or a file expected; {}",
                    fmt::join(runtime::kChatFormNames, ", "), file.error().message));
  }
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace bittern::cli
