// SPDX-License-Identifier: Apache-2.0
#include "cli/options/tabled_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/options/model_options.hpp"
#include "cli/shared/option_spelling.hpp"

namespace bittern::cli {
namespace {

/// The words of a row of choices.
std::vector<std::string> ChoicesOfRow(const request::Option& row) {
  return CLI::detail::split(std::string(row.choices), ' ');
}

std::string HelpOf(const request::Option& row) { return std::string(row.help); }

/// The value's name and its check.
CLI::Option* Finish(const request::Option& row, CLI::Option* option) {
  option->type_name(std::string(row.placeholder));
  if (row.type == request::OptionType::kChoice) option->transform(OneOf(ChoicesOfRow(row)));
  if (row.type == request::OptionType::kWhole) {
    option->check(WholeNumber(static_cast<int>(row.least), static_cast<int>(row.most)));
  }
  return option;
}

}  // namespace

std::string FlagsOf(const request::Option& row) {
  return fmt::format("{}", fmt::join(SpelledFlags(row.flags), ","));
}

const request::Option& TabledOption(std::string_view name) { return *request::FindOption(name); }

CLI::Option* AddTabled(CLI::App& command, std::string_view name, int* value) {
  const request::Option& row = TabledOption(name);
  return Finish(row, command.add_option(FlagsOf(row), *value, HelpOf(row)))->capture_default_str();
}

CLI::Option* AddTabled(CLI::App& command, std::string_view name, std::optional<int>* value) {
  const request::Option& row = TabledOption(name);
  return Finish(row, command.add_option(FlagsOf(row), *value, HelpOf(row)))
      ->default_str(std::string(row.initial));
}

CLI::Option* AddTabled(CLI::App& command, std::string_view name, bool* value) {
  const request::Option& row = TabledOption(name);
  return command.add_flag(FlagsOf(row), *value, HelpOf(row));
}

CLI::Option* AddTabled(CLI::App& command, std::string_view name, std::string* value) {
  const request::Option& row = TabledOption(name);
  CLI::Option* option = Finish(row, command.add_option(FlagsOf(row), *value, HelpOf(row)));
  return value->empty() ? option : option->capture_default_str();
}

CLI::Option* AddTabled(CLI::App& command, std::string_view name, std::vector<std::string>* values) {
  const request::Option& row = TabledOption(name);
  return Finish(row, command.add_option(FlagsOf(row), *values, HelpOf(row)))
      ->allow_extra_args(false);
}

CLI::Option* AddTabled(CLI::App& command, std::string_view name, const TakesText& take) {
  const request::Option& row = TabledOption(name);
  CLI::Option* option =
      Finish(row, command.add_option_function<std::string>(FlagsOf(row), take, HelpOf(row)));
  return row.initial.empty() ? option : option->default_str(std::string(row.initial));
}

}  // namespace bittern::cli
