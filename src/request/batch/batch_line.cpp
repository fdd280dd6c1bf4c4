// SPDX-License-Identifier: Apache-2.0
// A line is parsed as a whole; its names are taken out, and the rest is the body.
#include "request/batch/batch_line.hpp"

#include <fmt/format.h>

#include <limits>

namespace bittern::request {
namespace {

/// Names of OpenAI's batch lines that say nothing of the answer.
constexpr std::string_view kLineNames[] = {"id", "custom_id", "method", "url"};

/// A line is as long as a conversation, and as deep as a schema in it.
constexpr JsonLimits kLineLimits = {.max_bytes = std::size_t{256} << 20, .max_depth = 100};

/// The part of a line that holds the request, without the line's names.
Json BodyOf(Json line) {
  if (Json* body = line.Find("body"); body != nullptr && body->is_object()) {
    Json inner = std::move(*body);
    inner.Erase("custom_id");
    inner.Erase("id");
    return inner;
  }
  for (const std::string_view name : kLineNames) line.Erase(name);
  return line;
}

/// "custom_id", else "id", else the line's number. An id that is no text is kept as its JSON.
std::string IdOf(const Json& line, std::size_t number) {
  for (const std::string_view field : {"custom_id", "id"}) {
    const Json* id = line.Find(field);
    if (id != nullptr) return id->is_string() ? id->text() : id->Dump();
  }
  return std::to_string(number);
}

/// Checks here what the engine would refuse: an error belongs to its line, not to the run.
Result<TextRequest> ReadBody(const Target& target, const Json& body,
                             const runtime::GenerateOptions& defaults) {
  TextRequest request = BITTERN_TRY(ReadTextRequest(target, body, defaults));
  for (const auto& prompt : request.prompts) {
    if (!prompt.empty()) continue;
    return Fail(ErrorCode::kInvalidArgument, "prompt: at least one token expected, none found");
  }
  BITTERN_TRY(RefuseForServer(request));
  if (request.receipt) {
    return Fail(ErrorCode::kInvalidArgument,
                "receipt: not made here; answers of the server and of the library have it");
  }
  return request;
}

/// A batch has no slots: which number a line names, changes nothing.
Target WithAnySlot(Target target) {
  target.num_slots = std::numeric_limits<int>::max();
  return target;
}

}  // namespace

std::string IdOfBatchLine(std::string_view line, std::size_t number) {
  const auto parsed = Json::Parse(line, kLineLimits);
  return IdOf(parsed ? *parsed : Json(), number);
}

/// The id is found first, so that a wrong line has its result under its own name.
BatchLine ReadBatchLine(std::string_view line, std::size_t number, const Target& target,
                        const runtime::GenerateOptions& defaults) {
  auto parsed = Json::Parse(line, kLineLimits);
  BatchLine read{IdOf(parsed ? *parsed : Json(), number), TextRequest{}};
  if (!parsed) {
    read.request =
        Fail(ErrorCode::kInvalidArgument, "the line: " + std::move(parsed.error().message));
  } else if (!parsed->is_object()) {
    read.request = Fail(ErrorCode::kInvalidArgument, "a JSON object expected, another value found");
  } else {
    read.request = ReadBody(WithAnySlot(target), BodyOf(*std::move(parsed)), defaults);
  }
  return read;
}

/// A result has an error or a finish reason; any other object with an id is something else.
std::optional<BatchResultName> NameOfBatchResult(std::string_view line) {
  const auto parsed = Json::Parse(line, kLineLimits);
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

std::string WriteBatchLine(const BatchResultName& name, Json result) {
  Json line = {{"id", name.id}};
  if (name.number) line["line"] = *name.number;
  line.Update(std::move(result));
  return line.Dump() + '\n';
}

/// Only the front changes: the rest are the bytes that are there.
std::optional<BatchPartLine> ReadBatchPartLine(std::string_view line) {
  auto name = NameOfBatchResult(line);
  if (!name || !name->number) return std::nullopt;
  std::string front = Json{{"id", name->id}, {"line", *name->number}}.Dump();
  front.pop_back();
  if (!line.starts_with(front)) return std::nullopt;
  std::string result = Json{{"id", name->id}}.Dump();
  result.pop_back();
  result += line.substr(front.size());
  result += '\n';
  return BatchPartLine{.name = *std::move(name), .result = std::move(result)};
}

}  // namespace bittern::request
