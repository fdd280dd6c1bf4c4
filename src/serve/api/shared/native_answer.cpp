// SPDX-License-Identifier: Apache-2.0
#include "serve/api/shared/native_answer.hpp"

#include "serve/api/shared/json_text.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// llama-server's "stop_type". A full context counts as "limit", too.
std::string_view StopType(runtime::FinishReason reason) {
  switch (reason) {
    case runtime::FinishReason::kEndOfText:
      return "eos";
    case runtime::FinishReason::kStopString:
      return "word";
    case runtime::FinishReason::kCancelled:
      return "none";
    default:
      return "limit";
  }
}

}  // namespace

NativeAnswer::NativeAnswer(const Service& service, const TextRequest& request, NativeParts parts)
    : service_(service),
      prompts_(request.prompts),
      options_(request.options),
      choices_(static_cast<std::size_t>(request.choices)),
      parts_(parts) {}

/// "generation_settings" has the seed that was drawn, so that the client can ask for the same
/// answer again. "id_slot" is always -1: a sequence is bound to no slot.
Json NativeAnswer::Of(std::size_t choice, const Outcome& outcome) const {
  const std::vector<TokenId>& prompt = PromptOf(choice);
  const runtime::GenerateResult& result = outcome.result;
  runtime::GenerateOptions settings = options_;
  settings.sampler.seed = result.seed;
  Json json = {{"index", choice},
               {"content", result.text},
               {"tokens", parts_.tokens ? Json(result.ids) : Json::MakeArray()},
               {"id_slot", -1},
               {"stop", true},
               {"model", service_.options().model_name},
               {"tokens_predicted", outcome.predicted()},
               {"tokens_evaluated", prompt.size()},
               {"generation_settings", OptionsJson(settings)},
               {"prompt", service_.tokenizer().Decode(prompt, true)},
               {"has_new_line", result.text.find('\n') != std::string::npos},
               {"truncated", result.finish == runtime::FinishReason::kContextFull},
               {"stop_type", StopType(result.finish)},
               {"stopping_word", result.stopping_word},
               {"tokens_cached", prompt.size() + result.ids.size()},
               {"timings", TimingsJson(outcome)}};
  AddProbabilities(result.logprobs, &json);
  if (parts_.receipt && !outcome.receipt.empty()) json["receipt"] = ReceiptJson(outcome);
  return json;
}

Json NativeAnswer::OfAll(std::span<const Outcome> outcomes) const {
  if (outcomes.size() == 1) return Of(0, outcomes.front());
  Json all = Json::MakeArray();
  for (std::size_t i = 0; i < outcomes.size(); ++i) all.push_back(Of(i, outcomes[i]));
  return all;
}

void NativeAnswer::AddProbabilities(const TokenList& tokens, Json* to) const {
  if (!parts_.probabilities || options_.logprobs < 0) return;
  const auto write = options_.logprobs_of_draw ? &request::ProbabilitiesJson : &LogprobsJson;
  (*to)["completion_probabilities"] = write(tokens, service_.tokenizer());
}

}  // namespace bittern::serve
