// SPDX-License-Identifier: Apache-2.0
// Texts as vectors, and answers taken apart.
#include <cmath>
#include <memory>

#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "request/answer_json.hpp"
#include "request/tool_fields.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/pooled_hidden.hpp"

namespace bittern::capi {
namespace {

/// Reads the tokens and pools their hidden states.
Result<std::vector<float>> Embed(const ModelObject& model, std::span<const runtime::TokenId> ids,
                                 const Settings& settings) {
  const EmbedSettings wanted = EmbedSettingsOf(settings);
  runtime::SessionOptions options = SessionOptionsOf(settings);
  options.lender = model.benches;
  auto session = BITTERN_TRY(runtime::Session::Create(model.loaded, options));
  const model::ModelConfig& config = model.loaded->model.config();
  const auto pooling = BITTERN_TRY(
      runtime::DefaultPooling(model.loaded->model.checkpoint().metadata(), config.architecture));
  runtime::PooledHidden pooled(wanted.pooling.value_or(pooling), config.hidden_size);
  BITTERN_TRY(
      session.PrefillHidden(ids, [&](int, std::span<const float> hidden) { pooled.Add(hidden); }));
  return pooled.Finish(wanted.normalize);
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_embed(const bittern_model* model, const int32_t* ids, size_t count,
                             const bittern_options* options, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    auto given = std::make_shared<ResultObject>();
    given->floats = BITTERN_TRY(Embed(*found, IdSpan(ids, count), settings));
    Give(std::move(given), result);
    return {};
  });
}

bittern_status bittern_result_floats(const bittern_result* result, const float** floats,
                                     size_t* count) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ResultObject>(result));
    BITTERN_TRY(NeedPointer(count, "count"));
    if (floats != nullptr) *floats = found->floats.data();
    *count = found->floats.size();
    return {};
  });
}

bittern_status bittern_parse_answer(const bittern_model* model, const char* text, size_t size,
                                    bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(text, size, "text"));
    BITTERN_TRY(NeedPointer(result, "result"));
    Decisions unused;
    const runtime::LoadedModel& loaded = *found->loaded;
    const auto chat = runtime::ChatPrompt::Create(loaded.model.checkpoint().metadata(),
                                                  loaded.tokenizer, "", &unused);
    const request::Target target{.model = &loaded, .chat = chat ? &*chat : nullptr};
    const auto parts =
        request::ReadToolAnswer(request::ReadingOfText(target), std::string_view(text, size));
    auto given = std::make_shared<ResultObject>();
    given->text = parts.content;
    given->json = Json{{"tool_calls", request::ToolCallsJson(parts.calls, 0)}}.Dump();
    Give(std::move(given), result);
    return {};
  });
}
