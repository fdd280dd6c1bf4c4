// SPDX-License-Identifier: Apache-2.0
// Chat and completion differ in where the prompt comes from; all other fields are read once, by
// ReadCommon.
#include "request/text_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "request/generate_fields.hpp"
#include "request/prompt_fields.hpp"
#include "request/tool_fields.hpp"

namespace bittern::request {
namespace {

/// OpenAI's "stream_options". Events are not padded here, so there is no obfuscation to turn off.
Result<void> ReadStreamOptions(FieldReader* fields, TextRequest* request) {
  const Json* given = fields->Take("stream_options");
  if (given == nullptr) return {};
  auto options = BITTERN_TRY(fields->Inside(*given, "stream_options"));
  BITTERN_TRY(options.Flag("include_usage", &request->include_usage));
  options.Ignore({"include_obfuscation"});
  return options.Finish();
}

/// "logprobs": true with "top_logprobs" beside it, or a count, or llama-server's "n_probs".
Result<void> ReadLogprobs(FieldReader* fields, runtime::GenerateOptions* options) {
  bool wanted = false;
  int top = 0, probs = 0;
  const Json* given = fields->Take("logprobs");
  if (given != nullptr && given->AsBool()) {
    wanted = *given->AsBool();
  } else if (given != nullptr) {
    BITTERN_TRY(fields->Int("logprobs", 0, kMostLogprobs, &top));
    wanted = true;
  }
  if (fields->Has("top_logprobs") && !wanted) {
    return Fail(ErrorCode::kInvalidArgument, "top_logprobs: needs \"logprobs\": true beside it");
  }
  BITTERN_TRY(fields->Int("top_logprobs", 0, kMostLogprobs, &top));
  if (wanted) options->logprobs = top;
  BITTERN_TRY(fields->Int("n_probs", 0, kMostLogprobs, &probs));
  if (probs > 0) options->logprobs = probs;
  return {};
}

/// Fields of both shapes.
Result<void> ReadCommon(FieldReader* fields, const Target& target, TextRequest* request) {
  BITTERN_TRY(ReadSampling(fields, target, request));
  BITTERN_TRY(ReadLogprobs(fields, &request->options));
  BITTERN_TRY(ReadChoices(fields, "n", &request->choices));
  BITTERN_TRY(fields->Flag("stream", &request->stream));
  request->verbose = target.verbose;
  BITTERN_TRY(fields->Flag("verbose", &request->verbose));
  BITTERN_TRY(ReadTelemetry(fields, &request->telemetry));
  return ReadStreamOptions(fields, request);
}

/// A seed that stands for a random one.
constexpr std::uint32_t kDrawnSeed = 0xffffffffu;  // -1: the sampler draws one

}  // namespace

/// The modulus keeps a sum from becoming kDrawnSeed.
runtime::GenerateOptions OptionsOfChoice(const TextRequest& request, std::size_t choice) {
  runtime::GenerateOptions options = request.options;
  std::uint32_t& seed = options.sampler.seed;
  if (seed != kDrawnSeed) seed = (seed + static_cast<std::uint32_t>(choice)) % kDrawnSeed;
  return options;
}

/// Fields in OnlyNeutral would change the answer and are not supported: the value that changes
/// nothing passes. Those in Ignore are hints, about caches and accounts.
Result<void> ReadSampling(FieldReader* fields, const Target& target, TextRequest* request) {
  BITTERN_TRY(ReadOptions(fields, target.tokenizer(), &request->options));
  BITTERN_TRY(fields->Flag("receipt", &request->receipt));
  BITTERN_TRY(ReadConstraint(fields, *target.model, &request->options.constraint));
  BITTERN_TRY(fields->OnlyNeutral(
      {"grammar_lazy", "grammar_triggers", "preserved_tokens", "lora", "t_max_predict_ms"}));
  // Names of other servers for fields that change an answer.
  BITTERN_TRY(fields->OnlyNeutral({"guided_json", "guided_regex", "guided_grammar", "guided_choice",
                                   "structured_outputs", "logits_processors"}));
  BITTERN_TRY(fields->OnlyNeutral({"repetition_penalty", "length_penalty"}, 1));
  BITTERN_TRY(fields->ReadOver({"reasoning_effort"}));
  BITTERN_TRY(fields->Int("id_slot", -1, target.num_slots - 1, &request->slot));
  fields->Ignore({"cache_prompt", "n_keep", "n_discard", "n_cache_reuse", "backend_sampling",
                  "model", "user", "metadata", "store", "service_tier", "prompt_cache_key",
                  "prompt_cache_retention", "safety_identifier"});
  return {};
}

Result<void> ReadTelemetry(FieldReader* fields, TelemetryRequest* telemetry) {
  BITTERN_TRY(fields->Flag("timings_per_token", &telemetry->timings));
  return fields->Flag("return_progress", &telemetry->progress);
}

Result<void> ReadChoices(FieldReader* fields, std::string_view key, int* choices) {
  return fields->Int(key, 1, kMostChoices, choices);
}

/// The sampling comes before the tools: RenderWithTools must see a constraint and a receipt that
/// the request asks for.
Result<TextRequest> ReadChat(const Target& target, const Json& body,
                             const runtime::GenerateOptions& defaults) {
  TextRequest request{.options = defaults, .chat = true};
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, target.strict ? nullptr : &request.unread));
  BITTERN_TRY(ReadCommon(&fields, target, &request));
  const ToolRequest tools = BITTERN_TRY(ReadTools(&fields));
  auto messages = BITTERN_TRY(ReadMessages("messages", fields.Take("messages"), fields.unread()));
  auto more = BITTERN_TRY(ReadTemplateFields(&fields));
  auto prompt =
      BITTERN_TRY(RenderWithTools(std::move(messages), std::move(more), tools, target, &request));
  request.prompts.push_back(std::move(prompt.ids));
  BITTERN_TRY(fields.OnlyNeutral({"functions", "function_call", "audio"}));
  BITTERN_TRY(fields.ReadOver({"prediction", "web_search_options", "verbosity"}));
  std::vector<std::string> modalities;
  BITTERN_TRY(fields.Texts("modalities", 2, &modalities));
  if (std::ranges::any_of(modalities, [](const std::string& one) { return one != "text"; })) {
    return Fail(ErrorCode::kInvalidArgument, "modalities: only \"text\" is made here");
  }
  fields.Ignore({"reasoning_format", "parse_tool_calls"});
  BITTERN_TRY(fields.Finish());
  return request;
}

/// "best_of" and "suffix" are OpenAI's; only the values that change nothing are taken.
Result<TextRequest> ReadCompletion(const Target& target, const Json& body,
                                   const runtime::GenerateOptions& defaults) {
  TextRequest request{.options = defaults};
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, target.strict ? nullptr : &request.unread));
  BITTERN_TRY(ReadCommon(&fields, target, &request));
  request.prompts = BITTERN_TRY(ReadPrompts(&fields, target, &request.cut));
  if (request.sequences() > kMostSequences) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("n: at most {} answers in one request expected, {} prompts times {} found",
                    kMostSequences, request.prompts.size(), request.choices));
  }
  BITTERN_TRY(fields.Flag("echo", &request.echo));
  BITTERN_TRY(fields.OnlyNeutral({"suffix"}));
  BITTERN_TRY(fields.OnlyNeutral({"best_of"}, 1));
  BITTERN_TRY(fields.Finish());
  return request;
}

Result<TextRequest> ReadTextRequest(const Target& target, const Json& body,
                                    const runtime::GenerateOptions& defaults) {
  if (body["messages"].is_null()) return ReadCompletion(target, body, defaults);
  if (body["prompt"].is_null() && body["prompt_ids"].is_null()) {
    return ReadChat(target, body, defaults);
  }
  return Fail(ErrorCode::kInvalidArgument, "messages: one prompt expected, two found");
}

Result<void> RefuseForServer(const TextRequest& request) {
  if (request.verbose) {
    return Fail(ErrorCode::kInvalidArgument,
                "verbose: not told here; the server's answers have it");
  }
  if (request.echo && request.options.logprobs >= 0) {
    return Fail(ErrorCode::kInvalidArgument, "echo: not with logprobs here; the server has both");
  }
  return {};
}

}  // namespace bittern::request
