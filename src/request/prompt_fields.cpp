// SPDX-License-Identifier: Apache-2.0
#include "request/prompt_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/prompt_check.hpp"

namespace bittern::request {
namespace {

constexpr std::int64_t kMostTokenId = std::numeric_limits<int>::max();

/// Adds the tokens of a text. BOS can stand before the first part only.
void AddText(std::string_view text, const Target& target, bool* cut, std::vector<TokenId>* ids) {
  const auto read = runtime::ReadWithinContext(text, target.tokenizer(),
                                               {.add_bos = ids->empty(), .parse_special = true},
                                               target.context_length);
  ids->insert(ids->end(), read.ids.begin(), read.ids.end());
  *cut = *cut || read.cut;
}

/// Adds the tokens of one part: a text, an id, or llama-server's {"prompt_string"}.
Result<void> AddIds(const std::string& path, const Json& value, const Target& target, bool* cut,
                    std::vector<TokenId>* ids) {
  if (const std::string* text = value.AsString()) {
    AddText(*text, target, cut, ids);
    return {};
  }
  const auto id = value.AsUint();
  if (value.Find("prompt_string") != nullptr) {  // llama-server's way to send pictures with a text
    auto fields = BITTERN_TRY(FieldReader::Open(value, path));
    std::string text;
    BITTERN_TRY(fields.Text("prompt_string", &text));
    BITTERN_TRY(fields.OnlyNeutral({"multimodal_data"}));
    BITTERN_TRY(fields.Finish());
    AddText(text, target, cut, ids);
    return {};
  }
  if (!id || *id > static_cast<std::uint64_t>(kMostTokenId)) {
    return WrongField(path, "a text or a token id", value);
  }
  ids->push_back(static_cast<TokenId>(*id));
  return {};
}

/// One prompt: a text, or a list of ids and texts.
Result<std::vector<TokenId>> ReadPrompt(const std::string& path, const Json& value,
                                        const Target& target, bool* cut) {
  std::vector<TokenId> ids;
  const Json::Array* parts = value.AsArray();
  if (parts == nullptr) {
    BITTERN_TRY(AddIds(path, value, target, cut, &ids));
    return ids;
  }
  for (std::size_t i = 0; i < parts->size(); ++i) {
    BITTERN_TRY(AddIds(fmt::format("{}[{}]", path, i), (*parts)[i], target, cut, &ids));
  }
  return ids;
}

}  // namespace

/// A list with a number in it is one prompt of mixed parts, any other list is several prompts. That
/// is how llama-server tells them apart.
Result<std::vector<std::vector<TokenId>>> ReadPrompts(FieldReader* fields, const Target& target,
                                                      bool* cut) {
  const bool has_ids = fields->Has("prompt_ids");
  if (has_ids && fields->Has("prompt")) {
    return Fail(ErrorCode::kInvalidArgument, "prompt_ids: one prompt expected, two found");
  }
  const std::string path = fields->PathOf(has_ids ? "prompt_ids" : "prompt");
  const Json* ids = fields->Take("prompt_ids");
  const Json* given = has_ids ? ids : fields->Take("prompt");
  if (given == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                path + ": a text or token ids (or \"messages\") expected, none found");
  }
  const Json& value = *given;
  std::vector<std::vector<TokenId>> prompts;
  const Json::Array* list = value.AsArray();
  const auto is_id = [](const Json& part) { return part.AsNumber().has_value(); };
  if (list == nullptr || std::ranges::any_of(*list, is_id)) {
    prompts.push_back(BITTERN_TRY(ReadPrompt(path, value, target, cut)));
    return prompts;
  }
  if (list->empty() || list->size() > static_cast<std::size_t>(kMostChoices)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: 1 to {} prompts expected, {} found",
                                                         path, kMostChoices, list->size()));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    prompts.push_back(
        BITTERN_TRY(ReadPrompt(fmt::format("{}[{}]", path, i), (*list)[i], target, cut)));
  }
  return prompts;
}

}  // namespace bittern::request
