// SPDX-License-Identifier: Apache-2.0
#include "cli/options/constraint_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace bittern::cli {
namespace {

using grammar::ConstraintKind;

/// A row for each flag: its names, the one shown in errors, and whether the value is a file.
struct ConstraintFlag {
  const char* names;
  const char* shown;
  ConstraintKind kind;
  bool is_file;
  const char* type;
  const char* help;
};

constexpr ConstraintFlag kConstraintFlags[] = {
    {"--grammar", "--grammar", ConstraintKind::kGbnf, false, "GBNF",
     "Keep the text to this grammar"},
    {"--grammar-file", "--grammar-file", ConstraintKind::kGbnf, true, "FILE",
     "Keep the text to the grammar in a file"},
    {"-j,--json-schema", "--json-schema", ConstraintKind::kJsonSchema, false, "SCHEMA",
     "Write JSON that is valid under this schema; {}: any JSON"},
    {"--json-schema-file", "--json-schema-file", ConstraintKind::kJsonSchema, true, "FILE",
     "Write JSON that is valid under the schema in a file"},
    {"--regex", "--regex", ConstraintKind::kRegex, false, "PATTERN",
     "Write a text that matches this regular expression from end to end"},
};

/// The whole file. CLI11 turns the exception into an error of the flag.
std::string ReadConstraintFile(const ConstraintFlag& flag, const std::string& path) {
  std::ifstream file(std::filesystem::path(path), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    throw CLI::ValidationError(flag.shown, fmt::format("{}: it cannot be read", path));
  }
  return text;
}

/// The flag for a file, where a text that is refused is the name of one.
std::string FileInstead(const ConstraintFlag& flag, const std::string& value) {
  std::error_code ignored;
  const bool names_file = value.ends_with(".json") || value.ends_with(".gbnf") ||
                          std::filesystem::exists(value, ignored);
  if (flag.is_file || flag.kind == ConstraintKind::kRegex || !names_file) return {};
  return fmt::format("; to read a file use {}-file {}", flag.shown, value);
}

/// Checks the constraint while flags are read, so that a wrong one is told before a model is
/// loaded.
void TakeConstraint(const ConstraintFlag& flag, const std::string& value,
                    runtime::GenerateOptions* options) {
  if (options->constraint) {
    throw CLI::ValidationError(flag.shown,
                               "one of --grammar, --json-schema, --regex expected, two found");
  }
  grammar::Constraint constraint{flag.kind, flag.is_file ? ReadConstraintFile(flag, value) : value};
  if (const auto checked = grammar::CheckConstraint(constraint); !checked) {
    throw CLI::ValidationError(flag.shown, checked.error().message + FileInstead(flag, value));
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
    command
        .add_option_function<std::string>(
            flag.names,
            [&flag, options](const std::string& value) { TakeConstraint(flag, value, options); },
            flag.help)
        ->type_name(flag.type);
  }
}

}  // namespace bittern::cli
