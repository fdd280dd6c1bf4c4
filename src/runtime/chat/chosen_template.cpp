// SPDX-License-Identifier: Apache-2.0
#include "runtime/chat/chosen_template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/mapped_file.hpp"
#include "runtime/chat/chat_template.hpp"

namespace bittern::runtime {
namespace {

/// A text as a string literal of Jinja.
std::string JinjaLiteral(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + '"';
}

}  // namespace

Result<std::string> ReadChosenTemplate(const std::string& name_or_file, std::string_view option) {
  if (name_or_file.empty()) return name_or_file;
  std::string lower = name_or_file;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (ChatTemplateByName(lower)) return lower;
  auto file = MappedFile::Open(name_or_file);
  if (!file.has_value()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: one of {} or a file expected; {}", option,
                            fmt::join(kChatFormNames, ", "), file.error().message));
  }
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string TemplateOfAffixes(std::string_view prefix, std::string_view suffix) {
  return fmt::format(
      "{{% for m in messages %}}{{% if m['role'] == 'user' %}}{{{{ {} + m['content'] + {} }}}}"
      "{{% elif m['role'] == 'assistant' %}}{{{{ m['content'] + eos_token }}}}"
      "{{% else %}}{{{{ m['content'] }}}}{{% endif %}}{{% endfor %}}",
      JinjaLiteral(prefix), JinjaLiteral(suffix));
}

Result<Json> ParseTemplateNames(std::string_view text, std::string_view option) {
  auto names = Json::Parse(text, {.max_depth = 100});
  if (names.has_value() && names->AsObject() != nullptr) return names;
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: a JSON object expected, {}", option,
                  names ? std::string(names->TypeName()) + " found" : names.error().message));
}

}  // namespace bittern::runtime
