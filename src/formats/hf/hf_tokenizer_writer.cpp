// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: vocabulary and merges, and the pipeline around them that GGUF only has names for.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "base/utf8.hpp"
#include "formats/hf/hf_writer.hpp"
#include "formats/pre_rules.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kLowerBlock = "\u2581";
constexpr std::int32_t kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5;

/// The tokenizer's keys, checked.
struct Vocabulary {
  std::span<const std::string_view> tokens, merges;
  std::vector<std::int32_t> types;
  std::vector<float> scores;
  std::optional<std::uint64_t> bos, eos;
};

/// The array under `key`; null where it is absent or no array.
const MetaArray* ArrayOf(const MetadataDraft& metadata, std::string_view key) {
  const MetaValue* value = metadata.Find(key);
  return value == nullptr ? nullptr : std::get_if<MetaArray>(&value->value);
}

/// The numbers of an array with exactly `count` elements of T's size; empty otherwise. Copied,
/// since the raw bytes in the file need not be aligned.
template <class T>
std::vector<T> NumbersOf(const MetadataDraft& metadata, std::string_view key, std::size_t count) {
  std::vector<T> numbers;
  const MetaArray* array = ArrayOf(metadata, key);
  if (array == nullptr || array->count != count || array->raw.size() != count * sizeof(T)) {
    return numbers;
  }
  numbers.resize(count);
  if (count != 0) std::memcpy(numbers.data(), array->raw.data(), array->raw.size());
  return numbers;
}

/// Reads the keys that tokenizer.json is made of. A missing type means a normal token (1).
Result<Vocabulary> ReadVocabulary(const MetadataDraft& metadata) {
  const MetaArray* tokens = ArrayOf(metadata, "tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->element_type != MetaType::kString) {
    return Fail(ErrorCode::kUnsupported, "the source has no tokenizer.ggml.tokens");
  }
  Vocabulary vocabulary{.tokens = tokens->strings,
                        .merges = {},
                        .types = {},
                        .scores = {},
                        .bos = metadata.Uint("tokenizer.ggml.bos_token_id"),
                        .eos = metadata.Uint("tokenizer.ggml.eos_token_id")};
  if (const MetaArray* merges = ArrayOf(metadata, "tokenizer.ggml.merges")) {
    vocabulary.merges = merges->strings;
  }
  const std::size_t count = vocabulary.tokens.size();
  vocabulary.types = NumbersOf<std::int32_t>(metadata, "tokenizer.ggml.token_type", count);
  vocabulary.types.resize(count, 1);
  vocabulary.scores = NumbersOf<float>(metadata, "tokenizer.ggml.scores", count);
  for (const auto id : {vocabulary.bos, vocabulary.eos}) {
    if (id.value_or(0) < count) continue;
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("token id {} is not in the vocabulary of {}", *id, count));
  }
  return vocabulary;
}

bool IsAdded(std::int32_t type) { return type == kControl || type == kUserDefined; }

/// Control and user-defined tokens; `with_unknown`: also the one for what is unknown.
Json AddedTokens(const Vocabulary& vocabulary, bool with_unknown) {
  Json list = Json::MakeArray();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::int32_t type = vocabulary.types[id];
    if (!IsAdded(type) && !(with_unknown && type == kUnknown)) continue;
    list.push_back({{"id", id},
                    {"content", vocabulary.tokens[id]},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", type != kUserDefined}});
  }
  return list;
}

/// model.vocab: tokens to ids, without unused ones (the padding up to the model's rows).
Json Vocab(const Vocabulary& vocabulary, bool with_added) {
  Json vocab = Json::MakeObject();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::int32_t type = vocabulary.types[id];
    if (type == kUnused || (IsAdded(type) && !with_added)) continue;
    vocab.Append(std::string(vocabulary.tokens[id]), id);
  }
  return vocab;
}

/// A pipeline, as the steps that hf_pipeline reads; and its other rules.
struct Pipeline {
  std::string steps;
  bool ignore_merges = false, nfc = false, adds_bos = false;
};

/// The pipeline behind tokenizer.ggml.pre; names from folders spell their steps: "hf:<steps>".
Result<Pipeline> PipelineOf(std::string_view pre) {
  constexpr std::string_view kSpelled = "hf:";
  if (pre.starts_with(kSpelled)) return Pipeline{std::string(pre.substr(kSpelled.size()))};
  const PreRules* rules = FindPreRules(pre);
  if (rules == nullptr) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("pre-tokenizer {} has no known pipeline of Hugging Face's", Quoted(pre)));
  }
  Pipeline pipeline{StepsOf(*rules), rules->ignore_merges, rules->normalizes_nfc, rules->adds_bos};
  // As the models' own files have them.
  if (*rules->names.begin() == "gpt-2") pipeline.steps = "ByteLevel(regex)";
  if (*rules->names.begin() == "falcon3") {
    pipeline.steps = "Punctuation(Contiguous);ByteLevel(regex);Split([0-9])";
  }
  return pipeline;
}

/// "Split:Removed:invert(REGEX)", taken apart.
Json SplitOf(std::string_view type, std::string_view regex) {
  const bool invert = type.ends_with(":invert");
  if (invert) type.remove_suffix(std::string_view(":invert").size());
  const std::size_t colon = type.find(':');
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", colon == std::string_view::npos ? "Isolated" : type.substr(colon + 1)},
          {"invert", invert}};
}

/// "Punctuation(Contiguous)" -> its JSON.
Json StepOf(std::string_view word) {
  const std::size_t open = word.find('(');
  const std::string_view type = word.substr(0, open);
  const std::string_view argument = open == std::string_view::npos
                                        ? std::string_view()
                                        : word.substr(open + 1, word.size() - open - 2);
  if (type.starts_with("Split")) return SplitOf(type, argument);
  if (type == "ByteLevel") {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", argument.starts_with("prefix")},
            {"trim_offsets", true},
            {"use_regex", argument.ends_with("regex")}};
  }
  if (type == "Digits") return {{"type", type}, {"individual_digits", !argument.empty()}};
  if (type == "WhitespaceSplit") return {{"type", type}};
  return {{"type", type}, {"behavior", argument}};
}

/// The steps of the line, "word;word", as one object or a Sequence.
Json PreTokenizer(std::string_view steps) {
  Json list = Json::MakeArray();
  while (!steps.empty()) {
    const std::size_t end = std::min(steps.find(';'), steps.size());
    list.push_back(StepOf(steps.substr(0, end)));
    steps.remove_prefix(std::min(end + 1, steps.size()));
  }
  if (list.size() == 1) return list[0];
  return {{"type", "Sequence"}, {"pretokenizers", std::move(list)}};
}

/// A flag among the keys; `absent` where there is none.
bool Flag(const MetadataDraft& metadata, std::string_view key, bool absent) {
  const MetaValue* value = metadata.Find(key);
  const auto* set = value == nullptr ? nullptr : std::get_if<bool>(&value->value);
  return set == nullptr ? absent : *set;
}

/// TemplateProcessing that adds BOS and EOS as the keys say; null where neither is added. The
/// template for pairs is required by the library.
Json PostProcessor(const MetadataDraft& metadata, const Vocabulary& vocabulary,
                   bool add_bos_default) {
  const bool bos =
      Flag(metadata, "tokenizer.ggml.add_bos_token", add_bos_default) && vocabulary.bos;
  const bool eos = Flag(metadata, "tokenizer.ggml.add_eos_token", false) && vocabulary.eos;
  if (!bos && !eos) return nullptr;
  Json single = Json::MakeArray(), specials = Json::MakeObject();
  const auto add = [&](std::uint64_t id) {
    const std::string name(vocabulary.tokens[id]);
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    specials[name] = {
        {"id", name}, {"ids", Json::MakeArray({id})}, {"tokens", Json::MakeArray({name})}};
  };
  if (bos) add(*vocabulary.bos);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (eos) add(*vocabulary.eos);
  Json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(specials)}};
}

/// The members that every tokenizer.json begins with.
Json Frame(Json added_tokens) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added_tokens)}};
}

/// The model without vocabulary and merges. SentencePiece spells unknown characters as bytes and
/// fuses neighbours that are unknown.
Json BpeModel(bool sentencepiece, bool ignore_merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", sentencepiece},
          {"byte_fallback", sentencepiece},
          {"ignore_merges", ignore_merges}};
}

/// tokenizer.json for "gpt2" keys: NFC where the model wants it, the pre-tokenizer, ByteLevel.
Result<Json> ByteLevelTokenizer(const MetadataDraft& metadata, const Vocabulary& vocabulary) {
  const Pipeline pipeline = BITTERN_TRY(PipelineOf(metadata.Text("tokenizer.ggml.pre")));
  Json json = Frame(AddedTokens(vocabulary, false));
  json["normalizer"] = nullptr;
  if (Flag(metadata, "bittern.tokenizer.nfc", pipeline.nfc)) json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"] = PreTokenizer(pipeline.steps);
  json["post_processor"] = PostProcessor(metadata, vocabulary, pipeline.adds_bos);
  json["decoder"] = {{"type", "ByteLevel"},
                     {"add_prefix_space", true},
                     {"trim_offsets", true},
                     {"use_regex", true}};
  json["model"] =
      BpeModel(false, Flag(metadata, "bittern.tokenizer.ignore_merges", pipeline.ignore_merges));
  const auto unknown = metadata.Uint("bittern.tokenizer.unknown_token_id");
  if (unknown && *unknown < vocabulary.tokens.size()) {
    json["model"]["unk_token"] = vocabulary.tokens[*unknown];
    json["model"]["fuse_unk"] = Flag(metadata, "bittern.tokenizer.fuse_unknown", false);
  }
  json["model"]["vocab"] = Vocab(vocabulary, unknown.has_value());
  json["model"]["merges"] = vocabulary.merges;
  return json;
}

/// All ways to make a token of two others, best token first: what a SentencePiece model does.
std::vector<std::string> MergesOfScores(const Vocabulary& vocabulary) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] == 1) ids.emplace(vocabulary.tokens[id], id);
  }
  std::vector<std::size_t> order;
  for (const auto& [token, id] : ids) order.push_back(id);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(-vocabulary.scores[a], a) < std::pair(-vocabulary.scores[b], b);
  });
  std::vector<std::string> merges;
  for (const std::size_t id : order) {
    const std::string_view token = vocabulary.tokens[id];
    for (std::size_t cut = DecodeUtf8(token).size; cut < token.size();
         cut += DecodeUtf8(token.substr(cut)).size) {
      if (!ids.contains(token.substr(0, cut)) || !ids.contains(token.substr(cut))) continue;
      merges.push_back(fmt::format("{} {}", token.substr(0, cut), token.substr(cut)));
    }
  }
  return merges;
}

/// tokenizer.json for "llama" keys, as transformers converts SentencePiece models: the normalizer
/// puts U+2581 for spaces, the decoder takes it away again and joins the bytes.
Result<Json> SentencePieceTokenizer(const MetadataDraft& metadata, const Vocabulary& vocabulary) {
  if (vocabulary.scores.empty()) {
    return Fail(ErrorCode::kCorruptFile, "tokenizer.ggml.scores is missing or too short");
  }
  Json normalizers = Json::MakeArray();
  if (Flag(metadata, "tokenizer.ggml.add_space_prefix", true)) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kLowerBlock}});
  }
  normalizers.push_back(
      {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kLowerBlock}});
  Json json = Frame(AddedTokens(vocabulary, true));
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
  json["pre_tokenizer"] = nullptr;
  json["post_processor"] = PostProcessor(metadata, vocabulary, true);
  json["decoder"] = {
      {"type", "Sequence"},
      {"decoders",
       {{{"type", "Replace"}, {"pattern", {{"String", kLowerBlock}}}, {"content", " "}},
        {{"type", "ByteFallback"}},
        {{"type", "Fuse"}},
        {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  Json model = BpeModel(true, false);
  const auto unknown = std::ranges::find(vocabulary.types, kUnknown);
  if (unknown != vocabulary.types.end()) {
    model["unk_token"] =
        vocabulary.tokens[static_cast<std::size_t>(unknown - vocabulary.types.begin())];
  }
  model["vocab"] = Vocab(vocabulary, true);
  model["merges"] = MergesOfScores(vocabulary);
  json["model"] = std::move(model);
  return json;
}

/// tokenizer_config.json. PreTrainedTokenizerFast takes all its rules from tokenizer.json.
Json TokenizerConfig(const MetadataDraft& metadata, const Vocabulary& vocabulary) {
  Json config = Json::MakeObject();
  if (vocabulary.bos) config["bos_token"] = vocabulary.tokens[*vocabulary.bos];
  if (vocabulary.eos) config["eos_token"] = vocabulary.tokens[*vocabulary.eos];
  const std::string_view chat_template = metadata.Text("tokenizer.chat_template");
  if (!chat_template.empty()) config["chat_template"] = chat_template;
  config["clean_up_tokenization_spaces"] = false;
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  return config;
}

}  // namespace

Result<std::vector<TextFile>> HfTokenizerFiles(const MetadataDraft& metadata) {
  const Vocabulary vocabulary = BITTERN_TRY(ReadVocabulary(metadata));
  const std::string_view model = metadata.Text("tokenizer.ggml.model");
  Json json;
  if (model == "gpt2") {
    json = BITTERN_TRY(ByteLevelTokenizer(metadata, vocabulary));
  } else if (model == "llama") {
    json = BITTERN_TRY(SentencePieceTokenizer(metadata, vocabulary));
  } else {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("tokenizer.ggml.model {} cannot be written as tokenizer.json", Quoted(model)));
  }
  const auto text = [](const Json& value, int indent) { return value.Dump(indent) + "\n"; };
  return std::vector<TextFile>{
      {"tokenizer.json", text(json, 1)},
      {"tokenizer_config.json", text(TokenizerConfig(metadata, vocabulary), 2)}};
}

}  // namespace bittern::formats
