// SPDX-License-Identifier: Apache-2.0
// Vocabularies for tests and fuzz targets, made in memory: a small one that is always there, and
// the real LLaMA-3 one where the shared data folder holds its ranks. Header-only, so that no
// test code ends up in the library.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_alphabet.hpp"
#include "base/utf8.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {

/// The tokenizer keys of a file, to be altered by tests; an empty optional leaves its key out.
struct TestVocabulary {
  std::optional<std::string> model = "gpt2";
  std::optional<std::string> pre;
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;  // empty: no key
  std::vector<float> scores;        // empty: no key
  std::vector<std::string> merges;  // empty: no key
  std::optional<std::uint64_t> bos, eos, eot, eom;
  std::optional<bool> add_bos;

  /// Views into this object, which must outlive the result.
  [[nodiscard]] formats::Metadata ToMetadata() const {
    formats::Metadata metadata;
    if (model) Put(&metadata, "model", formats::MetaType::kString, std::string_view(*model));
    if (pre) Put(&metadata, "pre", formats::MetaType::kString, std::string_view(*pre));
    PutStrings(&metadata, "tokens", tokens);
    PutNumbers<std::int32_t>(&metadata, "token_type", formats::MetaType::kI32, types);
    PutNumbers<float>(&metadata, "scores", formats::MetaType::kF32, scores);
    PutStrings(&metadata, "merges", merges);
    PutUint(&metadata, "bos_token_id", bos);
    PutUint(&metadata, "eos_token_id", eos);
    PutUint(&metadata, "eot_token_id", eot);
    PutUint(&metadata, "eom_token_id", eom);
    if (add_bos) Put(&metadata, "add_bos_token", formats::MetaType::kBool, *add_bos);
    return metadata;
  }

  [[nodiscard]] Result<Tokenizer> Build(Decisions* decisions = nullptr) const {
    Decisions unread;
    return Tokenizer::FromMetadata(ToMetadata(), decisions != nullptr ? decisions : &unread);
  }

  /// Appends a token with its spelling as the file would hold it; returns its id.
  TokenId AddToken(std::string spelling, std::int32_t type) {
    tokens.push_back(std::move(spelling));
    types.push_back(type);
    return static_cast<TokenId>(tokens.size()) - 1;
  }

  /// Appends the token of `left` + `right` (bytes) and its merge.
  void AddMerge(std::string_view left, std::string_view right) {
    std::string merge;
    AppendSpelling(left, &merge);
    merge += ' ';
    AppendSpelling(right, &merge);
    merges.push_back(merge);
    merge.erase(merge.find(' ', 1), 1);
    if (std::ranges::find(tokens, merge) == tokens.end()) AddToken(std::move(merge), 1);
  }

  /// Appends LLaMA-3's special names: BOS, EOS, headers, EOT in their places, the rest reserved.
  void AddSpecials(int count) {
    int reserved = 0;
    bos = tokens.size();
    eos = tokens.size() + 1;
    add_bos = true;
    for (int i = 0; i < count; ++i) {
      const auto name = i == 0   ? std::string("<|begin_of_text|>")
                        : i == 1 ? std::string("<|end_of_text|>")
                        : i == 6 ? std::string("<|start_header_id|>")
                        : i == 7 ? std::string("<|end_header_id|>")
                        : i == 9 ? std::string("<|eot_id|>")
                                 : "<|reserved_special_token_" + std::to_string(reserved++) + "|>";
      AddToken(name, 3);
    }
  }

 private:
  template <class T>
  static void Put(formats::Metadata* metadata, std::string_view name, formats::MetaType type,
                  T value) {
    const auto added = metadata->Add("tokenizer.ggml." + std::string(name), {type, value});
    if (!added) std::abort();
  }

  static void PutUint(formats::Metadata* metadata, std::string_view name,
                      std::optional<std::uint64_t> value) {
    if (value) Put(metadata, name, formats::MetaType::kU32, *value);
  }

  static void PutStrings(formats::Metadata* metadata, std::string_view name,
                         const std::vector<std::string>& strings) {
    if (strings.empty()) return;
    formats::MetaArray array;
    array.element_type = formats::MetaType::kString;
    array.count = strings.size();
    array.strings.assign(strings.begin(), strings.end());
    Put(metadata, name, formats::MetaType::kArray, std::move(array));
  }

  template <class T>
  static void PutNumbers(formats::Metadata* metadata, std::string_view name, formats::MetaType type,
                         const std::vector<T>& numbers) {
    if (numbers.empty()) return;
    formats::MetaArray array;
    array.element_type = type;
    array.count = numbers.size();
    array.raw = std::as_bytes(std::span(numbers));
    Put(metadata, name, formats::MetaType::kArray, std::move(array));
  }
};

/// The 256 bytes in GPT-2's order, a few merges with overlaps and ties, ten specials.
inline TestVocabulary SmallVocabulary() {
  TestVocabulary vocabulary;
  for (const bool stand_ins : {false, true}) {  // printable bytes first
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if ((ByteAlphabet()[byte] != byte) != stand_ins) continue;
      std::string spelling;
      AppendUtf8(ByteAlphabet()[byte], &spelling);
      vocabulary.AddToken(std::move(spelling), 1);
    }
  }
  const std::pair<std::string_view, std::string_view> merges[] = {
      {"a", "b"},   {"b", "c"},       {"a", "a"},           {" ", "a"},       {"ab", "c"},
      {"a", "bc"},  {"aa", "a"},      {"aa", "aa"},         {"\xc3", "\xa9"}, {" ", " "},
      {"h", "e"},   {"l", "l"},       {"he", "ll"},         {"hell", "o"},    {" a", "b"},
      {"\n", "\n"}, {"\xf0", "\x9f"}, {"\xf0\x9f", "\x98"}, {"1", "2"},       {"12", "3"}};
  for (const auto& [left, right] : merges) vocabulary.AddMerge(left, right);
  vocabulary.AddSpecials(10);
  return vocabulary;
}

/// The folder of test data outside the repository.
inline std::filesystem::path SharedFolder() {
  const char* folder = std::getenv("BITTERN_SHARED");
  if (folder != nullptr) return folder;
#ifdef BITTERN_SOURCE_DIR
  return std::filesystem::path(BITTERN_SOURCE_DIR) / ".." / "shared";
#else
  return "shared";
#endif
}

inline std::string DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;  // '='
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    num_bits += 6;
    if (num_bits >= 8) {
      num_bits -= 8;
      bytes.push_back(static_cast<char>(bits >> num_bits & 0xff));
    }
  }
  return bytes;
}

/// LLaMA-3's vocabulary from its published ranks ("base64 rank" lines, in order of rank): 128000
/// tokens and 256 specials. The merges are all splits of a token into two tokens, by rank of the
/// whole, then of the left half. nullopt if the file is not there.
inline std::optional<TestVocabulary> Llama3Vocabulary() {
  std::ifstream file(SharedFolder() / "data" / "llama3-tokenizer.model");
  if (!file) return std::nullopt;
  TestVocabulary vocabulary;
  std::vector<std::string> by_rank;
  std::unordered_map<std::string, std::size_t> ranks;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    std::string token = DecodeBase64(std::string_view(line).substr(0, line.find(' ')));
    ranks.emplace(token, by_rank.size());
    by_rank.push_back(std::move(token));
  }
  for (const std::string& token : by_rank) {
    std::string spelling;
    AppendSpelling(token, &spelling);
    vocabulary.AddToken(std::move(spelling), 1);
  }
  for (const std::string& token : by_rank) {
    std::vector<std::pair<std::size_t, std::size_t>> splits;
    for (std::size_t i = 1; i < token.size(); ++i) {
      const auto left = ranks.find(token.substr(0, i));
      const auto right = ranks.find(token.substr(i));
      if (left != ranks.end() && right != ranks.end()) {
        splits.emplace_back(left->second, right->second);
      }
    }
    std::ranges::sort(splits);
    for (const auto& [left, right] : splits) {
      vocabulary.merges.push_back(vocabulary.tokens[left] + " " + vocabulary.tokens[right]);
    }
  }
  vocabulary.AddSpecials(256);
  vocabulary.scores.assign(vocabulary.tokens.size(), 0.0F);
  return vocabulary;
}

}  // namespace bittern::tokenizer
