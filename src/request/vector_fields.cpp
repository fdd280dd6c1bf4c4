// SPDX-License-Identifier: Apache-2.0
#include "request/vector_fields.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "runtime/pooled_hidden.hpp"
#include "runtime/prompt_check.hpp"

namespace bittern::request {
namespace {

bool IsIds(const Json& value) {
  const Json::Array* list = value.AsArray();
  return list != nullptr && !list->empty() && list->front().AsNumber().has_value();
}

Result<std::vector<TokenId>> IdsOf(const std::string& path, const Json::Array& list) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto id = list[i].AsUint();
    if (!id || *id > static_cast<std::uint64_t>(std::numeric_limits<TokenId>::max())) {
      return WrongField(fmt::format("{}[{}]", path, i), "a token id", list[i]);
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

/// One text, or its tokens.
Result<std::vector<TokenId>> ReadOne(const std::string& path, const Json& value,
                                     const Target& target, bool truncate) {
  const int most = target.context_length;
  const auto named = [&](Error error) {
    error.message = fmt::format("{}: {}", path, error.message);
    return error;
  };
  if (const std::string* text = value.AsString()) {
    auto ids = BITTERN_TRY(
        runtime::EncodeForVector(*text, target.tokenizer(), most, truncate).map_error(named));
    if (!ids.empty()) return ids;
    return Fail(ErrorCode::kInvalidArgument, path + ": a text expected, found an empty one");
  }
  if (!IsIds(value)) return WrongField(path, "a text or a list of token ids", value);
  auto ids = BITTERN_TRY(IdsOf(path, *value.AsArray()));
  if (truncate && most > 0 && ids.size() > static_cast<std::size_t>(most)) {
    ids.resize(static_cast<std::size_t>(most));
  }
  const int vocabulary = target.model->model.config().vocab_size;
  const int limit = most > 0 ? most : std::numeric_limits<int>::max();
  BITTERN_TRY(runtime::CheckPrompt(ids, vocabulary, limit).map_error(named));
  return ids;
}

}  // namespace

Result<std::vector<std::vector<TokenId>>> ReadTexts(FieldReader* fields, std::string_view key,
                                                    const Target& target, bool truncate) {
  const std::string path = fields->PathOf(key);
  const Json* given = fields->Take(key);
  if (given == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, path + ": a text or a list of texts expected");
  }
  std::vector<std::vector<TokenId>> texts;
  const Json::Array* list = given->AsArray();
  if (list == nullptr || IsIds(*given)) {
    texts.push_back(BITTERN_TRY(ReadOne(path, *given, target, truncate)));
    return texts;
  }
  if (list->empty() || list->size() > kMostTexts) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: 1 to {} texts expected, {} found",
                                                         path, kMostTexts, list->size()));
  }
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    texts.push_back(BITTERN_TRY(ReadOne(place, (*list)[i], target, truncate)));
    tokens += texts.back().size();
    if (i == 0 || tokens <= kMostTextTokens) continue;
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: {} tokens at most expected in the texts of one request; those up to "
                    "{} have {}",
                    path, kMostTextTokens, place, tokens));
  }
  return texts;
}

}  // namespace bittern::request
