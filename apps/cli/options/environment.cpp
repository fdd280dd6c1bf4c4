// SPDX-License-Identifier: Apache-2.0
#include "cli/options/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.hpp"
#include "base/text/display.hpp"
#include "cli/options/help.hpp"

namespace bittern::cli {

std::string IsaOfUser() {
  const char* name = os::Variable("BITTERN_ISA");
  return name == nullptr ? "" : name;
}

/// Without a folder for caches nothing is remembered.
runtime::LayoutCache LayoutCacheOfUser() {
  const std::filesystem::path cache = os::CacheFolder();
  if (cache.empty()) return runtime::LayoutCache({});
  return runtime::LayoutCache(cache / "bittern" / "layouts.json");
}

std::filesystem::path HistoryOfUser() {
  if (const char* path = os::Variable("BITTERN_HISTORY")) return path;
  const std::filesystem::path state = os::StateFolder();
  return state.empty() ? state : state / "bittern" / "chat_history";
}

namespace {

constexpr std::string_view kTheirs = "LLAMA_ARG_";

/// Names of llama.cpp's variables are those of its flags, but for these.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"BATCH", "--batch-size"},    {"UBATCH", "--ubatch-size"}, {"N_PREDICT", "--predict"},
    {"N_PARALLEL", "--parallel"}, {"STATIC_PATH", "--path"},
};

/// The flag of `command` that a variable without its beginning means, by its shortest name; empty
/// where there is none.
std::string FlagOfVariable(const CLI::App& command, std::string_view name) {
  std::string flag = "--";
  for (const char c : name) {
    flag += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const auto& [variable, other] : kOtherNames) {
    if (name == variable) flag = other;
  }
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option == nullptr ? "" : NamesOf(*option).front();
}

}  // namespace

std::string UnreadVariablesNotice(const CLI::App& command) {
  std::vector<std::string> variables, flags;
  for (const std::string& entry : os::AllVariables()) {
    const std::string_view text = entry;
    const std::size_t equals = std::min(text.find('='), text.size());
    if (!text.starts_with(kTheirs) || equals + 1 >= text.size()) continue;
    const std::string_view name = text.substr(0, equals);
    variables.push_back("$" + Printable(name));
    std::string flag = FlagOfVariable(command, name.substr(kTheirs.size()));
    if (!flag.empty()) flags.push_back(std::move(flag));
  }
  if (variables.empty()) return {};
  std::ranges::sort(variables);
  std::ranges::sort(flags);
  return fmt::format("notice: {} {} not read here{}{}\n", fmt::join(variables, ", "),
                     variables.size() == 1 ? "is" : "are", flags.empty() ? "" : "; use ",
                     fmt::join(flags, ", "));
}

}  // namespace bittern::cli
