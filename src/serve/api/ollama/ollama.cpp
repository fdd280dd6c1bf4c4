// SPDX-License-Identifier: Apache-2.0
// Answers are lines of JSON, one a piece. Times are given in nanoseconds.
#include "serve/api/ollama/ollama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>

#include "base/calendar.hpp"
#include "grammar/notation/json_text.hpp"
#include "runtime/prompt_check.hpp"
#include "serve/api/ollama/endpoints.hpp"
#include "serve/api/ollama/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/api/shared/vector_body.hpp"
#include "serve/core/requests.hpp"
#include "serve/core/weight_hash.hpp"

namespace bittern::serve {
namespace {

/// The version whose requests are answered: clients look at it to know what they may ask.
constexpr const char* kOllamaVersion = "0.18.3";

/// UTC as RFC 3339 writes it: "2025-01-31T12:00:00Z".
std::string TimeText(std::time_t time) {
  const auto parts = UtcTime(time);
  char text[32] = {};
  if (!parts) return "1970-01-01T00:00:00Z";
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &*parts)};
}

/// Ollama gives durations as whole nanoseconds.
std::int64_t Nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

/// "details" of a model. Clients need the fields to be there; unknown ones are empty.
Json Details(const Service& service) {
  const auto name = service.model().model.checkpoint().metadata().GetString("general.architecture");
  const std::string family = name.has_value() && *name ? std::string(**name) : "unknown";
  return {{"parent_model", ""},   {"format", "gguf"},     {"family", family},
          {"families", {family}}, {"parameter_size", ""}, {"quantization_level", "ternary"}};
}

/// A model as /api/tags and /api/ps list it. "digest" is the hash of the weights; empty until it is
/// known.
Json ModelEntry(const Service& service) {
  std::string name = service.options().model_name;
  if (name.find(':') == name.npos) name += kLatest;
  const Result<std::string>* hash = service.model_hash().Known();
  return {{"name", name},
          {"model", name},
          {"modified_at", TimeText(service.started())},
          {"size", service.model().model.checkpoint().file_bytes()},
          {"digest", hash != nullptr ? hash->value_or("") : ""},
          {"details", Details(service)}};
}

/// The answer of /api/chat (`chat`) or /api/generate. Every line has the same fields, and the last
/// one also has "done": true and the times.
class OllamaShape : public AnswerShape {
 public:
  OllamaShape(const Service& service, bool chat, const ToolReading& tools = {})
      : model_(service.options().model_name), chat_(chat), reading_(tools), stream_(tools) {}

  HttpReply Refusal(const ApiError& error) const override { return OllamaError(error); }
  std::string StreamType() const override { return "application/x-ndjson"; }
  /// Clients read every line as JSON: a ping has no place between them.
  std::string Ping() const override { return {}; }
  std::string Piece(std::size_t, std::string_view text, const TokenList&) override {
    return Lines(stream_.Feed(text));
  }
  /// The last line has no text: it was sent before.
  std::string Finished(std::size_t, const Outcome& outcome, const TokenList&) override {
    return Lines(stream_.Finish()) + Dump(Last("", outcome)) + "\n";
  }
  std::string End(std::span<const Outcome>) override { return {}; }
  std::string Broken(const ApiError& error) override { return OllamaError(error).body + "\n"; }
  std::string Whole(std::span<const Outcome> outcomes) override {
    const ToolAnswerParts parts = ReadToolAnswer(reading_, outcomes.front().result.text);
    Json line = Last(parts.content, outcomes.front());
    for (const FoundCall& call : parts.calls) {
      if (auto json = CallJson(call)) line["message"]["tool_calls"].push_back(*std::move(json));
    }
    return Dump(line);
  }
  /// The answer to a request that only wants the model to be there.
  [[nodiscard]] std::string Loaded() const {
    Json line = Line("", true);
    line["done_reason"] = "load";
    return Dump(line);
  }

 private:
  /// Nothing where a call was cut.
  static std::optional<Json> CallJson(const FoundCall& call) {
    auto arguments = CallArguments(call);
    if (!arguments) return std::nullopt;
    Json json;
    json["function"]["name"] = call.name;
    json["function"]["arguments"] = *std::move(arguments);
    return json;
  }
  /// A line for each piece of text, and for each call that is whole.
  std::string Lines(const std::vector<ToolEvent>& events) {
    std::string lines;
    for (const ToolEvent& event : events) {
      if (event.kind == ToolEvent::Kind::kContent) lines += Dump(Line(event.text, false)) + "\n";
      if (event.kind == ToolEvent::Kind::kStart) call_ = {event.text, {}};
      if (event.kind == ToolEvent::Kind::kArguments) call_.arguments += event.text;
      if (event.kind != ToolEvent::Kind::kEnd) continue;
      Json line = Line("", false);
      if (auto json = CallJson(call_))
        line["message"]["tool_calls"] = Json::MakeArray({*std::move(json)});
      lines += Dump(line) + "\n";
    }
    return lines;
  }
  /// Fields of every line: "message" for a chat, "response" for generate.
  [[nodiscard]] Json Line(std::string text, bool done) const {
    Json line = {{"model", model_}, {"created_at", TimeText(std::time(nullptr))}};
    if (chat_) {
      line["message"] = {{"role", "assistant"}, {"content", std::move(text)}};
    } else {
      line["response"] = std::move(text);
    }
    line["done"] = done;
    return line;
  }
  /// A line with "done": true. "load_duration" is 0: the model is loaded before a request runs.
  [[nodiscard]] Json Last(std::string text, const Outcome& outcome) const {
    const runtime::SequenceTimings& timings = outcome.timings;
    Json line = Line(std::move(text), true);
    line["done_reason"] = std::string(OpenAiFinish(outcome.result.finish));
    line["total_duration"] = Nanoseconds(timings.queued_s + timings.prompt_s + timings.predicted_s);
    line["load_duration"] = 0;
    line["prompt_eval_count"] = timings.prompt_tokens;
    line["prompt_eval_duration"] = Nanoseconds(timings.prompt_s);
    line["eval_count"] = outcome.predicted();
    line["eval_duration"] = Nanoseconds(timings.predicted_s);
    if (!outcome.receipt.empty()) line["receipt"] = ReceiptJson(outcome);
    return line;
  }

  std::string model_;
  bool chat_;
  ToolReading reading_;
  ToolStream stream_;
  FoundCall call_ = {};  // that is being read
};

/// "options". num_predict: -1 and -2 both mean no limit here (Ollama's -2 fills the context).
Result<void> ReadOllamaOptions(FieldReader* fields, const Service& service, TextRequest* call) {
  const Json* given = fields->Take("options");
  if (given == nullptr) return {};
  auto options = BITTERN_TRY(fields->Inside(*given, "options"));
  int predict = call->options.max_tokens;
  BITTERN_TRY(options.Int("num_predict", -2, std::numeric_limits<int>::max(), &predict));
  BITTERN_TRY(ReadOptions(&options, service.tokenizer(), &call->options));
  if (options.Has("num_predict")) call->options.max_tokens = std::max(predict, -1);
  // The device and the threads are the server's choice; prompts are never cut to num_ctx.
  options.Ignore({"num_keep", "num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap",
                  "use_mlock", "num_thread", "numa", "low_vram", "f16_kv", "vocab_only",
                  "penalize_newline"});
  return options.Finish();
}

/// "json" or a schema; "" is no format.
Result<void> ReadOllamaFormat(FieldReader* fields, const Service& service,
                              OptionalConstraint* constraint) {
  const Json* format = fields->Take("format");
  if (format == nullptr) return {};
  const std::string* name = format->AsString();
  if (name != nullptr && name->empty()) return {};
  if (name != nullptr && *name != "json") {
    return WrongField("format", "\"json\" or a JSON schema", *format);
  }
  using grammar::ConstraintKind;
  if (name != nullptr) {
    *constraint = {ConstraintKind::kJsonObject};
  } else {
    *constraint = {ConstraintKind::kJsonSchema, grammar::JsonText(*format)};
  }
  return CheckConstraint("format", service.model(), **constraint);
}

/// Fields of chat and generate.
Result<void> ReadOllama(FieldReader* fields, const Service& service, TextRequest* call) {
  call->options = service.options().defaults;
  call->stream = true;
  BITTERN_TRY(fields->Flag("stream", &call->stream));
  BITTERN_TRY(fields->Flag("receipt", &call->receipt));
  BITTERN_TRY(ReadOllamaOptions(fields, service, call));
  BITTERN_TRY(ReadOllamaFormat(fields, service, &call->options.constraint));
  BITTERN_TRY(fields->OnlyNeutral(
      {"think", "logprobs", "top_logprobs", "images", "suffix", "template", "context"}));
  fields->Ignore({"model", "keep_alive", "truncate", "shift"});
  return {};
}

/// The list of /api/tags and /api/ps where several models are served.
HttpReply OllamaList(const Models& models, bool only_loaded) {
  Json list = Json::MakeArray();
  for (const ModelStatus& model : models.status()) {
    if (only_loaded && model.state != ModelState::kLoaded) continue;
    const std::string name = model.name + std::string(kLatest);
    list.push_back({{"name", name},
                    {"model", name},
                    {"size", model.bytes},
                    {"details", {{"format", "gguf"}}}});
  }
  return {.body = Dump({{"models", std::move(list)}})};
}

}  // namespace

/// GET /api/version.
HttpReply OllamaVersion(const QuickContext&) {
  return {.body = Dump({{"version", kOllamaVersion}})};
}

HttpReply OllamaVersionOfAll(const Models&, const HttpRequest&, const HttpStats&) {
  return {.body = Dump({{"version", kOllamaVersion}})};
}

HttpReply OllamaTagsOfAll(const Models& models, const HttpRequest&, const HttpStats&) {
  return OllamaList(models, false);
}

HttpReply OllamaRunningOfAll(const Models& models, const HttpRequest&, const HttpStats&) {
  return OllamaList(models, true);
}

/// GET /api/tags: the models that can be asked for.
HttpReply OllamaTags(const QuickContext& context) {
  return {.body = Dump({{"models", Json::MakeArray({ModelEntry(*context.service)})}})};
}

/// GET /api/ps: the models in memory. "expires_at" is far away: nothing unloads the only model.
HttpReply OllamaRunning(const QuickContext& context) {
  Json entry = ModelEntry(*context.service);
  entry["expires_at"] = "9999-12-31T23:59:59Z";
  entry["size_vram"] = 0;
  entry["context_length"] = context.service->options().engine.context_length;
  return {.body = Dump({{"models", Json::MakeArray({std::move(entry)})}})};
}

/// POST /api/show: what clients look at before they use a model. "capabilities" tells them whether
/// they may send tools.
Result<void> OllamaShow(Service* service, const ApiRequest&,
                        const std::shared_ptr<Exchange>& exchange) {
  const auto& metadata = service->model().model.checkpoint().metadata();
  const model::ModelConfig& config = service->model().model.config();
  const Json details = Details(*service);
  const auto family = details["family"].text();
  const auto written = metadata.GetString("tokenizer.chat_template");
  exchange->Reply(
      {.body = Dump({{"license", ""},
                     {"modelfile", ""},
                     {"parameters", ""},
                     {"template", written.has_value() && *written ? std::string(**written) : ""},
                     {"details", details},
                     {"model_info",
                      {{"general.architecture", family},
                       {family + ".context_length", config.context_length},
                       {family + ".vocab_size", config.vocab_size}}},
                     {"capabilities", {"completion", "tools"}},
                     {"modified_at", TimeText(service->started())}})});
  return {};
}

/// POST /api/chat. A request without messages only loads the model; here it is loaded already, and
/// the answer says so.
Result<void> OllamaChat(Service* service, const ApiRequest& request,
                        const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  TextRequest call;
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service->UnreadOf(&call)));
  BITTERN_TRY(ReadOllama(&fields, *service, &call));
  const ToolRequest tools = BITTERN_TRY(ReadTools(&fields));
  const Json* given = fields.Take("messages");
  const bool empty = given == nullptr || (given->AsArray() && given->AsArray()->empty());
  BITTERN_TRY(fields.Finish());
  if (empty) {
    exchange->Reply({.body = OllamaShape(*service, true).Loaded()});
    return {};
  }
  auto messages = BITTERN_TRY(ReadMessages("messages", given, fields.unread()));
  auto prompt =
      BITTERN_TRY(RenderWithTools(std::move(messages), {}, tools, service->target(), &call));
  call.prompts.push_back(std::move(prompt.ids));
  auto shape = std::make_unique<OllamaShape>(*service, true, call.tools);
  StartCall(service, std::move(call), std::move(shape), exchange);
  return {};
}

/// POST /api/generate. "raw", or a model without a chat template: the prompt is taken as it is.
/// Otherwise it becomes a user's message.
Result<void> OllamaGenerate(Service* service, const ApiRequest& request,
                            const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  TextRequest call;
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service->UnreadOf(&call)));
  BITTERN_TRY(ReadOllama(&fields, *service, &call));
  auto shape = std::make_unique<OllamaShape>(*service, false);
  std::string prompt, system;
  bool raw = false;
  BITTERN_TRY(fields.Text("prompt", &prompt));
  BITTERN_TRY(fields.Text("system", &system));
  BITTERN_TRY(fields.Flag("raw", &raw));
  BITTERN_TRY(fields.Finish());
  if (prompt.empty()) {
    exchange->Reply({.body = shape->Loaded()});
    return {};
  }
  if (raw || service->chat() == nullptr) {
    if (!system.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "system: the prompt is taken as it is; leave it out");
    }
    auto read = runtime::ReadWithinContext(prompt, service->tokenizer(), {.parse_special = true},
                                           service->engine().context_length());
    call.cut = read.cut;
    call.prompts.push_back(std::move(read.ids));
  } else {
    Json::Array messages;
    if (!system.empty()) messages.push_back(MessageOf("system", system));
    messages.push_back(MessageOf("user", prompt));
    auto rendered = BITTERN_TRY(RenderConversation(std::move(messages), {}, service->target()));
    call.cut = rendered.cut;
    call.prompts.push_back(std::move(rendered.ids));
  }
  StartCall(service, std::move(call), std::move(shape), exchange);
  return {};
}

/// POST /api/embed: a text or a list of them, of the length 1. What is too long is cut, unless
/// "truncate" is false.
Result<void> OllamaEmbed(Service* service, const ApiRequest& request,
                         const std::shared_ptr<Exchange>& exchange) {
  VectorCallRequest call;
  auto fields = BITTERN_TRY(OpenVectorBody(*service, request.body, &call));
  bool truncate = true;
  BITTERN_TRY(fields.Flag("truncate", &truncate));
  call.texts = BITTERN_TRY(request::ReadTexts(&fields, "input", service->target(), truncate));
  fields.Ignore({"model", "keep_alive", "options"});
  BITTERN_TRY(fields.OnlyNeutral({"dimensions"}));
  BITTERN_TRY(fields.Finish());
  const auto shape = [name = service->options().model_name](const Vectors& made) {
    std::string body = fmt::format(R"({{"model":{},"embeddings":[)", Dump(Json(name)));
    for (std::size_t i = 0; i < made.vectors.size(); ++i) {
      if (i > 0) body += ',';
      AppendFloats(made.vectors[i], &body);
    }
    return body + fmt::format(R"(],"total_duration":{},"load_duration":0,"prompt_eval_count":{}}})",
                              Nanoseconds(made.seconds), made.prompt_tokens);
  };
  StartVectorCall(service, std::move(call), shape, OllamaError, exchange);
  return {};
}

/// POST /api/embeddings, the older one: one text, and its vector as long as it is.
Result<void> OllamaEmbeddings(Service* service, const ApiRequest& request,
                              const std::shared_ptr<Exchange>& exchange) {
  VectorCallRequest call;
  auto fields = BITTERN_TRY(OpenVectorBody(*service, request.body, &call));
  call.vector.normalize = false;
  call.texts = BITTERN_TRY(request::ReadTexts(&fields, "prompt", service->target(), true));
  fields.Ignore({"model", "keep_alive", "options"});
  BITTERN_TRY(fields.Finish());
  if (call.texts.size() != 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "prompt: one text expected, found several; /api/embed takes a list");
  }
  const auto shape = [](const Vectors& made) {
    std::string body = R"({"embedding":)";
    AppendFloats(made.vectors.front(), &body);
    return body + "}";
  };
  StartVectorCall(service, std::move(call), shape, OllamaError, exchange);
  return {};
}

}  // namespace bittern::serve
