// SPDX-License-Identifier: Apache-2.0
// Keys as texts of the library have them become flags of this program: by request::OptionTable(),
// and by a table of what that does not say. Longer rows stand before those that they begin with.
#include "cli/shared/wording.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "cli/shared/option_spelling.hpp"
#include "request/options/option_table.hpp"

namespace bittern::cli {
namespace {

/// An option as the library names it, and the flag that sets it here.
struct OptionName {
  std::string_view key;
  std::string_view flag;
};
/// Options that texts of the library name and that the general rule (FlagAt) does not fit.
constexpr OptionName kOptionNames[] = {
    {"threads=1,2,4 matrix=on", "-t 1,2,4 --matrix"},
    {"threads= sets", "-t sets"},
    {"kv_type=f16 halves", "-ctk f16 -ctv f16 halve"},
    {"ubatch_size=)", "-ub)"},
    {"resume=true", "--resume"},
    {"shard=I/N", "--shard I/N"},
    {"output=FILE", "-o FILE"},
    {"compare_logits=true", "--kl-divergence"},
    {"logits=FILE, too", "--kl-divergence-base FILE, too"},
    {"logits=FILE", "--kl-divergence-base"},
    {"window=N", "-c"},
    {"window=", "-c "},
    {"stride=N", "--ppl-stride"},
    {"fixed=FILE", "--fix FILE"},
    {"json=true has", "--json has"},
    {"isa=", "BITTERN_ISA="},
    {"endpoint=URL", "--endpoint"},
    {"model=FILE", "-m FILE"},
    {"tensors=true", "--tensors"},
};

/// True if a key that follows `c` is part of a longer name, or quoted from a file.
bool IsPartOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         c == '"';
}

/// The option whose "key=" begins at `at`; null if none does.
const OptionName* OptionAt(std::string_view text, std::size_t at) {
  if (at > 0 && IsPartOfWord(text[at - 1])) return nullptr;
  const auto begins = [&](const OptionName& option) {
    return text.substr(at).starts_with(option.key);
  };
  const auto* found = std::ranges::find_if(kOptionNames, begins);
  return found == std::end(kOptionNames) ? nullptr : found;
}

/// The flag of the option of request::OptionTable() whose "name=" begins at `at`, as it is typed:
/// the value follows, or nothing after a switch. `*length` gets the bytes of the key.
std::string FlagAt(std::string_view text, std::size_t at, std::size_t* length) {
  if (at > 0 && IsPartOfWord(text[at - 1])) return "";
  const std::string_view rest = text.substr(at);
  const std::string_view name = rest.substr(0, rest.find('='));
  const request::Option* row = name.size() == rest.size() ? nullptr : request::FindOption(name);
  if (row == nullptr || row->flags.empty()) return "";
  const bool is_switch = row->type == request::OptionType::kSwitch;
  const std::string_view behind = is_switch ? "=true" : "=";
  if (!rest.substr(name.size()).starts_with(behind)) return "";
  *length = name.size() + behind.size();
  return UsualFlag(row->flags) + (is_switch ? "" : " ");
}

std::string Join(const std::string& text, const std::string& hint) {
  return WordOptions(hint.empty() ? text : text + "; " + hint);
}

}  // namespace

std::string WordOptions(std::string_view text) {
  // A key that stands alone: the subject of a decision.
  if (const auto* alone = request::FindSamplerOption(text)) return FlagOf(*alone);
  std::string worded;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    if (const OptionName* option = OptionAt(text, at)) {
      worded += option->flag;
      length = option->key.size();
    } else if (const std::string flag = FlagAt(text, at, &length); !flag.empty()) {
      worded += flag;
    } else {
      worded += text[at];
    }
    at += length;
  }
  return worded;
}

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string WordError(const Error& error) { return Join(error.message, error.hint); }

std::string WordReason(const Decision& decision) { return Join(decision.reason, decision.hint); }

void WordDecisions(Decisions* decisions) {
  for (Decision& decision : *decisions) {
    decision.reason = WordReason(decision);
    decision.hint.clear();
  }
}

}  // namespace bittern::cli
