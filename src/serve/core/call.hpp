// SPDX-License-Identifier: Apache-2.0
// One client request in flight. It has one sequence for each prompt and choice. Its answer has the
// shape of the API that was asked, whole or as a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "request/text_request.hpp"
#include "runtime/engine/engine.hpp"
#include "serve/core/api_error.hpp"
#include "serve/core/service.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

using request::TextRequest;
using runtime::TokenId;

/// How a sequence ended.
struct Outcome {
  runtime::GenerateResult result = {};
  runtime::SequenceTimings timings = {};
  std::string receipt = {};  ///< JSON; empty where none was asked for

  /// Tokens sampled, with the one that ended the text.
  [[nodiscard]] int predicted() const noexcept { return result.sampled; }
};

using TokenList = std::vector<runtime::TokenLogprobs>;

/// An API's answer, made of the sequences of one request. `choice` counts from 0. Begin by the
/// thread that starts the call, the rest by the engine's: never two at once.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;

  /// An error in place of the answer.
  [[nodiscard]] virtual HttpReply Refusal(const ApiError& error) const = 0;
  /// The Content-Type of a stream.
  [[nodiscard]] virtual std::string StreamType() const { return "text/event-stream"; }
  /// Keeps proxies and clients from giving a quiet stream up; empty: no pings.
  [[nodiscard]] virtual std::string Ping() const { return ":\n\n"; }
  // Bytes to send in a stream; may be empty.
  /// Before any sequence runs.
  [[nodiscard]] virtual std::string Begin() { return {}; }
  /// The time so far, where the request asks for telemetry: as a sequence first runs, as more of
  /// its prompt has been read, and before each piece.
  [[nodiscard]] virtual std::string Progress(std::size_t, const runtime::SequenceTimings&) {
    return {};
  }
  /// `tokens`: those sampled since the last piece, where log-probabilities were asked for.
  [[nodiscard]] virtual std::string Piece(std::size_t choice, std::string_view text,
                                          const TokenList& tokens) = 0;
  /// A sequence has ended. `tokens`: those since its last piece.
  [[nodiscard]] virtual std::string Finished(std::size_t choice, const Outcome& outcome,
                                             const TokenList& tokens) = 0;
  /// All sequences have ended.
  [[nodiscard]] virtual std::string End(std::span<const Outcome> outcomes) = 0;
  /// An error in the middle of a stream.
  [[nodiscard]] virtual std::string Broken(const ApiError& error) {
    return "data: " + Refusal(error).body + "\n\n";
  }
  /// The whole answer at once.
  [[nodiscard]] virtual std::string Whole(std::span<const Outcome> outcomes) = 0;
};

/// The error of a request whose prompts or sampler options are wrong.
[[nodiscard]] std::optional<ApiError> CheckCall(Service* service, const TextRequest& request);

/// Log-probabilities that an answer may hold that is given as a whole; in JSON they are some 25 MB.
inline constexpr std::size_t kMostEntries = 250'000;

/// Checks the request, queues its sequences and answers through `exchange` as they go, or with an
/// error: prompts that do not fit, a full queue.
void StartCall(Service* service, TextRequest request, std::unique_ptr<AnswerShape> shape,
               std::shared_ptr<Exchange> exchange);

}  // namespace bittern::serve
