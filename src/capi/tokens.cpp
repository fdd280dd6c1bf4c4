// SPDX-License-Identifier: Apache-2.0
// Texts, ids and conversations of the C interface.
#include <fmt/format.h>

#include "base/json/json.hpp"
#include "capi/log.hpp"
#include "capi/objects.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/prompt_check.hpp"
#include "tokenizer/detokenizer.hpp"

namespace bittern::capi {

namespace {

/// Unknown bits are errors, so that a later version can give them a meaning.
Result<void> CheckFlags(std::uint32_t flags, std::uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("flags: bits of {:#x} expected, {:#x} found", known, flags));
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// Special tokens that a text contains are text, unless a flag asks to read them.
bittern_status bittern_tokenize(const bittern_model* model, const char* text, size_t size,
                                uint32_t flags, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(text, size, "text"));
    BITTERN_TRY(NeedPointer(result, "result"));
    BITTERN_TRY(
        CheckFlags(flags, BITTERN_TOKENIZE_BOS | BITTERN_TOKENIZE_SPECIAL | BITTERN_TOKENIZE_EOS));
    auto given = std::make_shared<ResultObject>();
    given->ids = found->loaded->tokenizer.Encode(
        std::string_view(text, size), {.add_bos = (flags & BITTERN_TOKENIZE_BOS) != 0,
                                       .add_eos = (flags & BITTERN_TOKENIZE_EOS) != 0,
                                       .parse_special = (flags & BITTERN_TOKENIZE_SPECIAL) != 0});
    Give(std::move(given), result);
    return {};
  });
}

/// A stream decodes as generation does: bytes of a character may be spread over tokens.
bittern_status bittern_detokenize(const bittern_model* model, const int32_t* ids, size_t count,
                                  uint32_t flags, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    BITTERN_TRY(NeedPointer(result, "result"));
    BITTERN_TRY(CheckFlags(flags, BITTERN_DECODE_SPECIAL));
    BITTERN_TRY(runtime::CheckIds(IdSpan(ids, count), found->loaded->model.config().vocab_size));
    tokenizer::StreamingDetokenizer stream(found->loaded->tokenizer,
                                           (flags & BITTERN_DECODE_SPECIAL) != 0,
                                           /*from_start=*/true);
    auto given = std::make_shared<ResultObject>();
    for (const std::int32_t id : IdSpan(ids, count)) given->text += stream.Push(id);
    given->text += stream.Finish();
    Give(std::move(given), result);
    return {};
  });
}

/// An empty token gives "", never NULL.
bittern_status bittern_token_bytes(const bittern_model* model, int32_t id, const char** bytes,
                                   size_t* size) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(bytes, "bytes"));
    BITTERN_TRY(NeedPointer(size, "size"));
    BITTERN_TRY(runtime::CheckIds({&id, 1}, found->loaded->model.config().vocab_size));
    const std::string_view token = found->loaded->tokenizer.TokenBytes(id, true);
    *bytes = token.empty() ? "" : token.data();
    *size = token.size();
    return {};
  });
}

bittern_status bittern_token_is_end(const bittern_model* model, int32_t id, int32_t* is_end) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(is_end, "is_end"));
    BITTERN_TRY(runtime::CheckIds({&id, 1}, found->loaded->model.config().vocab_size));
    *is_end = found->loaded->tokenizer.IsEndOfGeneration(id) ? 1 : 0;
    return {};
  });
}

/// The template is compiled for each call. Take bittern_engine_submit_json to do it once.
bittern_status bittern_apply_template(const bittern_model* model, const char* messages_json,
                                      size_t size, const char* chat_template,
                                      bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(messages_json, "messages_json"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const runtime::LoadedModel& loaded = *found->loaded;
    const auto request = Json::Parse(std::string_view(messages_json, size), {.max_depth = 100});
    if (!request) {
      return Fail(ErrorCode::kInvalidArgument, "messages_json: " + request.error().message);
    }
    Decisions decisions;
    const auto prompt = BITTERN_TRY(
        runtime::ChatPrompt::Create(loaded.model.checkpoint().metadata(), loaded.tokenizer,
                                    chat_template == nullptr ? "" : chat_template, &decisions));
    if (!decisions.empty() && !found->chat_logged.exchange(true)) LogDecisions(decisions);
    auto rendered = BITTERN_TRY(prompt.Apply(*request, loaded.tokenizer));
    auto given = std::make_shared<ResultObject>();
    given->text = rendered.text.bytes();
    given->ids = std::move(rendered.ids);
    Give(std::move(given), result);
    return {};
  });
}
