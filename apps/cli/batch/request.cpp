// SPDX-License-Identifier: Apache-2.0
// Fields that are not known are refused: a misspelt "temprature" must not change an answer in
// silence.
#include "cli/batch/request.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/json/json.hpp"
#include "cli/options/constraint_fields.hpp"
#include "cli/options/logprobs_json.hpp"
#include "cli/options/outside_json.hpp"
#include "cli/options/sampling_fields.hpp"
#include "cli/options/wording.hpp"

namespace bittern::cli {
namespace {

using runtime::TokenId;

/// A value as it stands in the file, cut where it is long.
std::string Shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.Dump();
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

tl::unexpected<Error> Wrong(std::string_view field, std::string_view expected, const Json& found) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", field, expected, Shown(found)));
}

Result<void> ReadInteger(std::string_view field, const Json& value, std::int64_t least,
                         std::int64_t most, std::int64_t* to) {
  const auto expected = fmt::format("a whole number from {} to {}", least, most);
  double number = 0;
  if (value.is_number()) number = *value.AsNumber();
  if (!value.is_number() || number != std::floor(number) || number < static_cast<double>(least) ||
      number > static_cast<double>(most)) {
    return Wrong(field, expected, value);
  }
  *to = static_cast<std::int64_t>(number);
  return {};
}

Result<void> ReadInt(std::string_view field, const Json& value, int least, int* to) {
  std::int64_t number = 0;
  BITTERN_TRY(ReadInteger(field, value, least, std::numeric_limits<int>::max(), &number));
  *to = static_cast<int>(number);
  return {};
}

Result<void> ReadFlag(std::string_view field, const Json& value, bool* to) {
  const auto flag = value.AsBool();
  if (!flag) return Wrong(field, "true or false", value);
  *to = *flag;
  return {};
}

Result<void> ReadStops(std::string_view field, const Json& value, std::vector<std::string>* to) {
  to->clear();
  if (value.is_null()) return {};
  if (value.is_string()) {
    to->push_back(value.text());
    return {};
  }
  if (!value.is_array()) return Wrong(field, "a text or a list of texts", value);
  for (const Json& stop : value.elements()) {
    if (!stop.is_string()) return Wrong(field, "a text or a list of texts", value);
    to->push_back(stop.text());
  }
  return {};
}

Result<std::vector<TokenId>> ReadIds(std::string_view field, const Json& value) {
  std::vector<TokenId> ids;
  if (!value.is_array() || value.empty()) return Wrong(field, "a list of token ids", value);
  for (const Json& id : value.elements()) {
    std::int64_t number = 0;
    BITTERN_TRY(ReadInteger(field, id, 0, std::numeric_limits<TokenId>::max(), &number));
    ids.push_back(static_cast<TokenId>(number));
  }
  return ids;
}

/// What the model's chat template makes of the messages.
Result<std::vector<TokenId>> ReadMessages(std::string_view field, const Json& value,
                                          const BatchDefaults& defaults,
                                          const tokenizer::Tokenizer& tokenizer) {
  if (defaults.chat_prompt == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the model does not say how a conversation is written; give "
                            "\"prompt\" instead",
                            field));
  }
  if (!value.is_array() || value.empty()) return Wrong(field, "a list of messages", value);
  auto prompt = defaults.chat_prompt->Apply(value, tokenizer);
  if (prompt) return std::move(prompt->ids);
  return tl::unexpected(Within(field, std::move(prompt).error()));
}

/// The fields of one line, one after the other.
class LineReader {
 public:
  LineReader(const BatchDefaults& defaults, const tokenizer::Tokenizer& tokenizer)
      : defaults_(defaults), tokenizer_(tokenizer) {
    request_.options = defaults.generate;
  }

  Result<runtime::Request> Read(const Json& object) {
    for (const auto& [field, value] : object.members()) BITTERN_TRY(Field(field, value));
    if (!prompt_) {
      return Fail(ErrorCode::kInvalidArgument,
                  "one of \"prompt\", \"prompt_ids\", \"messages\" expected, none found");
    }
    if (prompt_->empty()) {
      return Fail(ErrorCode::kInvalidArgument, "prompt: at least one token expected, none found");
    }
    request_.prompt = std::move(*prompt_);
    return std::move(request_);
  }

 private:
  Result<void> Field(const std::string& field, const Json& value) {
    runtime::GenerateOptions& options = request_.options;
    if (field == "prompt" || field == "prompt_ids" || field == "messages") {
      return Prompt(field, value);
    }
    if (field == "n_predict" || field == "max_tokens" || field == "max_completion_tokens") {
      return ReadInt(field, value, -1, &options.max_tokens);
    }
    if (field == "stop") return ReadStops(field, value, &options.stops);
    if (field == "ignore_eos") return ReadFlag(field, value, &options.ignore_eos);
    if (field == "id" || field == "custom_id" || field == "model") return {};
    if (BITTERN_TRY(ReadConstraintField(field, value, &options))) return {};
    if (BITTERN_TRY(ReadSamplingField(field, Json(value), tokenizer_, &options))) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is not a field that batch knows", field));
  }

  Result<void> Prompt(const std::string& field, const Json& value) {
    if (prompt_) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: one prompt expected, two found", field));
    }
    if (field == "prompt_ids" || (field == "prompt" && value.is_array())) {
      prompt_ = BITTERN_TRY(ReadIds(field, value));
    } else if (field == "messages") {
      prompt_ = BITTERN_TRY(ReadMessages(field, value, defaults_, tokenizer_));
    } else if (value.is_string()) {
      prompt_ = tokenizer_.Encode(value.text(), {.parse_special = defaults_.parse_special});
    } else {
      return Wrong(field, "a text or a list of token ids", value);
    }
    return {};
  }

  const BatchDefaults& defaults_;
  const tokenizer::Tokenizer& tokenizer_;
  runtime::Request request_;
  std::optional<std::vector<TokenId>> prompt_;
};

/// The part of a line that holds the request; null if the line is no object.
const Json* BodyOf(const Json& line) {
  if (!line.is_object()) return nullptr;
  const Json* body = line.Find("body");
  return body != nullptr && body->is_object() ? body : &line;
}

std::string IdOf(const Json& line, std::size_t number) {
  if (line.is_object()) {
    for (const char* const field : {"custom_id", "id"}) {
      const Json* id = line.Find(field);
      if (id != nullptr) return id->is_string() ? id->text() : id->Dump();
    }
  }
  return std::to_string(number);
}

}  // namespace

BatchLine ReadBatchLine(std::string_view line, std::size_t number, const BatchDefaults& defaults,
                        const tokenizer::Tokenizer& tokenizer) {
  const auto parsed = ParseOutsideJson(line);
  BatchLine read{IdOf(parsed ? *parsed : Json(), number), runtime::Request{}};
  if (!parsed) {
    read.request = tl::unexpected(Within("the line", parsed.error()));
    return read;
  }
  const Json* const body = BodyOf(*parsed);
  if (body == nullptr) {
    read.request = Fail(ErrorCode::kInvalidArgument, "a JSON object expected, another value found");
    return read;
  }
  read.request = LineReader(defaults, tokenizer).Read(*body);
  return read;
}

std::optional<BatchResultName> NameOfBatchResult(std::string_view line) {
  const auto parsed = ParseOutsideJson(line);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const Json* id = parsed->Find("id");
  const bool is_result = parsed->contains("error") || parsed->contains("finish_reason");
  if (id == nullptr || !id->is_string() || !is_result) return std::nullopt;
  BatchResultName name{.id = id->text()};
  if (const auto number = (*parsed)["line"].AsUint()) name.number = *number;
  return name;
}

bool BeginsBatchResult(std::string_view line) {
  constexpr std::string_view kBegin = R"({"id":")";  // as WriteBatchLine begins
  return line.starts_with(kBegin.substr(0, line.size()));
}

std::string WriteBatchLine(const BatchResultName& name, std::size_t prompt_tokens,
                           bool with_logprobs, const Result<runtime::GenerateResult>& result,
                           const tokenizer::Tokenizer& tokenizer,
                           const runtime::SequenceTimings* timings) {
  Json line = {{"id", name.id}};
  if (name.number) line["line"] = *name.number;
  if (!result) {
    line["error"] = WordError(result.error());
  } else {
    line["ids"] = result->ids;
    line["text"] = result->text;
    line["finish_reason"] = runtime::FinishReasonName(result->finish);
    line["prompt_tokens"] = prompt_tokens;
    line["seed"] = result->seed;
    if (with_logprobs) line["logprobs"] = LogprobsJson(result->logprobs, tokenizer);
  }
  if (timings != nullptr) {
    line["timings"] = {{"cached_n", timings->cached_tokens},
                       {"queued_ms", 1000 * timings->queued_s},
                       {"prompt_ms", 1000 * timings->prompt_s},
                       {"predicted_ms", 1000 * timings->predicted_s}};
  }
  return line.Dump() + '\n';
}

}  // namespace bittern::cli
