// SPDX-License-Identifier: Apache-2.0
// The vocabulary and what belongs to it. One thread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/byte_alphabet.hpp"
#include "base/text/display.hpp"
#include "doctor/static_checks.hpp"
#include "formats/architecture.hpp"
#include "formats/pre_rules.hpp"
#include "jinja/template.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kSpace = "\u2581";

bool IsPlain(const std::vector<std::int32_t>& types, std::size_t id) {
  return id >= types.size() || types[id] == 1 || types[id] == 6;
}

std::vector<std::int32_t> TypesOf(const Checkpoint& file) {
  const auto types = file.metadata().GetInts("tokenizer.ggml.token_type");
  return types && *types ? **types : std::vector<std::int32_t>();
}

/// The token with another space in place of those that are plain or SentencePiece's mark.
std::string WithSpaces(std::string_view token, std::string_view space) {
  std::string text;
  while (!token.empty()) {
    const bool marked = token.starts_with(kSpace);
    const bool is_space = marked || token.front() == ' ';
    const std::size_t size = marked ? kSpace.size() : 1;
    text += is_space ? space : token.substr(0, size);
    token.remove_prefix(size);
  }
  return text;
}

std::string InByteAlphabet(std::string_view text) {
  std::string spelled;
  AppendSpelling(text, &spelled);
  return spelled;
}

bool IsReadable(std::string_view token) {
  std::string bytes;
  return AppendSpelledBytes(token, &bytes);
}

/// True if only the spaces of this vocabulary are wrong. Each plain token can then be read with the
/// space of the byte alphabet. Else tokens are texts, whose other letters have to be spelled, too.
bool OnlySpacesAreWrong(std::span<const std::string_view> tokens,
                        const std::vector<std::int32_t>& types) {
  const std::string space = InByteAlphabet(" ");
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (IsPlain(types, id) && !IsReadable(WithSpaces(tokens[id], space))) return false;
  }
  return true;
}

/// Respells the plain tokens that are not spelled in the byte alphabet.
Edit RespellTokens() {
  return [](Checkpoint* file) -> Result<void> {
    const auto tokens = BITTERN_TRY(file->metadata().GetStrings(kTokens));
    if (!tokens) return Fail(ErrorCode::kUnsupported, "there are no tokens");
    const auto types = TypesOf(*file);
    const bool only_spaces = OnlySpacesAreWrong(*tokens, types);
    const std::string space = InByteAlphabet(" ");
    std::vector<std::string> texts;
    for (std::size_t id = 0; id < tokens->size(); ++id) {
      const std::string_view token = (*tokens)[id];
      const bool good = !IsPlain(types, id) || IsReadable(token);
      texts.push_back(good          ? std::string(token)
                      : only_spaces ? WithSpaces(token, space)
                                    : InByteAlphabet(WithSpaces(token, " ")));
    }
    file->metadata().Remove(kTokens);
    return file->metadata().AddStrings(std::string(kTokens), texts);
  };
}

/// Finds normal tokens that no bytes spell: the vocabulary was written in another spelling. A few
/// are let pass.
void CheckSpelling(const Checkpoint& file, std::span<const std::string_view> tokens,
                   std::vector<Cure>* cures) {
  const auto types = TypesOf(file);
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!IsPlain(types, id) || IsReadable(tokens[id])) continue;
    if (types.empty() && tokens[id].starts_with("<") && tokens[id].ends_with(">")) continue;
    if (wrong++ == 0) first = Quoted(tokens[id]);
  }
  constexpr std::size_t kLeast = 3;
  if (wrong < kLeast) return;
  cures->push_back(
      {{"vocabulary_spelling",
        "The vocabulary is spelled wrongly: tokens have plain spaces or marks of another "
        "kind of tokenizer in place of the byte-level alphabet.",
        fmt::format("{} of {} tokens cannot be read, the first is {}.", wrong, tokens.size(),
                    first),
        "spell these tokens in the byte-level alphabet", true},
       {RespellTokens()}});
}

struct EndKey {
  std::string_view key, what;
  std::array<std::string_view, 6> names;  // in the order of trust
};
constexpr EndKey kEnds[] = {
    {"tokenizer.ggml.bos_token_id",
     "begins",
     {"<|begin_of_text|>", "<s>", "<bos>", "<|startoftext|>", "", ""}},
    {"tokenizer.ggml.eos_token_id",
     "ends",
     {"<|end_of_text|>", "</s>", "<|im_end|>", "<|endoftext|>", "<eos>", "<|eot_id|>"}}};

/// The key names a token that is none of those that begin or end texts, and one of those is there.
void CheckEnd(const Checkpoint& file, std::span<const std::string_view> tokens, const EndKey& end,
              std::vector<Cure>* cures) {
  const auto id = file.metadata().GetUint(end.key);
  if (!id || !*id) return;  // absent: the tokenizer decides
  const auto types = TypesOf(file);
  const bool inside = **id < tokens.size();
  const std::string_view found = inside ? tokens[**id] : std::string_view();
  const bool marker = inside && (std::ranges::find(end.names, found) != end.names.end() ||
                                 found == "<|eot_id|>" || found == "<|end_of_text|>");
  const bool control = inside && **id < types.size() && types[**id] == 3;
  const bool begins_with_end = end.what == "begins" && found.starts_with("<|end");
  const bool ends_with_begin = end.what == "ends" && found.starts_with("<|begin");
  if ((marker || control) && !begins_with_end && !ends_with_begin) return;
  for (const std::string_view name : end.names) {
    if (name.empty()) continue;
    const auto place = std::ranges::find(tokens, name);
    if (place == tokens.end()) continue;
    const auto right = static_cast<std::size_t>(place - tokens.begin());
    if (right < types.size() && types[right] != 3) continue;  // a word that looks like a marker
    const std::string shown = inside ? "is " + Quoted(found) : "is outside the vocabulary";
    cures->push_back({{"end_token", fmt::format("The wrong token {} texts.", end.what),
                       fmt::format("{} is {}, which {}; {} is token {}.", end.key, **id, shown,
                                   Quoted(name), right),
                       fmt::format("set {} to {}", end.key, right), true},
                      {SetKey(std::string(end.key), "int", fmt::format("{}", right))}});
    return;
  }
}

/// A name that is not known; what fits the vocabulary is for the probe.
void CheckPre(const Checkpoint& file, std::span<const std::string_view> tokens,
              std::vector<Cure>* cures) {
  constexpr std::string_view kKey = "tokenizer.ggml.pre";
  const auto pre = file.metadata().GetString(kKey);
  const auto kind = file.metadata().GetString("tokenizer.ggml.model");
  if (!pre || !*pre || !kind || *kind != "gpt2" || (*pre)->starts_with("hf:")) return;
  const bool llama3 = std::ranges::find(tokens, "<|begin_of_text|>") != tokens.end();
  const auto architecture = file.metadata().GetString("general.architecture");
  const formats::ArchitectureSpec* row =
      formats::FindArchitecture(architecture ? architecture->value_or("") : "");
  const bool qwen = row != nullptr && row->pre == "qwen2";
  const std::string_view fits = llama3 ? "llama-bpe" : qwen ? "qwen2" : "gpt-2";
  const bool known = formats::FindPreRules(**pre) != nullptr;
  // gpt-2's and the default rules are what converters write that do not know better.
  const bool guessed = **pre == "default" || **pre == "gpt-2" || **pre == "gpt2";
  if (known && !(guessed && (llama3 || qwen))) return;
  cures->push_back(
      {{"pre_tokenizer",
        known
            ? "The pre-tokenizer is another model's: numbers and some other texts are cut wrongly."
            : "The name of the pre-tokenizer is not known.",
        fmt::format("{} is {}; a vocabulary with {} goes with {}.", kKey, Quoted(**pre),
                    llama3 ? "<|begin_of_text|>"
                    : qwen ? "Qwen's tokens"
                           : "no LLaMA-3 tokens",
                    fits),
        fmt::format("set {} to {}", kKey, fits), true},
       {SetKey(std::string(kKey), "str", std::string(fits))}});
}

std::size_t CountOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos;
       at += part.size()) {
    ++count;
  }
  return count;
}

/// Finds a chat template that ends in the middle.
void CheckTemplate(const Checkpoint& file, std::vector<Cure>* cures) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  const auto text = file.metadata().GetString(kKey);
  if (!text || !*text) return;
  const auto compiled = jinja::Template::Compile(**text);
  // A token that only this engine does not know is no fault of the file: brackets must be open,
  // too.
  const bool balanced = CountOf(**text, "{%") == CountOf(**text, "%}") &&
                        CountOf(**text, "{{") == CountOf(**text, "}}");
  if (compiled || balanced) return;
  cures->push_back(
      {{"chat_template", "The chat template is broken.", AsSentence(compiled.error().message),
        "take the key tokenizer.chat_template out; a known form is used instead", true},
       {RemoveKey(std::string(kKey))}});
}

}  // namespace

std::vector<Cure> CheckVocabulary(const Checkpoint& checkpoint) {
  std::vector<Cure> cures;
  const auto tokens = checkpoint.metadata().GetStrings(kTokens);
  CheckTemplate(checkpoint, &cures);
  if (!tokens || !*tokens) return cures;
  const auto kind = checkpoint.metadata().GetString("tokenizer.ggml.model");
  if (kind && *kind == "gpt2") CheckSpelling(checkpoint, **tokens, &cures);
  for (const EndKey& end : kEnds) CheckEnd(checkpoint, **tokens, end, &cures);
  CheckPre(checkpoint, **tokens, &cures);
  // Merges are spelled as tokens are: not looked at while those are wrong.
  const bool spelled = std::ranges::none_of(
      cures, [](const Cure& cure) { return cure.finding.id == "vocabulary_spelling"; });
  if (spelled) std::ranges::move(CheckMerges(checkpoint), std::back_inserter(cures));
  return cures;
}

}  // namespace bittern::doctor
