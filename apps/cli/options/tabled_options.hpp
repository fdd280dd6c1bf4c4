// SPDX-License-Identifier: Apache-2.0
// Flags of the options in request/options/option_table.hpp: names, help, range and choices are the
// row's. The default is what the value holds. `name` must be that of a row with flags.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shared/cli11.hpp"
#include "request/options/choice_names.hpp"
#include "request/options/option_table.hpp"

namespace bittern::cli {

/// The row of that name, and its flags with dashes and commas.
[[nodiscard]] const request::Option& TabledOption(std::string_view name);
[[nodiscard]] std::string FlagsOf(const request::Option& row);

CLI::Option* AddTabled(CLI::App& command, std::string_view name, int* value);
/// Without a value where the flag is not given.
CLI::Option* AddTabled(CLI::App& command, std::string_view name, std::optional<int>* value);
CLI::Option* AddTabled(CLI::App& command, std::string_view name, bool* value);
/// For a text or a choice.
CLI::Option* AddTabled(CLI::App& command, std::string_view name, std::string* value);
/// For texts that add up.
CLI::Option* AddTabled(CLI::App& command, std::string_view name, std::vector<std::string>* values);

/// Hands over the text that the flag gets.
using TakesText = std::function<void(const std::string&)>;
CLI::Option* AddTabled(CLI::App& command, std::string_view name, const TakesText& take);

/// A choice by the table of its names.
template <class T, std::size_t N>
CLI::Option* AddTabled(CLI::App& command, std::string_view name,
                       const request::ChoiceName<T> (&table)[N], T* value) {
  return AddTabled(command, name, TakesText([&table, value](const std::string& text) {
                     *value = request::ChoiceByName(table, text);
                   }));
}

}  // namespace bittern::cli
