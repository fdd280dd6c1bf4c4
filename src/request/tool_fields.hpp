// SPDX-License-Identifier: Apache-2.0
// Functions that a model may call: read from a request, shown to the model, and made a constraint
// of the answer. docs/serving.md says which written form a model gets. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "request/fields/field_reader.hpp"
#include "request/text_request.hpp"
#include "request/tool_stream.hpp"

namespace bittern::request {

/// The functions of a request.
struct ToolRequest {
  enum class Choice { kNone, kAuto, kRequired };

  Json::Array shown = {};                 ///< definitions in OpenAI's form, for the template
  std::vector<grammar::Tool> tools = {};  ///< those that may be called
  Choice choice = Choice::kAuto;
  bool parallel = true;
  std::uint64_t schema_steps = 0;  ///< that reading the schemas has taken, of all functions

  [[nodiscard]] bool active() const noexcept { return !tools.empty() && choice != Choice::kNone; }
};

inline constexpr std::size_t kMostTools = 128;

/// "tools", "tool_choice" and "parallel_tool_calls" as OpenAI has them (Ollama's tools are the
/// same). A schema that cannot be obeyed is refused with its place.
[[nodiscard]] Result<ToolRequest> ReadTools(FieldReader* fields);

/// Adds a function, and checks its name and schema. Errors name `path`, where the request defines
/// the function, or `schema_path`, where it has `parameters`. parameters: may be null.
[[nodiscard]] Result<void> AddTool(const std::string& path, const std::string& schema_path,
                                   const std::string& name, const std::string& description,
                                   const Json* parameters, ToolRequest* request);

/// Only the function `name` may be called. Error at `path`: there is none.
[[nodiscard]] Result<void> ChooseTool(const std::string& path, const std::string& name,
                                      ToolRequest* request);

/// "tool_calls" of an assistant's message, with arguments as objects, as templates expect them. A
/// lenient reader (`unread`) takes arguments that were cut as the text that they are.
[[nodiscard]] Result<Json> ReadToolCalls(const std::string& path, const Json& calls,
                                         UnreadFields* unread);

/// The prompt with what the model must know of functions, and the constraint of the answer.
/// Messages with calls and results are written in the model's form. Beside a JSON schema the answer
/// is calls or a text under the schema. Errors as RenderConversation; another constraint beside
/// functions, or a form of calls that cannot be told from JSON.
[[nodiscard]] Result<runtime::RenderedPrompt> RenderWithTools(Json::Array messages,
                                                              Json::Object more,
                                                              const ToolRequest& tools,
                                                              const Target& target,
                                                              TextRequest* request);

/// How to find calls in a text of a model that nothing is known about but its template.
[[nodiscard]] ToolReading ReadingOfText(const Target& target);

}  // namespace bittern::request
