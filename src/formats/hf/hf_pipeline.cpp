// SPDX-License-Identifier: Apache-2.0
// A step becomes a word, a pipeline a line of words; lines are then compared as text.
#include "formats/hf/hf_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text/display.hpp"
#include "formats/pre_rules.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kUnderline = "\u2581";

tl::unexpected<Error> Unsupported(std::string_view part, std::string_view found) {
  return Fail(ErrorCode::kUnsupported,
              fmt::format("{} {} is not supported", part, Quoted(found, 400)));
}

/// The text under `key`; empty where there is none.
std::string_view StringOf(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value == nullptr || value->AsString() == nullptr ? std::string_view() : *value->AsString();
}

/// The flag under `key`; `absent`, the library's default, where there is none.
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

/// Reads what is done to a text before it is cut: NFC, the leading U+2581, spaces as U+2581. Other
/// normalizers change the text in ways that no key of GGUF tells, so they are refused.
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
      // Steps that SentencePiece models do anyway.
    } else {
      return Unsupported("normalizer", type);
    }
  }
  return {};
}

/// "Split:Removed:invert(REGEX)"; what cuts as usual is left out of the words.
Result<std::string> SplitWord(const Json& step) {
  const Json* pattern = step.Find("pattern");
  if (pattern == nullptr || pattern->AsObject() == nullptr) {
    return Unsupported("pre_tokenizer", "Split without a pattern");
  }
  const std::string_view regex = StringOf(*pattern, "Regex");
  const std::string_view text = StringOf(*pattern, "String");
  const std::string_view behavior = StringOf(step, "behavior");
  constexpr std::string_view kBehaviors[] = {"Isolated", "Removed", "Contiguous",
                                             "MergedWithPrevious", "MergedWithNext"};
  if (regex.empty() == text.empty()) {
    return Unsupported("pre_tokenizer", "Split by neither a regular expression nor a text");
  }
  if (std::ranges::find(kBehaviors, behavior) == std::end(kBehaviors)) {
    return Unsupported("pre_tokenizer", fmt::format("Split with behavior {}", behavior));
  }
  const bool isolated = behavior == "Isolated";  // matches and gaps are treated alike
  std::string words = isolated ? "" : fmt::format(":{}", behavior);
  if (!isolated && IsTrue(step, "invert", false)) words += ":invert";
  return SplitStep(words, regex.empty() ? EscapeRegex(text) : std::string(regex));
}

/// The word for one step of a pre-tokenizer.
Result<std::string> WordOf(const Json& step) {
  const std::string_view type = StringOf(step, "type");
  if (type == "ByteLevel") {
    const bool prefix = IsTrue(step, "add_prefix_space", true);
    const bool regex = IsTrue(step, "use_regex", true);
    if (!prefix) return std::string(regex ? "ByteLevel(regex)" : "ByteLevel");
    return std::string(regex ? "ByteLevel(prefix,regex)" : "ByteLevel(prefix)");
  }
  if (type == "Digits") {
    return std::string(IsTrue(step, "individual_digits", false) ? "Digits(individual)" : "Digits");
  }
  if (type == "Punctuation") {
    const std::string_view behavior = StringOf(step, "behavior");
    return fmt::format("Punctuation({})", behavior.empty() ? "Isolated" : behavior);
  }
  if (type == "Split") return SplitWord(step);
  if (type == "WhitespaceSplit" || type == "Metaspace") return std::string(type);
  return Unsupported("pre_tokenizer", type);
}

/// The name that GGUF has for the steps of `line`, or empty.
std::string_view PreNameOf(std::string_view line) {
  if (line == "ByteLevel(regex)") return "gpt-2";
  if (line == "Punctuation(Contiguous);ByteLevel(regex);Split([0-9])") return "falcon3";
  for (const PreRules& rules : AllPreRules()) {
    if (line == StepsOf(rules)) return *rules.names.begin();
  }
  return {};
}

/// Reads Metaspace, the pre-tokenizer that puts U+2581 in place of spaces and, unless told not to,
/// before the text.
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

/// Makes the line of words and finds GGUF's name for it. Without one, the name is "hf:" and the
/// line itself, which the tokenizer reads as the steps.
Result<void> ReadPreTokenizer(const Json& json, HfPipeline* pipeline) {
  const auto steps = BITTERN_TRY(StepsOf(json, "pre_tokenizer", "pretokenizers"));
  std::string line;
  for (const Json* step : steps) {
    const std::string word = BITTERN_TRY(WordOf(*step));
    if (word == "Metaspace") BITTERN_TRY(ReadMetaspace(*step, pipeline));
    if (word.starts_with("ByteLevel")) pipeline->byte_level = true;
    line += (line.empty() ? "" : ";") + word;
  }
  if (!pipeline->byte_level) {
    return line.empty() || line == "Metaspace" ? Result<void>()
                                               : Unsupported("pre_tokenizer", line);
  }
  if (line.find("Metaspace") != std::string::npos) return Unsupported("pre_tokenizer", line);
  pipeline->pre = PreNameOf(line);
  if (pipeline->pre.empty()) pipeline->pre = "hf:" + line;
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

/// TemplateProcessing: BOS, text, EOS, where both tokens may be missing. The template for pairs of
/// texts is not looked at.
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

/// A file without a post-processor adds neither BOS nor EOS.
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

/// Decoders only undo what the tokenizer does anyway; one that does more is refused.
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
