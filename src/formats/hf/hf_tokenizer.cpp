// SPDX-License-Identifier: Apache-2.0
// Gathers what the files of a folder say about one tokenizer and writes it as GGUF's keys.
#include "formats/hf/hf_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/text/display.hpp"
#include "formats/hf/hf_vocabulary.hpp"

namespace bittern::formats {
namespace {

/// Files other than tokenizer.json that are JSON; null where absent.
struct SmallFiles {
  Json tokenizer_config, added_tokens, special_tokens_map, generation_config;
};

/// A file's JSON; null where the file is absent. Errors carry the file's name.
Result<Json> ParseFile(std::optional<std::string_view> text, const char* name,
                       const JsonLimits& limits) {
  if (!text) return Json();
  auto json = Json::Parse(*text, limits);
  if (!json) return tl::unexpected(Within(name, std::move(json).error()));
  return json;
}

/// Parses the four small files under the default limits; only tokenizer.json needs larger ones.
Result<SmallFiles> ParseSmallFiles(const HfTokenizerTexts& texts) {
  SmallFiles files;
  files.tokenizer_config =
      BITTERN_TRY(ParseFile(texts.tokenizer_config, "tokenizer_config.json", {}));
  files.added_tokens = BITTERN_TRY(ParseFile(texts.added_tokens, "added_tokens.json", {}));
  files.special_tokens_map =
      BITTERN_TRY(ParseFile(texts.special_tokens_map, "special_tokens_map.json", {}));
  files.generation_config =
      BITTERN_TRY(ParseFile(texts.generation_config, "generation_config.json", {}));
  return files;
}

/// added_tokens.json: {"<pad>": 32000}. All of them are special.
Result<void> AddTokensFile(const Json& json, HfVocabulary* vocabulary) {
  if (json.AsObject() == nullptr) return {};
  for (const Json::Member& member : *json.AsObject()) {
    const auto id = member.value.AsUint();
    if (!id || member.key.empty()) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("added_tokens.json, token {}: an id expected, {} found",
                              Quoted(member.key), member.value.Shown()));
    }
    if (*id < vocabulary->tokens.size() && vocabulary->tokens[*id] == member.key) continue;
    auto set = SetToken(*id, member.key, token_type::kControl, vocabulary);
    if (!set) return tl::unexpected(Within("added_tokens.json", std::move(set).error()));
  }
  return {};
}

/// added_tokens_decoder of tokenizer_config.json: {"32000": {"content": "<pad>", "special": true}}.
Result<void> AddDecoderTokens(const Json& tokenizer_config, HfVocabulary* vocabulary) {
  const Json* decoder = tokenizer_config.Find("added_tokens_decoder");
  if (decoder == nullptr || decoder->AsObject() == nullptr) return {};
  for (const Json::Member& member : *decoder->AsObject()) {
    const Json* content = member.value.Find("content");
    const Json* special = member.value.Find("special");
    std::uint64_t id = 0;
    const char* last = member.key.data() + member.key.size();
    const auto [end, error] = std::from_chars(member.key.data(), last, id);
    if (error != std::errc() || end != last || content == nullptr ||
        content->AsString() == nullptr || content->AsString()->empty()) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("tokenizer_config.json, added_tokens_decoder, {}: an id and its "
                              "content expected",
                              Quoted(member.key)));
    }
    const bool known =
        id < vocabulary->tokens.size() && vocabulary->tokens[id] == *content->AsString();
    if (known) continue;
    const bool is_special = special != nullptr && special->AsBool().value_or(false);
    auto set = SetToken(id, *content->AsString(),
                        is_special ? token_type::kControl : token_type::kUserDefined, vocabulary);
    if (!set) return tl::unexpected(Within("tokenizer_config.json", std::move(set).error()));
  }
  return {};
}

/// Reads tokenizer.model, which is LLaMA-3's rank file or a SentencePiece model. Only the latter
/// takes added tokens from the other files; the rank file's special tokens are fixed.
Result<HfVocabulary> ReadModelFile(const HfTokenizerTexts& texts, const Json& tokenizer_json,
                                   const SmallFiles& files) {
  const bool is_ranks = LooksLikeRankFile(*texts.tokenizer_model);
  auto vocabulary = is_ranks ? ReadRankFile(*texts.tokenizer_model)
                             : ReadSentencePieceModel(*texts.tokenizer_model);
  if (!vocabulary) return tl::unexpected(Within("tokenizer.model", std::move(vocabulary).error()));
  if (is_ranks) return vocabulary;
  auto added = AddAddedTokens(tokenizer_json, &*vocabulary);
  if (!added) return tl::unexpected(Within("tokenizer.json", std::move(added).error()));
  BITTERN_TRY(AddTokensFile(files.added_tokens, &*vocabulary));
  BITTERN_TRY(AddDecoderTokens(files.tokenizer_config, &*vocabulary));
  return vocabulary;
}

/// The vocabulary from the file that is believed; nullopt where the folder has none.
Result<std::optional<HfVocabulary>> ReadVocabulary(const HfTokenizerTexts& texts,
                                                   const SmallFiles& files) {
  const Json json =
      BITTERN_TRY(ParseFile(texts.tokenizer_json, "tokenizer.json", kTokenizerJsonLimits));
  if (!texts.tokenizer_json) {
    if (!texts.tokenizer_model) return std::nullopt;
    return BITTERN_TRY(ReadModelFile(texts, Json(), files));
  }
  auto vocabulary = ReadTokenizerJson(json);
  const bool has_scores = texts.tokenizer_model && !LooksLikeRankFile(*texts.tokenizer_model);
  const bool is_sentencepiece = vocabulary ? vocabulary->model == "llama" : has_scores;
  if (has_scores && is_sentencepiece) {
    HfVocabulary scored = BITTERN_TRY(ReadModelFile(texts, json, files));
    if (vocabulary) scored.add_bos = vocabulary->add_bos;
    return scored;
  }
  if (!vocabulary) return tl::unexpected(Within("tokenizer.json", std::move(vocabulary).error()));
  return *std::move(vocabulary);
}

/// The token that a file names: "bos_token": "<s>", or {"content": "<s>", ...}.
std::optional<std::uint64_t> NamedToken(const Json& file, std::string_view key,
                                        const HfVocabulary& vocabulary) {
  const Json* value = file.Find(key);
  if (value != nullptr && value->AsObject() != nullptr) value = value->Find("content");
  if (value == nullptr || value->AsString() == nullptr || value->AsString()->empty()) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(vocabulary.tokens, *value->AsString());
  if (found == vocabulary.tokens.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - vocabulary.tokens.begin());
}

/// The ids under `key`: one, or an array of them; empty where absent.
Result<std::vector<std::uint64_t>> IdsOf(const Json& file, std::string_view key) {
  std::vector<std::uint64_t> ids;
  const Json* value = file.Find(key);
  if (value == nullptr || value->is_null()) return ids;
  const Json one[] = {*value};
  const std::span<const Json> list =
      value->AsArray() == nullptr ? std::span<const Json>(one) : *value->AsArray();
  for (const Json& item : list) {
    if (!item.AsUint()) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("{}: ids expected, {} found", key, item.Shown()));
    }
    ids.push_back(*item.AsUint());
  }
  return ids;
}

/// Ids from whichever file names them. The first of `eos` is EOS; the others end a text too.
struct SpecialTokenIds {
  std::vector<std::uint64_t> bos, eos;  // empty: none
};

/// Looks for BOS and EOS in the order generation_config.json, config.json, tokenizer_config.json,
/// special_tokens_map.json, then the tokenizer itself. generation_config.json is first because
/// generate() of transformers stops at its ids.
Result<SpecialTokenIds> FindSpecialTokens(const SmallFiles& files, const Json& config,
                                          const HfVocabulary& vocabulary) {
  SpecialTokenIds ids;
  for (const auto& [name, file] :
       {std::pair{"generation_config.json", &files.generation_config}, {"config.json", &config}}) {
    const auto named = [place = name](Error error) { return Within(place, std::move(error)); };
    if (ids.bos.empty()) ids.bos = BITTERN_TRY(IdsOf(*file, "bos_token_id").map_error(named));
    if (ids.eos.empty()) ids.eos = BITTERN_TRY(IdsOf(*file, "eos_token_id").map_error(named));
  }
  for (const Json* file : {&files.tokenizer_config, &files.special_tokens_map}) {
    const auto bos = NamedToken(*file, "bos_token", vocabulary);
    const auto eos = NamedToken(*file, "eos_token", vocabulary);
    if (ids.bos.empty() && bos) ids.bos.push_back(*bos);
    if (ids.eos.empty() && eos) ids.eos.push_back(*eos);
  }
  if (ids.bos.empty() && vocabulary.bos) ids.bos.push_back(*vocabulary.bos);
  if (ids.eos.empty() && vocabulary.eos) ids.eos.push_back(*vocabulary.eos);
  // The token that the post-processor puts in front of a text is the BOS, whatever the others say.
  if (vocabulary.add_bos.value_or(false) && vocabulary.bos) ids.bos = {*vocabulary.bos};
  // So is the one that it puts behind a text the first EOS: models for vectors have another there.
  if (vocabulary.add_eos.value_or(false) && vocabulary.eos) {
    std::erase(ids.eos, *vocabulary.eos);
    ids.eos.insert(ids.eos.begin(), *vocabulary.eos);
  }
  for (const auto* list : {&ids.bos, &ids.eos}) {
    for (const std::uint64_t id : *list) {
      if (id < vocabulary.tokens.size()) continue;
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("special token id {} is not among the {} tokens", id,
                              vocabulary.tokens.size()));
    }
  }
  return ids;
}

/// Writes the ids as GGUF's keys: BOS, and up to three tokens that end a text.
Result<void> WriteSpecialTokens(const SpecialTokenIds& ids, Metadata* metadata) {
  const auto uint = [](std::uint64_t id) { return static_cast<std::uint32_t>(id); };
  if (!ids.bos.empty()) {
    BITTERN_TRY(metadata->AddUint("tokenizer.ggml.bos_token_id", uint(ids.bos[0])));
  }
  // GGUF has three keys for ids that end a text; a model with more is given a list as well.
  constexpr const char* kEndKeys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                      "tokenizer.ggml.eom_token_id"};
  for (std::size_t i = 0; i < std::min(ids.eos.size(), std::size(kEndKeys)); ++i) {
    BITTERN_TRY(metadata->AddUint(kEndKeys[i], uint(ids.eos[i])));
  }
  if (ids.eos.size() <= std::size(kEndKeys)) return {};
  const std::vector<std::int32_t> all(ids.eos.begin(), ids.eos.end());
  return metadata->AddInts("bittern.end_token_ids", all);
}

/// Whether texts get BOS and EOS; see ReadHfTokenizer.
Result<void> WriteAddedEnds(const SmallFiles& files, const HfVocabulary& vocabulary,
                            Metadata* metadata) {
  const Json* name = files.tokenizer_config.Find("tokenizer_class");
  const bool is_llama = name != nullptr && name->AsString() != nullptr &&
                        name->AsString()->starts_with("LlamaTokenizer");
  const auto resolve = [&](const char* key, std::optional<bool> found) {
    const Json* stated = is_llama ? files.tokenizer_config.Find(key) : nullptr;
    return stated != nullptr && stated->AsBool() ? stated->AsBool() : found;
  };
  const auto add_bos = resolve("add_bos_token", vocabulary.add_bos);
  const auto add_eos = resolve("add_eos_token", vocabulary.add_eos);
  if (add_bos) BITTERN_TRY(metadata->AddBool("tokenizer.ggml.add_bos_token", *add_bos));
  if (add_eos) BITTERN_TRY(metadata->AddBool("tokenizer.ggml.add_eos_token", *add_eos));
  return {};
}

/// Names ids without a token, up to the model's number of rows.
Result<void> Pad(std::uint64_t vocab_size, HfVocabulary* vocabulary) {
  constexpr std::uint64_t kMaxPadding = 65536;
  const std::uint64_t size = vocabulary->tokens.size();
  if (size > vocab_size || vocab_size - size > kMaxPadding) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("vocab_size is {}, but the tokenizer has {} tokens", vocab_size, size));
  }
  vocabulary->tokens.resize(vocab_size);
  vocabulary->types.resize(vocab_size, token_type::kUnused);
  if (vocabulary->model == "llama") vocabulary->scores.resize(vocab_size);
  for (std::size_t id = 0; id < vocab_size; ++id) {
    if (!vocabulary->tokens[id].empty()) continue;
    vocabulary->tokens[id] = fmt::format("[PAD{}]", id);
    vocabulary->types[id] = token_type::kUnused;
  }
  return {};
}

/// Writes tokens, types, and scores or merges. Flags that GGUF has no key for go under
/// "bittern.tokenizer.".
Result<void> WriteVocabulary(const HfVocabulary& vocabulary, Metadata* metadata) {
  BITTERN_TRY(metadata->AddString("tokenizer.ggml.model", vocabulary.model));
  if (!vocabulary.pre.empty()) {
    BITTERN_TRY(metadata->AddString("tokenizer.ggml.pre", vocabulary.pre));
  }
  BITTERN_TRY(metadata->AddStrings("tokenizer.ggml.tokens", vocabulary.tokens));
  BITTERN_TRY(metadata->AddInts("tokenizer.ggml.token_type", vocabulary.types));
  if (vocabulary.model == "llama") {
    BITTERN_TRY(metadata->AddFloats("tokenizer.ggml.scores", vocabulary.scores));
  } else {
    BITTERN_TRY(metadata->AddStrings("tokenizer.ggml.merges", vocabulary.merges));
  }
  if (vocabulary.unknown) {
    // tokenizer.ggml.unknown_token_id of byte-level files means nothing: see docs/tokenizer.md.
    const auto* key = vocabulary.model == "llama" ? "tokenizer.ggml.unknown_token_id"
                                                  : "bittern.tokenizer.unknown_token_id";
    BITTERN_TRY(metadata->AddUint(key, static_cast<std::uint32_t>(*vocabulary.unknown)));
  }
  const std::pair<const char*, std::optional<bool>> flags[] = {
      {"tokenizer.ggml.add_space_prefix", vocabulary.add_space_prefix},
      {"bittern.tokenizer.ignore_merges", vocabulary.ignore_merges},
      {"bittern.tokenizer.nfc", vocabulary.normalizes_nfc},
      {"bittern.tokenizer.fuse_unknown", vocabulary.fuse_unknown}};
  for (const auto& [key, flag] : flags) {
    if (flag) BITTERN_TRY(metadata->AddBool(key, *flag));
  }
  return {};
}

/// A template of its own file, else of tokenizer_config.json: a text, or the "default" of a list.
Result<void> WriteChatTemplate(const HfTokenizerTexts& texts, const Json& tokenizer_config,
                               Metadata* metadata) {
  constexpr const char* kKey = "tokenizer.chat_template";
  if (texts.chat_template) return metadata->AddString(kKey, std::string(*texts.chat_template));
  const Json* value = tokenizer_config.Find("chat_template");
  if (value == nullptr) return {};
  if (value->AsString() != nullptr) return metadata->AddString(kKey, *value->AsString());
  if (value->AsArray() == nullptr) return {};
  for (const Json& item : *value->AsArray()) {
    const Json* name = item.Find("name");
    const Json* text = item.Find("template");
    const bool is_default =
        name != nullptr && name->AsString() != nullptr && *name->AsString() == "default";
    if (is_default && text != nullptr && text->AsString() != nullptr) {
      return metadata->AddString(kKey, *text->AsString());
    }
  }
  return {};
}

}  // namespace

Result<void> ReadHfTokenizer(const HfTokenizerTexts& texts, const Json& config,
                             std::uint64_t vocab_size, Metadata* metadata) {
  const SmallFiles files = BITTERN_TRY(ParseSmallFiles(texts));
  auto vocabulary = BITTERN_TRY(ReadVocabulary(texts, files));
  if (!vocabulary) return {};
  BITTERN_TRY(Pad(vocab_size, &*vocabulary));
  const auto ids = BITTERN_TRY(FindSpecialTokens(files, config, *vocabulary));
  BITTERN_TRY(WriteVocabulary(*vocabulary, metadata));
  BITTERN_TRY(WriteSpecialTokens(ids, metadata));
  BITTERN_TRY(WriteAddedEnds(files, *vocabulary, metadata));
  return WriteChatTemplate(texts, files.tokenizer_config, metadata);
}

}  // namespace bittern::formats
