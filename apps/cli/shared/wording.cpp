// SPDX-License-Identifier: Apache-2.0
// A table pairs keys as texts of the library have them with flags of this program. Longer rows
// stand before those that they begin with.
#include "cli/shared/wording.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "cli/shared/sampler_spelling.hpp"

namespace bittern::cli {
namespace {

/// An option as the library names it, and the flag that sets it here.
struct OptionName {
  std::string_view key;
  std::string_view flag;
};
/// Options that texts of the library name. A quotation mark before the key: a text of a file.
constexpr OptionName kOptionNames[] = {
    {"override_kv=", "--override-kv "},
    {"i2s_layout=", "--i2s-layout "},
    {"tl_tiling=", "--tl-tiling "},
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
    {"every_token=true", "--every-token"},
    {"like=HEALTHY", "--like HEALTHY"},
    {"fixed=FILE", "--fix FILE"},
    {"json=true has", "--json has"},
    {"activations=", "--activations "},
    {"zero_skip=", "--zero-skip "},
    {"batch_kernel=", "--batch-kernel "},
    {"kernel=", "--kernel "},
    {"head=", "--head "},
    {"isa=", "BITTERN_ISA="},
    {"endpoint=URL", "--endpoint"},
    {"offline=true", "--offline"},
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

std::string Join(const std::string& text, const std::string& hint) {
  return WordOptions(hint.empty() ? text : text + "; " + hint);
}

}  // namespace

std::string WordOptions(std::string_view text) {
  // A key that stands alone: the subject of a decision.
  if (const auto* alone = request::FindSamplerOption(text)) return FlagOf(*alone);
  std::string worded;
  for (std::size_t at = 0; at < text.size();) {
    const OptionName* option = OptionAt(text, at);
    if (option == nullptr) {
      worded += text[at++];
      continue;
    }
    worded += option->flag;
    at += option->key.size();
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
