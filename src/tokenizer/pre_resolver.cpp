// SPDX-License-Identifier: Apache-2.0
// A wrong guess would not be noticed, so anything that is not known by name is refused.
#include "tokenizer/pre_resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "formats/display.hpp"

namespace bittern::tokenizer {
namespace {

constexpr std::string_view kKey = "tokenizer.ggml.pre";
constexpr std::string_view kLlama3Bos = "<|begin_of_text|>";
constexpr std::string_view kFoldersPrefix = "hf:";

struct Rules {
  std::initializer_list<std::string_view> names;  // the first is what we call them
  std::initializer_list<Pass> passes;
  bool ignore_merges, normalizes_nfc, adds_bos;
};

const Rules kRules[] = {
    {{"llama-bpe", "llama3", "llama-v3"}, {Pass::kLlama3}, true, false, true},
    {{"gpt-2"}, {Pass::kGpt2}, false, false, false},
    {{"qwen2"}, {Pass::kQwen2}, false, true, false},
    {{"falcon"},
     {Pass::kPunctuationRuns, Pass::kGpt2, Pass::kAsciiDigitTriples},
     false,
     false,
     false},
    {{"falcon3", "falcon_e"},
     {Pass::kPunctuationRuns, Pass::kGpt2, Pass::kAsciiDigitEach},
     false,
     false,
     false},
    {{"default"},
     {Pass::kPunctuationRunsNoTick, Pass::kGpt2, Pass::kNumberRuns, Pass::kAsciiDigitTriples},
     false,
     false,
     false},
};

const Rules* FindRules(std::string_view name) {
  for (const Rules& rules : kRules) {
    if (std::ranges::find(rules.names, name) != rules.names.end()) return &rules;
  }
  return nullptr;
}

std::string KnownNames() {
  std::string names;
  for (const Rules& rules : kRules) {
    for (const std::string_view name : rules.names) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
  }
  return names;
}

PreTokenizer FromRules(const Rules& rules) {
  return {std::string(*rules.names.begin()), rules.passes, rules.ignore_merges,
          rules.normalizes_nfc, rules.adds_bos};
}

/// One step of a tokenizer.json; `spelled` says whether text is in the byte alphabet by now.
std::optional<Pass> PassOf(std::string_view step, bool spelled) {
  if (step == "Split([0-9])") return Pass::kAsciiDigitEach;
  if (step == "Split([0-9][0-9][0-9])") return Pass::kAsciiDigitTriples;
  if (step == "Digits") return spelled ? Pass::kSpelledNumberRuns : Pass::kNumberRuns;
  if (step == "Digits(individual)") {
    return spelled ? Pass::kSpelledNumberEach : Pass::kNumberEach;
  }
  if (spelled) return std::nullopt;  // the others would see other characters than those meant
  if (step == "ByteLevel(regex)") return Pass::kGpt2;
  if (step == "Punctuation(Contiguous)") return Pass::kPunctuationRuns;
  if (step == "Punctuation(Isolated)") return Pass::kPunctuationEach;
  return std::nullopt;
}

/// Steps joined by semicolons.
Result<PreTokenizer> FromSteps(std::string_view name) {
  PreTokenizer pre;
  pre.name = name;
  bool spelled = false;
  constexpr std::size_t kMaxSteps = 8;
  std::string_view rest = name.substr(kFoldersPrefix.size());
  while (!rest.empty()) {
    const std::string_view step = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), step.size() + 1));
    const bool only_spells = step == "ByteLevel" && !spelled;
    const auto pass = PassOf(step, spelled);
    if ((!pass && !only_spells) || pre.passes.size() == kMaxSteps) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("{} is {}; step {} is not supported there", kKey,
                              formats::Quoted(name), formats::Quoted(step)));
    }
    if (pass) pre.passes.push_back(*pass);
    spelled = spelled || step.starts_with("ByteLevel");
  }
  return pre;
}

bool HasLlama3Bos(const Vocabulary& vocabulary, TokenId bos) {
  return bos != kNoToken && vocabulary.type(bos) == TokenType::kControl &&
         vocabulary.bytes(bos) == kLlama3Bos;
}

Result<PreTokenizer> ResolveAbsent(const Vocabulary& vocabulary, TokenId bos,
                                   Decisions* decisions) {
  if (!HasLlama3Bos(vocabulary, bos)) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("{} is absent and BOS is not {}, so the pre-tokenizer is unknown; if it "
                    "is LLaMA-3's, say --override-kv {}=str:llama-bpe",
                    kKey, kLlama3Bos, kKey));
  }
  decisions->push_back({"pre-tokenizer", "llama-bpe",
                        fmt::format("{} is absent; BOS is {}", kKey, kLlama3Bos), true});
  return FromRules(*FindRules("llama-bpe"));
}

Result<PreTokenizer> ResolveNamed(std::string_view name, Decisions* decisions) {
  PreTokenizer pre;
  if (name.starts_with(kFoldersPrefix)) {
    pre = BITTERN_TRY(FromSteps(name));
  } else if (const Rules* rules = FindRules(name)) {
    pre = FromRules(*rules);
  } else {
    return Fail(ErrorCode::kUnsupported, fmt::format("{} is {}; this build supports {}", kKey,
                                                     formats::Quoted(name), KnownNames()));
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
