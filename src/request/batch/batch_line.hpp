// SPDX-License-Identifier: Apache-2.0
// Lines of batch files: a line is the body of a request (request/text_request.hpp) with an "id", or
// OpenAI's batch line {"custom_id", "body": {...}}; its result is a line, too. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "request/text_request.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::request {

/// A line that was read.
struct BatchLine {
  std::string id;
  Result<TextRequest> request;  ///< or what is wrong with the line
};

/// Reads line `number` (from 1; the id of a line without one). Errors are kInvalidArgument and name
/// the field, what was expected and what was found.
[[nodiscard]] BatchLine ReadBatchLine(std::string_view line, std::size_t number,
                                      const Target& target,
                                      const runtime::GenerateOptions& defaults);

/// Which request a result is of.
struct BatchResultName {
  std::string id = {};
  std::optional<std::size_t> number = {};  ///< of its line; nothing: results are in their order
};

/// The id that the result of line `number` has.
[[nodiscard]] std::string IdOfBatchLine(std::string_view line, std::size_t number);

/// The name of a line that WriteBatchLine has made; nothing if it is another line.
[[nodiscard]] std::optional<BatchResultName> NameOfBatchResult(std::string_view line);

/// True if a line of WriteBatchLine can begin so: an interrupted run may have left it.
[[nodiscard]] bool BeginsBatchResult(std::string_view line);

/// One line of JSON with its end: the id and the members of `result`, an answer (AnswerJson) or
/// {"error": text}.
[[nodiscard]] std::string WriteBatchLine(const BatchResultName& name, Json result);

/// A result of a part (shard.hpp), which names its line.
struct BatchPartLine {
  BatchResultName name;
  std::string result;  ///< the line that WriteBatchLine makes without the number
};

/// Reads a line that WriteBatchLine has made with a number, without its end; nothing if it is
/// another line.
[[nodiscard]] std::optional<BatchPartLine> ReadBatchPartLine(std::string_view line);

}  // namespace bittern::request
