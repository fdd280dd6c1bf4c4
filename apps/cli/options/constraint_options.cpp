// SPDX-License-Identifier: Apache-2.0
#include "cli/options/constraint_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/options/tabled_options.hpp"

namespace bittern::cli {
namespace {

using grammar::ConstraintKind;

/// A row for each constraint: its option and flag; the flag with "-file" behind it reads it from a
/// file.
struct ConstraintFlag {
  const char* option;
  const char* shown;
  ConstraintKind kind;
  const char* file_help;  ///< null: no flag reads it from a file
};

constexpr ConstraintFlag kConstraintFlags[] = {
    {"grammar", "--grammar", ConstraintKind::kGbnf, "Keep the text to the grammar in a file"},
    {"json_schema", "--json-schema", ConstraintKind::kJsonSchema,
     "Write JSON that is valid under the schema in a file"},
    {"regex", "--regex", ConstraintKind::kRegex, nullptr},
};

/// The whole file. CLI11 turns the exception into an error of the flag.
std::string ReadConstraintFile(const std::string& flag, const std::string& path) {
  std::ifstream file(std::filesystem::path(path), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw CLI::ValidationError(flag, fmt::format("{}: it cannot be read", path));
  return text;
}

/// The flag for a file, where a text that is refused is the name of one.
std::string FileInstead(const ConstraintFlag& flag, const std::string& value) {
  std::error_code ignored;
  const bool names_file = value.ends_with(".json") || value.ends_with(".gbnf") ||
                          std::filesystem::exists(value, ignored);
  if (flag.file_help == nullptr || !names_file) return {};
  return fmt::format("; to read a file use {}-file {}", flag.shown, value);
}

/// Checks the constraint while flags are read, so that a wrong one is told before a model is
/// loaded. `shown` is the flag that gave it, and `instead` ends the error.
void TakeConstraint(const std::string& shown, grammar::Constraint constraint,
                    const std::string& instead, runtime::GenerateOptions* options) {
  if (options->constraint) {
    throw CLI::ValidationError(shown,
                               "one of --grammar, --json-schema, --regex expected, two found");
  }
  if (const auto checked = grammar::CheckConstraint(constraint); !checked) {
    throw CLI::ValidationError(shown, checked.error().message + instead);
  }
  options->constraint = std::move(constraint);
}

}  // namespace

std::string_view NameOfConstrained(const std::optional<grammar::Constraint>& constraint) noexcept {
  if (!constraint) return "the text";
  switch (constraint->kind) {
    case ConstraintKind::kGbnf:
      return "the text of the grammar";
    case ConstraintKind::kRegex:
      return "the text of the regular expression";
    default:
      return "the JSON";
  }
}

void AddConstraintOptions(CLI::App& command, runtime::GenerateOptions* options) {
  for (const ConstraintFlag& flag : kConstraintFlags) {
    AddTabled(command, flag.option, TakesText([&flag, options](const std::string& value) {
                TakeConstraint(flag.shown, {flag.kind, value}, FileInstead(flag, value), options);
              }));
    if (flag.file_help == nullptr) continue;
    const std::string of_file = std::string(flag.shown) + "-file";
    const auto read = [&flag, of_file, options](const std::string& path) {
      TakeConstraint(of_file, {flag.kind, ReadConstraintFile(of_file, path)}, "", options);
    };
    command.add_option_function<std::string>(of_file, read, flag.file_help)->type_name("FILE");
  }
}

}  // namespace bittern::cli
