// SPDX-License-Identifier: Apache-2.0
// A step becomes a word, a pipeline a line of words; lines are then compared as text.
#include "formats/hf_pipeline.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "formats/display.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kUnderline = "\u2581";

tl::unexpected<Error> Unsupported(std::string_view part, std::string_view found) {
  return Fail(ErrorCode::kUnsupported,
              fmt::format("{} {} is not supported", part, Quoted(found, 400)));
}

std::string_view StringOf(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value == nullptr || value->AsString() == nullptr ? std::string_view() : *value->AsString();
}

bool IsTrue(const Json& object, std::string_view key, bool absent) {
  const Json* value = object.Find(key);
  return value == nullptr ? absent : value->AsBool().value_or(absent);
}

/// The steps of `part` of tokenizer.json: of a Sequence all, of another object that one, of null
/// none. `members` is what Sequence calls its list.
Result<std::vector<const Json*>> StepsOf(const Json& json, std::string_view part,
                                         std::string_view members) {
  std::vector<const Json*> steps;
  const Json* value = json.Find(part);
  if (value == nullptr || value->is_null()) return steps;
  if (StringOf(*value, "type") != "Sequence") {
    steps.push_back(value);
  } else {
    const Json* list = value->Find(members);
    if (list == nullptr || list->AsArray() == nullptr) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("{}: {} is missing or no array", part, members));
    }
    for (const Json& step : *list->AsArray()) steps.push_back(&step);
  }
  for (const Json* step : steps) {
    if (StringOf(*step, "type").empty()) {
      return Fail(ErrorCode::kCorruptFile, fmt::format("{}: a step without a type", part));
    }
  }
  return steps;
}

Result<void> ReadNormalizer(const Json& json, HfPipeline* pipeline) {
  pipeline->prefix = HfPrefix::kNever;
  for (const Json* step : BITTERN_TRY(StepsOf(json, "normalizer", "normalizers"))) {
    const std::string_view type = StringOf(*step, "type");
    const Json* pattern = step->Find("pattern");
    if (type == "NFC") {
      pipeline->normalizes_nfc = true;
    } else if (type == "Prepend" && StringOf(*step, "prepend") == kUnderline) {
      pipeline->prefix = HfPrefix::kAlways;
    } else if (type == "Replace" && pattern != nullptr && StringOf(*pattern, "String") == " " &&
               StringOf(*step, "content") == kUnderline) {
      // What SentencePiece models do anyway.
    } else {
      return Unsupported("normalizer", type);
    }
  }
  return {};
}

/// The word for one step of a pre-tokenizer.
Result<std::string> WordOf(const Json& step) {
  const std::string_view type = StringOf(step, "type");
  if (type == "ByteLevel") {
    if (IsTrue(step, "add_prefix_space", true)) {
      return Unsupported("pre_tokenizer", "ByteLevel with add_prefix_space");
    }
    return std::string(IsTrue(step, "use_regex", true) ? "ByteLevel(regex)" : "ByteLevel");
  }
  if (type == "Digits") {
    return std::string(IsTrue(step, "individual_digits", false) ? "Digits(individual)" : "Digits");
  }
  if (type == "Punctuation") {
    const std::string_view behavior = StringOf(step, "behavior");
    return fmt::format("Punctuation({})", behavior.empty() ? "Isolated" : behavior);
  }
  if (type == "Split") {
    const Json* pattern = step.Find("pattern");
    const std::string_view regex =
        pattern == nullptr ? std::string_view() : StringOf(*pattern, "Regex");
    if (regex.empty() || StringOf(step, "behavior") != "Isolated" || IsTrue(step, "invert", true)) {
      return Unsupported("pre_tokenizer", "Split by anything but an isolated regular expression");
    }
    return fmt::format("Split({})", regex);
  }
  if (type == "Metaspace") return std::string("Metaspace");
  return Unsupported("pre_tokenizer", type);
}

/// Pipelines that GGUF has names for.
struct Known {
  std::string_view steps, name;
};
constexpr Known kKnown[] = {
    {"ByteLevel(regex)", "gpt-2"},
    {R"(Split('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+);)"
     "ByteLevel",
     "gpt-2"},
    {R"(Split((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+);ByteLevel)",
     "llama-bpe"},
    {R"(Split((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+);ByteLevel)",
     "qwen2"},
    {"Punctuation(Contiguous);ByteLevel(regex);Split([0-9])", "falcon3"},
};

/// Steps whose meaning in any order is known.
constexpr std::string_view kComposable[] = {"ByteLevel(regex)",
                                            "ByteLevel",
                                            "Digits(individual)",
                                            "Digits",
                                            "Punctuation(Contiguous)",
                                            "Punctuation(Isolated)",
                                            "Split([0-9])",
                                            "Split([0-9][0-9][0-9])"};

bool IsComposable(std::string_view word) {
  for (const std::string_view known : kComposable) {
    if (word == known) return true;
  }
  return false;
}

Result<void> ReadMetaspace(const Json& step, HfPipeline* pipeline) {
  const std::string_view scheme = StringOf(step, "prepend_scheme");
  if (StringOf(step, "replacement") != kUnderline) {
    return Unsupported("pre_tokenizer", "Metaspace with another sign than U+2581");
  }
  if (scheme == "first") return Unsupported("pre_tokenizer", "Metaspace with prepend_scheme first");
  // Older files say add_prefix_space in place of prepend_scheme.
  const bool always = scheme.empty() ? IsTrue(step, "add_prefix_space", true) : scheme == "always";
  pipeline->prefix = always ? HfPrefix::kAlways : HfPrefix::kNever;
  return {};
}

Result<void> ReadPreTokenizer(const Json& json, HfPipeline* pipeline) {
  const auto steps = BITTERN_TRY(StepsOf(json, "pre_tokenizer", "pretokenizers"));
  std::string line;
  bool composable = true;
  for (const Json* step : steps) {
    const std::string word = BITTERN_TRY(WordOf(*step));
    if (word == "Metaspace") BITTERN_TRY(ReadMetaspace(*step, pipeline));
    if (word.starts_with("ByteLevel")) pipeline->byte_level = true;
    composable = composable && IsComposable(word);
    line += (line.empty() ? "" : ";") + word;
  }
  if (!pipeline->byte_level) {
    return line.empty() || line == "Metaspace" ? Result<void>()
                                               : Unsupported("pre_tokenizer", line);
  }
  for (const Known& known : kKnown) {
    if (line == known.steps) {
      pipeline->pre = known.name;
      return {};
    }
  }
  if (!composable) return Unsupported("pre_tokenizer", line);
  pipeline->pre = "hf:" + line;
  return {};
}

/// Reads one end of a template's list; true if it is a special token, whose id is set.
Result<bool> ReadTemplateEnd(const Json& processor, const Json& item,
                             std::optional<std::uint64_t>* id) {
  const Json* special = item.Find("SpecialToken");
  if (special == nullptr) return false;
  const Json* tokens = processor.Find("special_tokens");
  const Json* token = tokens == nullptr ? nullptr : tokens->Find(StringOf(*special, "id"));
  const Json* ids = token == nullptr ? nullptr : token->Find("ids");
  if (ids == nullptr || ids->AsArray() == nullptr || ids->AsArray()->size() != 1 ||
      !(*ids->AsArray())[0].AsUint()) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("post_processor: special token {} has no id",
                                                     Quoted(StringOf(*special, "id"))));
  }
  *id = (*ids->AsArray())[0].AsUint();
  return true;
}

Result<void> ReadTemplate(const Json& processor, HfPipeline* pipeline) {
  const Json* single = processor.Find("single");
  const Json::Array* items = single == nullptr ? nullptr : single->AsArray();
  if (items == nullptr || items->empty()) {
    return Fail(ErrorCode::kCorruptFile, "post_processor: single is missing or empty");
  }
  pipeline->add_bos = BITTERN_TRY(ReadTemplateEnd(processor, items->front(), &pipeline->bos));
  pipeline->add_eos =
      items->size() > 1 && BITTERN_TRY(ReadTemplateEnd(processor, items->back(), &pipeline->eos));
  const std::size_t specials =
      static_cast<std::size_t>(*pipeline->add_bos) + static_cast<std::size_t>(*pipeline->add_eos);
  if (items->size() != specials + 1) return Unsupported("post_processor", "a longer template");
  return {};
}

Result<void> ReadPostProcessor(const Json& json, HfPipeline* pipeline) {
  pipeline->add_bos = false;
  pipeline->add_eos = false;
  for (const Json* step : BITTERN_TRY(StepsOf(json, "post_processor", "processors"))) {
    const std::string_view type = StringOf(*step, "type");
    if (type == "TemplateProcessing") {
      BITTERN_TRY(ReadTemplate(*step, pipeline));
    } else if (type != "ByteLevel") {  // that one only trims offsets
      return Unsupported("post_processor", type);
    }
  }
  return {};
}

Result<void> CheckDecoder(const Json& json, bool byte_level) {
  for (const Json* step : BITTERN_TRY(StepsOf(json, "decoder", "decoders"))) {
    const std::string_view type = StringOf(*step, "type");
    const bool known = byte_level ? type == "ByteLevel"
                                  : type == "Replace" || type == "ByteFallback" || type == "Fuse" ||
                                        type == "Strip" || type == "Metaspace";
    if (!known) return Unsupported("decoder", type);
  }
  return {};
}

}  // namespace

Result<HfPipeline> ReadHfPipeline(const Json& json) {
  HfPipeline pipeline;
  BITTERN_TRY(ReadNormalizer(json, &pipeline));
  BITTERN_TRY(ReadPreTokenizer(json, &pipeline));
  BITTERN_TRY(ReadPostProcessor(json, &pipeline));
  BITTERN_TRY(CheckDecoder(json, pipeline.byte_level));
  return pipeline;
}

}  // namespace bittern::formats
