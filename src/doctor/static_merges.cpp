// SPDX-License-Identifier: Apache-2.0
// A merge joins two tokens that are there already: single characters, or what an earlier merge
// made. So the order of merges can be checked, and what they make has rising ids in files of this
// kind. Where some are missing, the vocabulary alone tells them: a token's id is its rank. One
// thread.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/byte_alphabet.hpp"
#include "doctor/static_checks.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens",
                           kMergesKey = "tokenizer.ggml.merges";
constexpr double kMostEarly = 0.02;     // merges before their parts, of all; a sound list has none
constexpr double kMostUnmade = 0.03;    // tokens that no merge makes
constexpr double kLeastAgreed = 0.995;  // merges made anew that the file has, of those it has

using Ids = std::unordered_map<std::string_view, std::size_t>;

struct Vocabulary {
  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;
  Ids ids;

  [[nodiscard]] bool IsPlain(std::size_t id) const { return id >= types.size() || types[id] == 1; }
};

/// One character of the byte alphabet takes one or two bytes.
bool IsCharacter(std::string_view token) {
  std::string bytes;
  return AppendSpelledBytes(token, &bytes) && bytes.size() == 1;
}

/// The place of the blank between the parts; npos: it is no merge.
std::size_t Blank(std::string_view merge) { return merge.find(' ', 1); }

std::string MadeBy(std::string_view merge) {
  const std::size_t blank = Blank(merge);
  return std::string(merge.substr(0, blank)) + std::string(merge.substr(blank + 1));
}

/// Merges that come before one of their parts is made.
std::size_t CountEarly(const std::vector<std::string>& merges) {
  std::unordered_set<std::string> made;
  std::size_t early = 0;
  for (const std::string& merge : merges) {
    const std::size_t blank = Blank(merge);
    for (const std::string& part : {merge.substr(0, blank), merge.substr(blank + 1)}) {
      if (!IsCharacter(part) && !made.contains(part)) {
        ++early;
        break;
      }
    }
    made.insert(MadeBy(merge));
  }
  return early;
}

/// The merges in the order of the ids of what they make.
std::vector<std::string> Sorted(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& merge : vocabulary.merges) {
    const auto id = vocabulary.ids.find(MadeBy(merge));
    ranked.emplace_back(
        id == vocabulary.ids.end() ? std::numeric_limits<std::size_t>::max() : id->second, merge);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> merges;
  for (auto& [id, merge] : ranked) merges.push_back(std::move(merge));
  return merges;
}

/// The characters of a token, as it is spelled.
std::vector<std::string> CharactersOf(std::string_view token) {
  std::vector<std::string> characters;
  for (const char c : token) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (continues && !characters.empty()) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

/// The two tokens that make this one: it is put together from tokens of lower ids, the lowest
/// first, until two are left. Empty: that does not end with two.
std::string MergeFor(const Vocabulary& vocabulary, std::size_t id) {
  std::vector<std::string> parts = CharactersOf(vocabulary.tokens[id]);
  while (parts.size() > 2) {
    std::size_t best = parts.size(), best_id = id;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto joined = vocabulary.ids.find(parts[i] + parts[i + 1]);
      if (joined == vocabulary.ids.end() || joined->second >= best_id) continue;
      best = i;
      best_id = joined->second;
    }
    if (best == parts.size()) return "";
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  return parts.size() == 2 ? parts[0] + " " + parts[1] : "";
}

/// All merges that the vocabulary tells.
std::vector<std::string> MadeAnew(const Vocabulary& vocabulary) {
  std::vector<std::string> merges;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!vocabulary.IsPlain(id)) continue;
    std::string merge = MergeFor(vocabulary, id);
    if (!merge.empty()) merges.push_back(std::move(merge));
  }
  return merges;
}

/// Plain tokens of more than one character that no merge makes.
std::size_t CountUnmade(const Vocabulary& vocabulary) {
  std::unordered_set<std::string> made;
  for (const std::string& merge : vocabulary.merges) made.insert(MadeBy(merge));
  std::size_t unmade = 0;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    const bool counts = vocabulary.IsPlain(id) && CharactersOf(token).size() > 1;
    unmade += counts && !made.contains(token) ? 1 : 0;
  }
  return unmade;
}

Edit SetMerges(std::vector<std::string> merges) {
  return [merges = std::move(merges)](Checkpoint* file) {
    file->metadata().Remove(kMergesKey);
    return file->metadata().AddStrings(std::string(kMergesKey), merges);
  };
}

bool Agree(const std::vector<std::string>& anew, const std::vector<std::string>& merges) {
  const std::unordered_set<std::string> all(anew.begin(), anew.end());
  std::size_t found = 0;
  for (const std::string& merge : merges) found += all.contains(merge) ? 1 : 0;
  return static_cast<double>(found) >= kLeastAgreed * static_cast<double>(merges.size());
}

/// The tokens, types and merges of a byte-level tokenizer; nullopt for other kinds.
std::optional<Vocabulary> ReadVocabulary(const Checkpoint& file) {
  const auto kind = file.metadata().GetString("tokenizer.ggml.model");
  const auto tokens = file.metadata().GetStrings(kTokensKey);
  const auto merges = file.metadata().GetStrings(kMergesKey);
  if (!kind || *kind != "gpt2" || !tokens || !*tokens || !merges || !*merges) return std::nullopt;
  Vocabulary vocabulary;
  vocabulary.tokens.assign((*tokens)->begin(), (*tokens)->end());
  vocabulary.merges.assign((*merges)->begin(), (*merges)->end());
  const auto types = file.metadata().GetInts("tokenizer.ggml.token_type");
  if (types && *types) vocabulary.types = **types;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    vocabulary.ids.emplace(vocabulary.tokens[id], id);
  }
  const bool all_merges = std::ranges::all_of(vocabulary.merges, [](const std::string& merge) {
    return Blank(merge) != std::string::npos;
  });
  if (!all_merges) return std::nullopt;  // loading tells
  return vocabulary;
}

}  // namespace

std::vector<Cure> CheckMerges(const Checkpoint& file) {
  auto vocabulary = ReadVocabulary(file);
  if (!vocabulary || vocabulary->merges.empty()) return {};
  std::vector<Cure> cures;
  const auto count = static_cast<double>(vocabulary->merges.size());
  const std::size_t early = CountEarly(vocabulary->merges);
  if (static_cast<double>(early) > kMostEarly * count) {
    auto sorted = Sorted(*vocabulary);
    const bool sound = static_cast<double>(CountEarly(sorted)) <= kMostEarly * count;
    cures.push_back({{"merges", "The merges of the tokenizer are not in their order.",
                      fmt::format("{} of {} come before the parts that they join.", early, count),
                      sound ? "put them in the order of the tokens that they make"
                            : "fetch or make the file again",
                      sound},
                     {}});
    if (!sound) return cures;
    vocabulary->merges = sorted;
    cures.back().edits.push_back(SetMerges(std::move(sorted)));
  }
  const std::size_t unmade = CountUnmade(*vocabulary);
  if (static_cast<double>(unmade) <= kMostUnmade * static_cast<double>(vocabulary->tokens.size())) {
    return cures;
  }
  auto anew = MadeAnew(*vocabulary);
  const bool sound = Agree(anew, vocabulary->merges) && anew.size() > vocabulary->merges.size();
  cures.push_back(
      {{"merges", "Merges of the tokenizer are missing.",
        fmt::format("No merge makes {} of {} tokens.", unmade, vocabulary->tokens.size()),
        sound ? "make them anew from the vocabulary, which gives those that are there, too"
              : "fetch or make the file again",
        sound},
       {}});
  if (sound) cures.back().edits.push_back(SetMerges(std::move(anew)));
  return cures;
}

}  // namespace bittern::doctor
