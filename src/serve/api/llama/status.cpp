// SPDX-License-Identifier: Apache-2.0
// Figures are read from the engine's last step and from counters, so that a question never waits
// for a pass.
#include "serve/api/llama/status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "serve/api/llama/metrics_text.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/core/requests.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {

/// GET /health. Before a model is there the server itself answers 503. A model whose file was
/// changed below it answers nothing any more, so a balancer must hear of it.
HttpReply Health(const QuickContext& context) {
  const auto unchanged = context.service->model().model.checkpoint().CheckUnchanged();
  if (unchanged.has_value()) return {.body = R"({"status":"ok"})"};
  return OpenAiError({.status = 503, .message = ApiErrorOf(unchanged.error()).message});
}

/// A server of several models is healthy even when none is loaded.
HttpReply HealthOfAll(const Models&, const HttpRequest&, const HttpStats&) {
  return {.body = R"({"status":"ok"})"};
}

/// GET /props of llama-server. "chat_template" is the template in the model's file; it may differ
/// from the one in use, which an option of the server can replace.
HttpReply Props(const QuickContext& context) {
  const Service& service = *context.service;
  const tokenizer::Tokenizer& tokenizer = service.tokenizer();
  const auto& metadata = service.model().model.checkpoint().metadata();
  const auto name = metadata.GetString("tokenizer.chat_template");
  const int length = service.options().engine.context_length;
  return {
      .body = Dump(
          {{"default_generation_settings",
            {{"id", 0}, {"n_ctx", length}, {"params", OptionsJson(service.options().defaults)}}},
           {"total_slots", service.options().engine.max_sequences},
           {"model_alias", service.options().model_name},
           {"model_path", service.options().model_path},
           {"modalities", {{"vision", false}, {"audio", false}}},
           {"chat_template", name.has_value() && *name ? std::string(**name) : std::string()},
           {"bos_token", std::string(tokenizer.TokenBytes(tokenizer.bos_id(), true))},
           {"eos_token", std::string(tokenizer.TokenBytes(tokenizer.eos_id(), true))},
           {"build_info", "bittern " + service.options().version},
           {"is_sleeping", false}})};
}

/// GET /tokenizer_info of vLLM, which lm-evaluation-harness asks for.
HttpReply TokenizerInfo(const QuickContext& context) {
  const Service& service = *context.service;
  const tokenizer::Tokenizer& tokenizer = service.tokenizer();
  const auto text = [&](TokenId id) {
    return id < 0 ? Json() : Json(std::string(tokenizer.TokenBytes(id, true)));
  };
  return {.body = Dump({{"bos_token", text(tokenizer.bos_id())},
                        {"eos_token", text(tokenizer.eos_id())},
                        {"chat_template", service.chat() ? Json(service.chat()->source()) : Json()},
                        {"model_max_length", service.options().engine.context_length},
                        {"vocab_size", tokenizer.vocab_size()}})};
}

/// Sequences have no slots of their own here: those that have not ended fill the list from its
/// front. Sequences beyond the number of slots are not shown.
HttpReply Slots(const QuickContext& context) {
  if (!context.slots) {
    return OpenAiError(
        {.status = 501, .message = "slots are not shown: the server was told not to"});
  }
  Service* const service = context.service;
  const auto fail = QueryValue(context.request.query, "fail_on_no_slot");
  const auto active = service->active();
  const auto slots = static_cast<std::size_t>(service->options().engine.max_sequences);
  if (fail && *fail != "0" && active.size() >= slots) {
    return OpenAiError({.status = 503, .message = "no slot is free"});
  }
  Json list = Json::MakeArray();
  for (std::size_t i = 0; i < slots; ++i) {
    Json slot = {{"id", i},
                 {"n_ctx", service->options().engine.context_length},
                 {"is_processing", i < active.size()}};
    if (i < active.size()) {
      slot["id_task"] = active[i]->id;
      slot["n_prompt_tokens"] = active[i]->prompt_tokens;
      slot["n_pieces"] = active[i]->pieces.load();
    }
    list.push_back(std::move(slot));
  }
  return {.body = Dump(list)};
}

/// GET /metrics, in Prometheus' text format 0.0.4. Names of llama-server are kept, so that its
/// dashboards work.
HttpReply Metrics(const QuickContext& context) {
  if (!context.metrics) {
    return OpenAiError(
        {.status = 501, .message = "metrics are off: the server was started without them"});
  }
  Service* const service = context.service;
  const ServiceCounters& counters = service->counters();
  const runtime::EngineStats engine = service->engine().stats();
  MetricsText text;
  const auto seconds = [](const std::atomic<std::uint64_t>& us) {
    return static_cast<double>(us.load()) / 1e6;
  };
  const auto rate = [&](const std::atomic<std::uint64_t>& count, double time) {
    return time > 0 ? static_cast<double>(count.load()) / time : 0.0;
  };
  const double prompt_s = seconds(counters.prompt_us), predicted_s = seconds(counters.predicted_us);
  const std::uint64_t active = service->engine().active();
  text.AddBoth("prompt_tokens_total", "counter", "Prompt tokens computed.",
               counters.prompt_tokens.load());
  text.AddBoth("prompt_tokens_cached_total", "counter", "Prompt tokens found in the prefix cache.",
               counters.cached_tokens.load());
  text.AddBoth("prompt_seconds_total", "counter", "Seconds spent with prompts.", prompt_s);
  text.AddBoth("tokens_predicted_total", "counter", "Tokens generated.",
               counters.predicted_tokens.load());
  text.AddBoth("tokens_predicted_seconds_total", "counter", "Seconds spent generating.",
               predicted_s);
  text.AddBoth("n_decode_total", "counter", "Forward passes.", engine.steps);
  text.AddBoth("n_tokens_max", "gauge", "Most tokens of one sequence.",
               counters.most_tokens.load());
  text.AddBoth("prompt_tokens_seconds", "gauge", "Prompt tokens a second of a sequence.",
               rate(counters.prompt_tokens, prompt_s));
  text.AddBoth("predicted_tokens_seconds", "gauge", "Generated tokens a second of a sequence.",
               rate(counters.predicted_tokens, predicted_s));
  text.AddBoth("requests_processing", "gauge", "Sequences that run.", engine.running);
  text.AddBoth("requests_deferred", "gauge", "Sequences that wait.",
               active - std::min<std::uint64_t>(active, engine.running));
  text.Add("bittern_requests_total", "counter", "Requests taken.", counters.requests.load());
  text.Add("bittern_requests_refused_total", "counter", "Requests refused: the queue was full.",
           counters.refused.load());
  text.Add("bittern_requests_cancelled_total", "counter", "Requests whose client went away.",
           counters.cancelled.load());
  text.Add("bittern_requests_failed_total", "counter", "Requests that ended with an error.",
           counters.failed.load());
  text.Add("bittern_queue_seconds_total", "counter", "Seconds that sequences waited.",
           seconds(counters.queued_us));
  text.Add("bittern_rows_total", "counter", "Tokens run in forward passes.", engine.rows);
  text.Add("bittern_preemptions_total", "counter", "Sequences that gave their pages to older ones.",
           engine.preemptions);
  text.Add("bittern_kv_pages", "gauge", "Pages of keys and values.", engine.pages);
  text.Add("bittern_kv_pages_free", "gauge", "Pages that are free.", engine.free_pages);
  text.Add("bittern_prefix_cache_bytes", "gauge", "Memory of the prefix cache.",
           engine.prefix_cache.bytes);
  text.Add("bittern_connections", "gauge", "Connections that are open.", context.http.connections);
  text.Add("bittern_connections_total", "counter", "Connections accepted.", context.http.accepted);
  text.AddTimes("bittern_time_to_first_token_seconds",
                "From a request's place in the queue to its first token.", counters.first_token);
  text.AddTimes("bittern_queue_wait_seconds", "Time before a sequence first ran.",
                counters.queue_wait);
  text.AddTimes("bittern_request_seconds", "From a request's place in the queue to its end.",
                counters.whole);
  text.AddProcess(service->options().version);
  return {.content_type = "text/plain; version=0.0.4",
          .body = text.text(),
          .headers = {{"Process-Start-Time-Unix", std::to_string(service->started())}}};
}

/// GET /props as llama-server's router answers it: "role" is "router".
HttpReply PropsOfAll(const Models& models, const HttpRequest&, const HttpStats&) {
  return {.body = Dump({{"role", "router"},
                        {"max_instances", models.options().most_loaded},
                        {"models_autoload", models.options().autoload},
                        {"build_info", "bittern"}})};
}

/// GET /metrics of a server of several models. The figures of one model are at ?model=NAME.
HttpReply MetricsOfAll(const Models& models, const HttpRequest&, const HttpStats& http) {
  std::uint64_t loaded = 0, bytes = 0;
  for (const ModelStatus& model : models.status()) {
    if (model.state != ModelState::kLoaded) continue;
    ++loaded;
    bytes += model.bytes;
  }
  MetricsText text;
  text.Add("bittern_models_loaded", "gauge", "Models that are loaded.", loaded);
  text.Add("bittern_models_bytes", "gauge", "Memory set aside for them.", bytes);
  text.Add("bittern_model_loads_total", "counter", "Models loaded since the start.",
           models.loads());
  text.Add("bittern_connections", "gauge", "Connections that are open.", http.connections);
  text.Add("bittern_connections_total", "counter", "Connections accepted.", http.accepted);
  text.AddProcess(models.options().version);
  return {.content_type = "text/plain; version=0.0.4", .body = text.text()};
}

}  // namespace bittern::serve
