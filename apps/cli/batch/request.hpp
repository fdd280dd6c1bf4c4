// SPDX-License-Identifier: Apache-2.0
// A line of a batch file as a request, and its outcome as a line. Two shapes are read: llama.cpp's
// names at the top level, and OpenAI's batch lines ({"custom_id", "body": {...}}).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::cli {

/// What lines that leave something open get.
struct BatchDefaults {
  runtime::GenerateOptions generate;
  bool parse_special = false;
  /// How `messages` are written; null where the model gives no hint.
  const runtime::ChatPrompt* chat_prompt = nullptr;
};

/// A line that was read.
struct BatchLine {
  std::string id;
  Result<runtime::Request> request;  ///< or what is wrong with the line
};

/// Reads line `number` (from 1; the id of a line without one). Errors are kInvalidArgument and name
/// the field, what was expected and what was found.
[[nodiscard]] BatchLine ReadBatchLine(std::string_view line, std::size_t number,
                                      const BatchDefaults& defaults,
                                      const tokenizer::Tokenizer& tokenizer);

/// Which request a result is of.
struct BatchResultName {
  std::string id = {};
  std::optional<std::size_t> number = {};  ///< of its line; nothing: results are in their order
};

/// The name of a line that WriteBatchLine has made; nothing if it is another line.
[[nodiscard]] std::optional<BatchResultName> NameOfBatchResult(std::string_view line);

/// True if a line of WriteBatchLine can begin so: what an interrupted run left of its last one.
[[nodiscard]] bool BeginsBatchResult(std::string_view line);

/// One line of JSON with its end: ids, text, finish reason, or `error`. The same for the same
/// request, whatever ran beside it, unless `timings` are wanted.
[[nodiscard]] std::string WriteBatchLine(const BatchResultName& name, std::size_t prompt_tokens,
                                         bool with_logprobs,
                                         const Result<runtime::GenerateResult>& result,
                                         const tokenizer::Tokenizer& tokenizer,
                                         const runtime::SequenceTimings* timings);

}  // namespace bittern::cli
