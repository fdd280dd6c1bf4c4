// SPDX-License-Identifier: Apache-2.0
// A request for text as a JSON body in OpenAI's shape, with llama-server's names beside it: the one
// reader of the server, of batch files and of the library. Other APIs read their own shapes into
// the same struct. All errors are kInvalidArgument and name the field. Any thread.
#pragma once

#include <string>
#include <vector>

#include "request/fields/field_reader.hpp"
#include "request/tool_stream.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::request {

using runtime::TokenId;

/// The model that a request is for. All that is pointed to outlives its use.
struct Target {
  const runtime::LoadedModel* model;
  /// How a conversation is written; null: `why_no_chat` says why not.
  const runtime::ChatPrompt* chat = nullptr;
  const Error* why_no_chat = nullptr;
  int num_slots = 1;       ///< "id_slot" is below it
  int context_length = 0;  ///< a text that cannot fit is not read to its end; 0: it is
  bool strict = true;      ///< fields that nothing reads are refused; else TextRequest::unread
  bool verbose = false;    ///< what a body leaves open

  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const noexcept { return model->tokenizer; }
};

/// Data that a stream sends beside its text.
struct TelemetryRequest {
  bool timings = false;   ///< "timings_per_token"
  bool progress = false;  ///< "return_progress"
};

/// A request that was read and checked, whichever API it came by.
struct TextRequest {
  std::vector<std::vector<TokenId>> prompts = {};
  int choices = 1;  ///< for each prompt; choice i of a prompt draws with seed + i
  runtime::GenerateOptions options = {};
  ToolReading tools = {};  ///< how calls are found in the answer
  TelemetryRequest telemetry = {};
  bool stream = false;
  bool include_usage = false;  ///< a stream ends with its usage
  bool receipt = false;        ///< the answer carries one
  bool echo = false;           ///< the answer begins with the prompt
  bool verbose = false;        ///< the answer tells its prompt and settings, too
  bool chat = false;           ///< the body was a conversation
  int slot = -1;               ///< "id_slot"; -1: any
  bool cut = false;            ///< a prompt was not read to its end: it is too long
  UnreadFields unread = {};    ///< fields of the body that nothing has read

  [[nodiscard]] std::size_t sequences() const noexcept {
    return prompts.size() * static_cast<std::size_t>(choices);
  }
};

/// The options of one of the choices for a prompt, which draws with the request's seed + `choice`.
[[nodiscard]] runtime::GenerateOptions OptionsOfChoice(const TextRequest& request,
                                                       std::size_t choice);

/// Sequences of one request at most: prompts times choices.
inline constexpr std::size_t kMostSequences = 1024;
/// Choices and prompts of one request at most.
inline constexpr int kMostChoices = 128;
using runtime::kMostLogprobs;

/// A conversation: "messages", "tools", "logprobs": true, ... `defaults`: of what the body leaves
/// open. Errors: also kUnsupported (the model has no chat template).
[[nodiscard]] Result<TextRequest> ReadChat(const Target& target, const Json& body,
                                           const runtime::GenerateOptions& defaults);
/// A text to go on with: "prompt" (or "prompt_ids"), "echo", "logprobs": 5, ...
[[nodiscard]] Result<TextRequest> ReadCompletion(const Target& target, const Json& body,
                                                 const runtime::GenerateOptions& defaults);
/// The one or the other, as the body has "messages" or not.
[[nodiscard]] Result<TextRequest> ReadTextRequest(const Target& target, const Json& body,
                                                  const runtime::GenerateOptions& defaults);

/// Refuses what only the server makes: "verbose", and "echo" with log-probabilities.
[[nodiscard]] Result<void> RefuseForServer(const TextRequest& request);

// Parts of requests, for other shapes.

/// ReadOptions, constraints, "receipt", "id_slot", and the fields that only hint (user,
/// cache_prompt, ...) and make no difference; what cannot be done is refused.
[[nodiscard]] Result<void> ReadSampling(FieldReader* fields, const Target& target,
                                        TextRequest* request);
/// "timings_per_token" and "return_progress", which only streams obey.
[[nodiscard]] Result<void> ReadTelemetry(FieldReader* fields, TelemetryRequest* telemetry);
/// "n": choices for each prompt.
[[nodiscard]] Result<void> ReadChoices(FieldReader* fields, std::string_view key, int* choices);

}  // namespace bittern::request
