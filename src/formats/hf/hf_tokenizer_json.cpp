// SPDX-License-Identifier: Apache-2.0
// The model of tokenizer.json (vocabulary and merges) and its added tokens.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "base/utf8.hpp"
#include "formats/hf/hf_pipeline.hpp"
#include "formats/hf/hf_vocabulary.hpp"

namespace bittern::formats {
namespace {

tl::unexpected<Error> CorruptTokenizer(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

std::optional<bool> BoolOf(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value == nullptr ? std::nullopt : value->AsBool();
}

/// Refuses what would change how BPE works.
Result<void> CheckModel(const Json& model) {
  const Json* type = model.Find("type");
  // Old files leave the type out; those with merges are BPE.
  if (type != nullptr && (type->AsString() == nullptr || *type->AsString() != "BPE")) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("model of type {} is not supported; supported: \"BPE\"",
                            type->AsString() == nullptr ? "?" : Quoted(*type->AsString())));
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json* affix = model.Find(key);
    const bool none = affix == nullptr || affix->is_null() ||
                      (affix->AsString() != nullptr && affix->AsString()->empty());
    if (!none) return Fail(ErrorCode::kUnsupported, fmt::format("model.{} is not supported", key));
  }
  return {};
}

/// model.vocab: {"token": id}. Ids may leave gaps, which added tokens or padding fill.
Result<void> ReadVocab(const Json& model, HfVocabulary* vocabulary) {
  const Json* vocab = model.Find("vocab");
  if (vocab == nullptr || vocab->AsObject() == nullptr) {
    return CorruptTokenizer("model.vocab is missing or no object");
  }
  for (const Json::Member& member : *vocab->AsObject()) {
    const auto id = member.value.AsUint();
    if (!id) {
      return CorruptTokenizer(fmt::format("model.vocab, token {}: an id expected, {} found",
                                          Quoted(member.key), member.value.Shown()));
    }
    BITTERN_TRY(SetToken(*id, member.key, token_type::kNormal, vocabulary));
  }
  return {};
}

/// Both halves of merge `i`: "left right", or ["left", "right"].
Result<std::pair<std::string_view, std::string_view>> SplitMerge(const Json& merge, std::size_t i) {
  std::string_view left, right;
  if (const std::string* text = merge.AsString()) {
    const std::size_t space = text->find(' ', 1);
    if (space != std::string::npos) {
      left = std::string_view(*text).substr(0, space);
      right = std::string_view(*text).substr(space + 1);
    }
  } else if (const Json::Array* halves = merge.AsArray()) {
    if (halves->size() == 2 && (*halves)[0].AsString() != nullptr &&
        (*halves)[1].AsString() != nullptr) {
      left = *(*halves)[0].AsString();
      right = *(*halves)[1].AsString();
    }
  }
  if (left.empty() || right.empty()) {
    return CorruptTokenizer(fmt::format("model.merges[{}]: two texts expected", i));
  }
  return std::pair(left, right);
}

Result<const Json::Array*> MergesOf(const Json& model) {
  const Json* merges = model.Find("merges");
  if (merges == nullptr || merges->AsArray() == nullptr) {
    return CorruptTokenizer("model.merges is missing or no array");
  }
  return merges->AsArray();
}

/// Merges of a byte-level model, as "left right". A space inside a half would make the line
/// ambiguous; byte-level spelling has none.
Result<void> ReadMerges(const Json& model, HfVocabulary* vocabulary) {
  const Json::Array* merges = BITTERN_TRY(MergesOf(model));
  vocabulary->merges.reserve(merges->size());
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const auto [left, right] = BITTERN_TRY(SplitMerge((*merges)[i], i));
    if (left.find(' ') != std::string_view::npos || right.find(' ') != std::string_view::npos) {
      return CorruptTokenizer(
          fmt::format("model.merges[{}]: a space inside a byte-level token", i));
    }
    vocabulary->merges.push_back(fmt::format("{} {}", left, right));
  }
  return {};
}

/// Turns merges into scores. SentencePiece merges any two neighbours that make a token, the best
/// token first. So this is possible only if the list has every pair, grouped by the token it makes.
class ScoreMaker {
 public:
  explicit ScoreMaker(HfVocabulary* vocabulary) : vocabulary_(*vocabulary) {
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      if (!vocabulary_.tokens[id].empty()) ids_.emplace(vocabulary_.tokens[id], id);
    }
    vocabulary_.scores.assign(vocabulary_.tokens.size(), kUnmerged);
    pairs_.assign(vocabulary_.tokens.size(), 0);
  }

  /// Sets the score of each token that is made by merges to minus its rank among such tokens.
  Result<void> Make(const Json::Array& merges) {
    std::size_t last = ids_.size(), rank = 0;  // of the merge before
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto [left, right] = BITTERN_TRY(SplitMerge(merges[i], i));
      const auto merged = ids_.find(std::string(left) + std::string(right));
      if (merged == ids_.end() || !ids_.contains(std::string(left)) ||
          !ids_.contains(std::string(right))) {
        return CorruptTokenizer(
            fmt::format("model.merges[{}]: {} and {}, or both together, are no tokens", i,
                        Quoted(left), Quoted(right)));
      }
      const std::size_t id = merged->second;
      if (i == 0 || id != last) {
        if (pairs_[id] != 0) return Unordered(merged->first);
        vocabulary_.scores[id] = -static_cast<float>(rank++);
      }
      ++pairs_[id];
      last = id;
    }
    return CheckAllPairs();
  }

 private:
  /// Below every score of a merge (ranks stay below 2^22): such tokens are never made by merging.
  static constexpr float kUnmerged = -1e9f;
  static constexpr std::size_t kMaxTokenBytes = 256;

  /// The list is no SentencePiece model's, so scores cannot say the same as the merges.
  static tl::unexpected<Error> Unordered(std::string_view token) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("the merges that make {} are not those of a SentencePiece model; "
                            "tokenizer.model is needed",
                            Quoted(token)));
  }

  /// Counts the cuts of each token into two tokens. SentencePiece would merge at every one of them,
  /// so each must be in the list.
  Result<void> CheckAllPairs() const {
    for (const auto& [token, id] : ids_) {
      if (vocabulary_.types[id] != token_type::kNormal) continue;
      if (token.size() > kMaxTokenBytes) return Unordered(token);  // the search is quadratic
      std::size_t pairs = 0;
      for (std::size_t cut = DecodeUtf8(token).size; cut < token.size();
           cut += DecodeUtf8(std::string_view(token).substr(cut)).size) {
        pairs += ids_.contains(token.substr(0, cut)) && ids_.contains(token.substr(cut)) ? 1 : 0;
      }
      if (pairs != pairs_[id]) return Unordered(token);
    }
    return {};
  }

  HfVocabulary& vocabulary_;
  std::unordered_map<std::string, std::size_t> ids_;
  std::vector<std::size_t> pairs_;  // merges that make each token
};

/// <0x00> to <0xFF> are bytes, and the token for what is unknown has a type of its own.
Result<void> TypeSentencePieces(const Json& model, HfVocabulary* vocabulary) {
  const bool byte_fallback = BoolOf(model, "byte_fallback").value_or(false);
  const Json* unknown = model.Find("unk_token");
  for (std::size_t id = 0; id < vocabulary->tokens.size(); ++id) {
    const std::string& token = vocabulary->tokens[id];
    if (byte_fallback && token.size() == 6 && token.starts_with("<0x") && token[5] == '>') {
      vocabulary->types[id] = token_type::kByte;
    }
    if (unknown != nullptr && unknown->AsString() != nullptr && token == *unknown->AsString()) {
      vocabulary->types[id] = token_type::kUnknown;
      vocabulary->unknown = id;
    }
  }
  return {};
}

/// Byte-level models: what a byte without a token becomes.
void FindUnknown(const Json& model, HfVocabulary* vocabulary) {
  const Json* unknown = model.Find("unk_token");
  if (unknown == nullptr || unknown->AsString() == nullptr) return;
  const auto found = std::ranges::find(vocabulary->tokens, *unknown->AsString());
  if (found == vocabulary->tokens.end()) return;
  vocabulary->unknown = static_cast<std::uint64_t>(found - vocabulary->tokens.begin());
  vocabulary->fuse_unknown = BoolOf(model, "fuse_unk").value_or(false);
}

/// One item of added_tokens: a token of its own, or a mark on a token of the vocabulary. The flags
/// that eat spaces around a token are refused for tokens that users can type; for special ones they
/// change only texts that contain those.
Result<void> AddOne(const Json& added, HfVocabulary* vocabulary) {
  const Json* id = added.Find("id");
  const Json* content = added.Find("content");
  if (id != nullptr && !id->AsUint()) {
    return CorruptTokenizer(fmt::format("an id expected, {} found", id->Shown()));
  }
  if (id == nullptr || content == nullptr || content->AsString() == nullptr ||
      content->AsString()->empty()) {
    return CorruptTokenizer("id and content expected");
  }
  const bool special = BoolOf(added, "special").value_or(false);
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    if (!special && BoolOf(added, flag).value_or(false)) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("token {}: {} is not supported", Quoted(*content->AsString()), flag));
    }
  }
  const std::uint64_t number = *id->AsUint();
  const bool is_unknown = vocabulary->unknown == number;
  if (number < vocabulary->tokens.size() && vocabulary->tokens[number] == *content->AsString()) {
    if (!is_unknown) {
      vocabulary->types[number] = special ? token_type::kControl : token_type::kUserDefined;
    }
    return {};
  }
  return SetToken(number, *content->AsString(),
                  special ? token_type::kControl : token_type::kUserDefined, vocabulary);
}

}  // namespace

/// Ids come in any order, so the lists grow as needed. A second token with the same id is refused.
Result<void> SetToken(std::uint64_t id, std::string_view token, std::int32_t type,
                      HfVocabulary* vocabulary) {
  if (id >= kMaxVocabulary) {
    return CorruptTokenizer(fmt::format("token {}: an id below {} expected, {} found",
                                        Quoted(token), kMaxVocabulary, id));
  }
  if (id >= vocabulary->tokens.size()) {
    vocabulary->tokens.resize(id + 1);
    vocabulary->types.resize(id + 1, token_type::kUnused);
    if (vocabulary->model == "llama") vocabulary->scores.resize(id + 1);
  }
  if (!vocabulary->tokens[id].empty()) {
    return CorruptTokenizer(fmt::format("id {} belongs to {} and to {}", id,
                                        Quoted(vocabulary->tokens[id]), Quoted(token)));
  }
  vocabulary->tokens[id] = token;
  vocabulary->types[id] = type;
  return {};
}

Result<void> AddAddedTokens(const Json& json, HfVocabulary* vocabulary) {
  const Json* list = json.Find("added_tokens");
  if (list == nullptr || list->is_null()) return {};
  if (list->AsArray() == nullptr) return CorruptTokenizer("added_tokens: an array expected");
  for (std::size_t i = 0; i < list->AsArray()->size(); ++i) {
    auto added = AddOne((*list->AsArray())[i], vocabulary);
    if (!added) {
      return tl::unexpected(Within(fmt::format("added_tokens[{}]", i), std::move(added).error()));
    }
  }
  return {};
}

/// A byte-level pipeline is GGUF's "gpt2", any other "llama". Added tokens of a "llama" come before
/// the scores, since merges may make them; those of a "gpt2" come after the merges.
Result<HfVocabulary> ReadTokenizerJson(const Json& json) {
  const HfPipeline pipeline = BITTERN_TRY(ReadHfPipeline(json));
  const Json* model = json.Find("model");
  if (model == nullptr || model->AsObject() == nullptr) {
    return CorruptTokenizer("model is missing or no object");
  }
  BITTERN_TRY(CheckModel(*model));
  HfVocabulary vocabulary;
  vocabulary.model = pipeline.byte_level ? "gpt2" : "llama";
  vocabulary.pre = pipeline.pre;
  vocabulary.add_bos = pipeline.add_bos;
  vocabulary.add_eos = pipeline.add_eos;
  vocabulary.bos = pipeline.bos;
  vocabulary.eos = pipeline.eos;
  BITTERN_TRY(ReadVocab(*model, &vocabulary));
  if (pipeline.byte_level) {
    vocabulary.ignore_merges = BoolOf(*model, "ignore_merges").value_or(false);
    vocabulary.normalizes_nfc = pipeline.normalizes_nfc;
    BITTERN_TRY(ReadMerges(*model, &vocabulary));
  } else {
    if (pipeline.normalizes_nfc) {
      return Fail(ErrorCode::kUnsupported, "normalizer \"NFC\" before U+2581 is not supported");
    }
    vocabulary.add_space_prefix = pipeline.prefix == HfPrefix::kAlways;
    BITTERN_TRY(TypeSentencePieces(*model, &vocabulary));
    BITTERN_TRY(AddAddedTokens(json, &vocabulary));
    const Json::Array* merges = BITTERN_TRY(MergesOf(*model));
    BITTERN_TRY(ScoreMaker(&vocabulary).Make(*merges));
    return vocabulary;
  }
  BITTERN_TRY(AddAddedTokens(json, &vocabulary));
  FindUnknown(*model, &vocabulary);
  return vocabulary;
}

}  // namespace bittern::formats
