// SPDX-License-Identifier: Apache-2.0
// Schemas are checked when they are read. The form of calls follows from the words of the
// model's chat template.
#include "request/tool_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/notation/json_text.hpp"
#include "grammar/schema/json_schema.hpp"
#include "request/prompt_fields.hpp"

namespace bittern::request {
namespace {

using Choice = ToolRequest::Choice;

/// The member's text; null where it is absent or no text.
const std::string* TextOf(const Json& json, std::string_view key) {
  const Json* value = json.Find(key);
  return value == nullptr ? nullptr : value->AsString();
}

/// A name that needs no escapes in JSON, so that it can be read up to the next quote.
bool IsToolName(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// The schema of a function's arguments: always of an object.
Result<std::string> SchemaOf(const std::string& path, const Json* parameters,
                             std::uint64_t* steps) {
  Json::Object schema;
  if (parameters != nullptr && parameters->AsObject() == nullptr) {
    return WrongField(path, "a JSON schema", *parameters);
  }
  if (parameters != nullptr) schema = *parameters->AsObject();
  const auto type = std::ranges::find(schema, "type", &Json::Member::key);
  if (type == schema.end()) {
    schema.insert(schema.begin(), {"type", Json("object")});
    if (schema.size() == 1) schema.push_back({"properties", Json::MakeObject()});
  } else if (type->value.AsString() == nullptr || *type->value.AsString() != "object") {
    return WrongField(path + ".type", "\"object\"", type->value);
  }
  const std::string text = grammar::JsonText(Json(std::move(schema)));
  const auto parsed = grammar::ParseJsonSchema(text, steps);
  if (!parsed.has_value()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, parsed.error().message));
  }
  return text;
}

/// {"type": "function", "function": {"name", "description", "parameters"}}.
/// A lenient reader leaves tools of other kinds out (web search, a shell, ...): the model is not
/// told of them, so it cannot call them.
Result<void> ReadTool(const std::string& path, const Json& given, UnreadFields* unread,
                      ToolRequest* request) {
  auto fields = BITTERN_TRY(FieldReader::Open(given, path, unread));
  std::string type = "function";
  BITTERN_TRY(fields.Text("type", &type));
  if (type != "function" && unread != nullptr) {
    NoteUnread(unread, path);
    return {};
  }
  if (type != "function") return WrongField(fields.PathOf("type"), "\"function\"", Json(type));
  const Json* function = fields.Take("function");
  // In responses the members stand beside "type".
  const bool flat = function == nullptr && fields.Has("name");
  if (function == nullptr && !flat) {
    return Fail(ErrorCode::kInvalidArgument,
                fields.PathOf("function") + ": an object expected, none found");
  }
  const std::string inner_path = flat ? path : fields.PathOf("function");
  auto inner = BITTERN_TRY(fields.Inside(flat ? given : *function, inner_path));
  std::string name, description;
  BITTERN_TRY(inner.Text("name", &name));
  BITTERN_TRY(inner.Text("description", &description));
  const Json* parameters = inner.Take("parameters");
  inner.Ignore({"strict"});  // always
  if (flat) inner.Ignore({"type"});
  BITTERN_TRY(inner.Finish());
  if (!flat) BITTERN_TRY(fields.Finish());
  return AddTool(inner.PathOf("name"), inner.PathOf("parameters"), name, description, parameters,
                 request);
}

/// "auto", "none", "required" ("any" is Mistral's word for it), or one function by name.
Result<void> ReadToolChoice(const std::string& path, const Json& given, ToolRequest* request) {
  if (const std::string* word = given.AsString()) {
    if (*word == "none") {
      request->choice = Choice::kNone;
    } else if (*word == "required" || *word == "any") {
      request->choice = Choice::kRequired;
    } else if (*word != "auto") {
      return WrongField(path, "auto, none, required or a function", given);
    }
  } else {
    const Json* function = given.Find("function");
    const std::string* name = TextOf(function == nullptr ? given : *function, "name");
    const std::string* type = TextOf(given, "type");
    if (type == nullptr || *type != "function" || name == nullptr) {
      return WrongField(path, "auto, none, required or a function", given);
    }
    return ChooseTool(path, *name, request);
  }
  if (request->choice == Choice::kRequired && request->tools.empty()) {
    return Fail(ErrorCode::kInvalidArgument, path + ": there are no tools");
  }
  return {};
}

// The text about functions for a model whose template knows nothing of them.
constexpr std::string_view kBefore = "You can call functions. Each line is one of them, as JSON:\n";
constexpr std::string_view kAfter =
    "To call one, write its name and arguments like this:\n<tool_call>\n{\"name\": \"...\", "
    "\"arguments\": {...}}\n</tool_call>\nResults come as <tool_response> in the next turn.";

/// Replaces the content, which every message has.
void SetContent(std::string text, Json::Object* message) {
  for (Json::Member& member : *message) {
    if (member.key == "content") member.value = Json(std::move(text));
  }
}

/// An assistant's message with its calls as text.
Json WithCallsAsText(const Json& message) {
  std::string text = *TextOf(message, "content");
  for (const Json& call : *message.Find("tool_calls")->AsArray()) {
    const Json* function = call.Find("function");
    text += fmt::format("{}<tool_call>\n{{\"name\": {}, \"arguments\": {}}}\n</tool_call>",
                        text.empty() ? "" : "\n", QuotedJson(*TextOf(*function, "name")),
                        grammar::JsonText(*function->Find("arguments")));
  }
  Json::Object plain = *message.AsObject();
  std::erase_if(plain, [](const Json::Member& member) { return member.key == "tool_calls"; });
  SetContent(std::move(text), &plain);
  return Json(std::move(plain));
}

/// The conversation in a form that any template can write: functions in the system's turn, calls
/// as text, results as the user's.
Json::Array AsPlainMessages(const Json::Array& messages, const ToolRequest& request) {
  Json::Array plain;
  std::string results;
  const auto flush = [&] {
    if (!results.empty()) plain.push_back(MessageOf("user", std::exchange(results, {})));
  };
  for (const Json& message : messages) {
    if (*TextOf(message, "role") == "tool") {
      results += fmt::format("{}<tool_response>\n{}\n</tool_response>", results.empty() ? "" : "\n",
                             *TextOf(message, "content"));
      continue;
    }
    flush();
    const bool calls = message.Find("tool_calls") != nullptr;
    plain.push_back(calls ? WithCallsAsText(message) : message);
  }
  flush();
  if (!request.active()) return plain;
  std::string system(kBefore);
  for (const Json& tool : request.shown) {
    system += grammar::JsonText(*tool.Find("function")) + "\n";
  }
  system += kAfter;
  const bool has_system = *TextOf(plain.front(), "role") == "system";
  if (has_system) {
    Json::Object first = *plain.front().AsObject();
    SetContent(*TextOf(plain.front(), "content") + "\n\n" + system, &first);
    plain.front() = Json(std::move(first));
  } else {
    plain.insert(plain.begin(), MessageOf("system", std::move(system)));
  }
  return plain;
}

/// The form in which a template writes calls; null: none of the forms that are known here.
const grammar::ToolForm* FormOfTemplate(std::string_view source) {
  const auto has = [&](std::string_view text) { return source.find(text) != source.npos; };
  if (!has("tools")) return nullptr;
  if (has("[TOOL_CALLS]") && !has("[ARGS]")) return grammar::FindToolForm("mistral");
  if (has("<tool_call>") && !has("<function=") && !has("<arg_key>")) {
    return grammar::FindToolForm("hermes");
  }
  const bool python = has("<|python_tag|>") || has("Environment: ipython");
  return python && has("parameters") ? grammar::FindToolForm("llama3") : nullptr;
}

/// Whether the trigger is a control token, which no grammar can pick.
bool IsControlTrigger(std::string_view trigger, const tokenizer::Tokenizer& tokenizer) {
  if (trigger.empty()) return false;
  const auto ids = tokenizer.Encode(trigger, {.add_bos = false, .parse_special = true});
  return ids.size() == 1 && tokenizer.IsControl(ids[0]);
}

/// The schema of an answer that is no call. JSON never begins as a trigger does, so one is told
/// from the other by the first characters.
Result<std::string> SchemaBesideTools(const grammar::Constraint& constraint,
                                      const ToolReading& reading) {
  if (reading.loose || reading.form->trigger.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "tools: calls in the form of this model's template cannot be kept apart from an "
                "answer under a schema; leave one of them out");
  }
  if (constraint.kind == grammar::ConstraintKind::kJsonSchema) return constraint.text;
  if (constraint.kind == grammar::ConstraintKind::kJsonObject) return R"({"type": "object"})";
  return Fail(
      ErrorCode::kInvalidArgument,
      "tools: beside functions the answer can be kept to a JSON schema, not to a grammar or "
      "a regular expression");
}

}  // namespace

/// The template sees the parameters as they were given, the grammar those of SchemaOf.
Result<void> AddTool(const std::string& path, const std::string& schema_path,
                     const std::string& name, const std::string& description,
                     const Json* parameters, ToolRequest* request) {
  if (!IsToolName(name)) {
    return WrongField(path, "a name of 1 to 128 letters, digits, \"_\", \"-\" and \".\"",
                      Json(name));
  }
  if (std::ranges::find(request->tools, name, &grammar::Tool::name) != request->tools.end()) {
    return WrongField(path, "another name for each function", Json(name));
  }
  auto schema = BITTERN_TRY(SchemaOf(schema_path, parameters, &request->schema_steps));
  request->tools.push_back({name, std::move(schema)});
  Json::Object function;
  function.push_back({"name", Json(name)});
  if (!description.empty()) function.push_back({"description", Json(description)});
  const Json::Object none = {{"type", Json("object")}, {"properties", Json::MakeObject()}};
  function.push_back({"parameters", parameters ? *parameters : Json(none)});
  Json::Object shown;
  shown.push_back({"type", Json("function")});
  shown.push_back({"function", Json(std::move(function))});
  request->shown.push_back(Json(std::move(shown)));
  return {};
}

/// The template still shows all functions; only the grammar is left with one.
Result<void> ChooseTool(const std::string& path, const std::string& name, ToolRequest* request) {
  const auto found = std::ranges::find(request->tools, name, &grammar::Tool::name);
  if (found == request->tools.end()) {
    return WrongField(path, "a function of \"tools\"", Json(name));
  }
  request->tools = {grammar::Tool(*found)};
  request->choice = Choice::kRequired;
  request->parallel = false;
  return {};
}

Result<ToolRequest> ReadTools(FieldReader* fields) {
  ToolRequest request;
  if (const Json* tools = fields->Take("tools")) {
    const Json::Array* list = tools->AsArray();
    if (list == nullptr || list->size() > kMostTools) {
      return WrongField(fields->PathOf("tools"), fmt::format("a list of {} at most", kMostTools),
                        *tools);
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      BITTERN_TRY(ReadTool(fmt::format("{}[{}]", fields->PathOf("tools"), i), (*list)[i],
                           fields->unread(), &request));
    }
  }
  BITTERN_TRY(fields->Flag("parallel_tool_calls", &request.parallel));
  if (const Json* choice = fields->Take("tool_choice")) {
    BITTERN_TRY(ReadToolChoice(fields->PathOf("tool_choice"), *choice, &request));
  }
  return request;
}

/// OpenAI sends arguments as a text of JSON, but templates write an object; Ollama sends an object.
Result<Json> ReadToolCalls(const std::string& path, const Json& calls, UnreadFields* unread) {
  if (calls.AsArray() == nullptr) return WrongField(path, "a list of calls", calls);
  Json::Array all;
  for (std::size_t i = 0; i < calls.AsArray()->size(); ++i) {
    const Json& call = (*calls.AsArray())[i];
    const std::string at = fmt::format("{}[{}].function", path, i);
    const Json* function = call.Find("function");
    if (function == nullptr || TextOf(*function, "name") == nullptr) {
      return WrongField(at, "an object with a name", function ? *function : Json());
    }
    // A text of JSON, or already an object; nothing: {}.
    const Json* given = function->Find("arguments");
    Json arguments = given == nullptr ? Json::MakeObject() : *given;
    if (const std::string* text = arguments.AsString()) {
      auto parsed = Json::Parse(text->empty() ? "{}" : *text, {.max_depth = 64});
      const bool cut = !parsed.has_value() && unread != nullptr;
      if (!cut && (!parsed.has_value() || parsed->AsObject() == nullptr)) {
        return WrongField(at + ".arguments", "the JSON text of an object", arguments);
      }
      if (parsed.has_value()) arguments = *std::move(parsed);
    } else if (arguments.AsObject() == nullptr) {
      return WrongField(at + ".arguments", "the JSON text of an object", arguments);
    }
    Json::Object inner = {{"name", Json(*TextOf(*function, "name"))},
                          {"arguments", std::move(arguments)}};
    Json::Object outer;
    if (const std::string* id = TextOf(call, "id")) outer.push_back({"id", Json(*id)});
    outer.push_back({"type", Json("function")});
    outer.push_back({"function", Json(std::move(inner))});
    all.push_back(Json(std::move(outer)));
  }
  return Json(std::move(all));
}

/// A call that is required is begun in the prompt: its trigger is appended, so that the model can
/// only go on with it. Where calls are optional and the trigger is a control token, the answer has
/// no grammar, since none can pick such a token (`loose`); its text must then show the token.
Result<runtime::RenderedPrompt> RenderWithTools(Json::Array messages, Json::Object more,
                                                const ToolRequest& tools, const Target& target,
                                                TextRequest* request) {
  if (target.chat == nullptr) return tl::unexpected(*target.why_no_chat);
  const grammar::ToolForm* form = FormOfTemplate(target.chat->source());
  const bool own = form == nullptr;
  if (own) {
    form = grammar::FindToolForm("hermes");
    messages = AsPlainMessages(messages, tools);
  } else if (tools.active()) {
    more.push_back({"tools", Json(tools.shown)});
  }
  auto prompt = BITTERN_TRY(RenderConversation(std::move(messages), std::move(more), target));
  request->cut = prompt.cut;
  if (!tools.active()) return prompt;
  const bool forced = tools.choice == Choice::kRequired;
  request->tools = {.form = form,
                    .triggered = forced,
                    .loose = !forced && IsControlTrigger(form->trigger, target.tokenizer())};
  std::string schema;
  if (const auto& constraint = request->options.constraint) {
    schema = BITTERN_TRY(SchemaBesideTools(*constraint, request->tools));
    if (forced) schema.clear();  // the answer is a call
    request->tools.alone = !forced;
  }
  if (forced && !form->trigger.empty()) {
    prompt.answers.push_back(prompt.text.size());  // the trigger is where the answer begins
    prompt.text.Append(form->trigger);
    prompt.ids = runtime::EncodeTemplateText(prompt, target.tokenizer());
  }
  if (request->tools.loose) {
    if (request->receipt) {
      return Fail(ErrorCode::kInvalidArgument,
                  "receipt: not beside tools of a template that marks calls with a control token");
    }
    request->options.render_special = true;
    return prompt;
  }
  const grammar::ToolAnswer answer{.form = std::string(form->name),
                                   .free = !forced,
                                   .triggered = forced,
                                   .parallel = tools.parallel,
                                   .tools = tools.tools,
                                   .schema = std::move(schema)};
  const grammar::Constraint constraint{grammar::ConstraintKind::kToolCalls,
                                       grammar::ToolAnswerText(answer)};
  const auto compiled = target.model->grammars->Get(constraint);
  if (!compiled.has_value()) return tl::unexpected(Within("tools", compiled.error()));
  request->options.constraint = constraint;
  return prompt;
}

ToolReading ReadingOfText(const Target& target) {
  const grammar::ToolForm* form =
      target.chat == nullptr ? nullptr : FormOfTemplate(target.chat->source());
  if (form == nullptr) form = grammar::FindToolForm("hermes");
  return {.form = form, .loose = IsControlTrigger(form->trigger, target.tokenizer())};
}

}  // namespace bittern::request
