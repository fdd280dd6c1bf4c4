// SPDX-License-Identifier: Apache-2.0
// A wrong guess would not be noticed, so anything that is not known by name is refused.
#include "tokenizer/pre_resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/closest_name.hpp"
#include "base/text/display.hpp"
#include "formats/pre_rules.hpp"

namespace bittern::tokenizer {
namespace {

constexpr std::string_view kKey = "tokenizer.ggml.pre";
constexpr std::string_view kLlama3Bos = "<|begin_of_text|>";
constexpr std::string_view kFoldersPrefix = "hf:";

/// All names, for a message.
std::vector<std::string> KnownNames() {
  std::vector<std::string> names;
  for (const formats::PreRules& rules : formats::AllPreRules()) {
    for (const std::string_view name : rules.names) names.emplace_back(name);
  }
  return names;
}

/// A row of the table of named pre-tokenizers, its patterns compiled.
Result<PreTokenizer> FromRules(const formats::PreRules& rules) {
  PreTokenizer pre;
  pre.name = *rules.names.begin();
  pre.ignore_merges = rules.ignore_merges;
  pre.normalizes_nfc = rules.normalizes_nfc;
  pre.adds_bos = rules.adds_bos;
  for (const std::string_view pattern : rules.patterns) {
    Regex regex = BITTERN_TRY(Regex::Compile(pattern, TextUnit::kUtf8));
    pre.passes.push_back({.regex = std::move(regex)});
  }
  return pre;
}

Result<Pass> PassOf(std::string_view pattern, TextUnit unit, SplitBehavior behavior,
                    bool inverted = false) {
  Regex regex = BITTERN_TRY(Regex::Compile(pattern, unit));
  return Pass{std::move(regex), behavior, inverted, false};
}

/// By the names of Hugging Face's SplitDelimiterBehavior; Isolated if there is none.
std::optional<SplitBehavior> BehaviorOf(std::string_view name) {
  if (name.empty() || name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  return std::nullopt;
}

/// A step's name and what it has in parentheses: "Split:Removed:invert" and "[0-9]".
struct Step {
  std::string_view name, argument;
};

Step TakeApart(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {text, {}};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

/// Split(REGEX), Split:Removed(REGEX), Split:Removed:invert(REGEX), ...
Result<std::optional<Pass>> SplitPass(const Step& step, TextUnit unit) {
  std::string_view words = step.name.substr(std::string_view("Split").size());
  const bool inverted = words.ends_with(":invert");
  if (inverted) words.remove_suffix(std::string_view(":invert").size());
  if (words.starts_with(':')) words.remove_prefix(1);
  const auto behavior = BehaviorOf(words);
  if (!behavior || step.argument.empty()) return std::nullopt;
  return BITTERN_TRY(PassOf(step.argument, unit, *behavior, inverted));
}

/// One step of a tokenizer.json. nullopt: not known.
Result<std::optional<Pass>> StepPass(std::string_view text, TextUnit unit) {
  const Step step = TakeApart(text);
  const std::string_view argument = step.argument;
  if (step.name == "Split" || step.name.starts_with("Split:")) return SplitPass(step, unit);
  if (step.name == "Digits" && (argument.empty() || argument == "individual")) {
    const auto* pattern = argument.empty() ? R"(\p{N}+)" : R"(\p{N})";
    return BITTERN_TRY(PassOf(pattern, unit, SplitBehavior::kIsolated));
  }
  if (step.name == "Punctuation") {
    const auto behavior = BehaviorOf(argument);
    if (!behavior) return std::nullopt;
    const std::string_view one =
        formats::kPunctuationRunsPattern.substr(0, formats::kPunctuationRunsPattern.size() - 1);
    return BITTERN_TRY(PassOf(one, unit, *behavior));
  }
  if (text == "WhitespaceSplit") return BITTERN_TRY(PassOf(R"(\s)", unit, SplitBehavior::kRemoved));
  return std::nullopt;
}

/// ByteLevel, with (prefix), (regex) or (prefix,regex). After it, text is in the byte alphabet.
Result<bool> AddByteLevel(std::string_view step, std::vector<Pass>* passes) {
  const bool regex = step == "ByteLevel(regex)" || step == "ByteLevel(prefix,regex)";
  const bool prefix = step == "ByteLevel(prefix)" || step == "ByteLevel(prefix,regex)";
  if (!regex && !prefix && step != "ByteLevel") return false;
  if (!regex && !prefix) return true;
  const std::string_view pattern = regex ? formats::kGpt2Pattern : R"([\s\S]+)";
  passes->push_back(BITTERN_TRY(PassOf(pattern, TextUnit::kUtf8, SplitBehavior::kIsolated)));
  passes->back().adds_space = prefix;
  return true;
}

/// Steps joined by semicolons.
Result<PreTokenizer> FromSteps(std::string_view name) {
  PreTokenizer pre;
  pre.name = name;
  TextUnit unit = TextUnit::kUtf8;
  constexpr std::size_t kMaxPasses = 16;
  std::string_view rest = name.substr(kFoldersPrefix.size());
  while (!rest.empty()) {
    const std::string_view step = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), step.size() + 1));
    bool known = false;
    if (unit == TextUnit::kUtf8 && BITTERN_TRY(AddByteLevel(step, &pre.passes))) {
      known = true;
      unit = TextUnit::kByte;
    } else if (auto pass = BITTERN_TRY(StepPass(step, unit))) {
      known = true;
      pre.passes.push_back(*std::move(pass));
    }
    if (!known || pre.passes.size() > kMaxPasses) {
      return Fail(ErrorCode::kUnsupported, fmt::format("{} is {}; step {} is not supported there",
                                                       kKey, Quoted(name), Quoted(step)));
    }
  }
  return pre;
}

/// True if BOS is LLaMA-3's <|begin_of_text|>, which tells the family.
bool HasLlama3Bos(const Vocabulary& vocabulary, TokenId bos) {
  return bos != kNoToken && vocabulary.type(bos) == TokenType::kControl &&
         vocabulary.bytes(bos) == kLlama3Bos;
}

/// Files without tokenizer.ggml.pre: only LLaMA-3's can be told, by BOS. A wrong guess would give
/// wrong tokens without an error.
Result<PreTokenizer> ResolveAbsent(const Vocabulary& vocabulary, TokenId bos,
                                   Decisions* decisions) {
  if (!HasLlama3Bos(vocabulary, bos)) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} is absent and BOS is not {}, so the pre-tokenizer is unknown", kKey,
                            kLlama3Bos),
                fmt::format("if it is LLaMA-3's, say override_kv={}=str:llama-bpe", kKey));
  }
  decisions->push_back({"pre-tokenizer", "llama-bpe",
                        fmt::format("{} is absent; BOS is {}", kKey, kLlama3Bos), true});
  return FromRules(*formats::FindPreRules("llama-bpe"));
}

/// The value of tokenizer.ggml.pre: a name that llama.cpp knows, or "hf:" and the steps of a
/// tokenizer.json.
Result<PreTokenizer> ResolveNamed(std::string_view name, Decisions* decisions) {
  PreTokenizer pre;
  if (name.starts_with(kFoldersPrefix)) {
    pre = BITTERN_TRY(FromSteps(name));
  } else if (const formats::PreRules* rules = formats::FindPreRules(name)) {
    pre = BITTERN_TRY(FromRules(*rules));
  } else {
    const std::vector<std::string> names = KnownNames();
    const std::string closest = ClosestName(std::string(name), names);
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} is {}, which is none of the {} names of docs/tokenizer.md{}", kKey,
                            Quoted(name), names.size(),
                            closest.empty() ? "" : fmt::format("; did you mean {}?", closest)));
  }
  // Tools disagree on falcon3; those that write ternary files of it use these rules.
  const bool disputed = name == "falcon3";
  decisions->push_back({"pre-tokenizer", pre.name,
                        disputed ? "tokenizer.ggml.pre = falcon3, read as bitnet.cpp does"
                                 : fmt::format("{} = {}", kKey, name),
                        disputed});
  return pre;
}

}  // namespace

Result<PreTokenizer> ResolvePreTokenizer(const formats::Metadata& metadata,
                                         const Vocabulary& vocabulary, TokenId bos,
                                         Decisions* decisions) {
  const auto name = BITTERN_TRY(metadata.GetString(kKey));
  PreTokenizer pre = BITTERN_TRY(name ? ResolveNamed(*name, decisions)
                                      : ResolveAbsent(vocabulary, bos, decisions));
  const auto ignore_merges = BITTERN_TRY(metadata.GetBool("bittern.tokenizer.ignore_merges"));
  const auto nfc = BITTERN_TRY(metadata.GetBool("bittern.tokenizer.nfc"));
  pre.ignore_merges = ignore_merges.value_or(pre.ignore_merges);
  pre.normalizes_nfc = nfc.value_or(pre.normalizes_nfc);
  return pre;
}

}  // namespace bittern::tokenizer
