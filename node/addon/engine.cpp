// SPDX-License-Identifier: Apache-2.0
// Engines. A request is a job that a short-lived thread queues and that ends when the engine's own
// thread says so.
#include <atomic>

#include "functions.hpp"

namespace bittern::node {
namespace {

/// The state of one request until it has ended.
struct Request {
  std::atomic<std::uint64_t> number = 0;  // 0: not queued yet

  static void OnDone(void* user, std::uint64_t, bittern_status status, bittern_result* result) {
    auto* const job = static_cast<Job*>(user);
    job->result = Result(result);
    job->End(status);
  }
};

/// Starts a job that `submit` queues in the engine: submit(job, number) is run by the job's thread.
template <class Submit>
napi_value StartRequest(Environment& environment, std::unique_ptr<Job> job, bittern_engine* engine,
                        Submit submit) {
  auto request = std::make_shared<Request>();
  job->ends_later = true;
  job->heavy = true;
  job->cancel = [engine, request] {
    const std::uint64_t number = request->number.load();
    if (number != 0) bittern_engine_cancel(engine, number);
  };
  job->work = [request, submit = std::move(submit)](Job& running) {
    std::uint64_t number = 0;
    const bittern_status status = submit(running, &number);
    if (status == BITTERN_OK) request->number.store(number);
    return status;
  };
  job->value = [](napi_env env, Job& done) { return AllOf(env, done.result); };
  return environment.Start(std::move(job));
}

/// engineSubmit(engine, model, prompt, settings, listener): {text, ids, json}
napi_value Submit(Arguments& arguments, Environment& environment) {
  bittern_engine* engine = nullptr;
  bittern_model* model = nullptr;
  Prompt prompt;
  std::shared_ptr<Options> options;
  auto job = std::make_unique<Job>();
  if (!arguments.Handle(0, Kind::kEngine, &engine) || !arguments.Keep(0, job.get()) ||
      !arguments.Handle(1, Kind::kModel, &model) || !arguments.Keep(1, job.get()) ||
      !arguments.Take(2, &prompt) || !arguments.Settings(3, &options) ||
      !arguments.Listener(4, job.get())) {
    return nullptr;
  }
  const auto submit = [=, prompt = std::move(prompt)](Job& running, std::uint64_t* number) {
    std::vector<std::int32_t> ids;
    const bittern_status status = IdsOfPrompt(model, prompt, &ids);
    if (status != BITTERN_OK) return status;
    if (running.cancelled()) return running.Cancelled();
    return bittern_engine_submit(engine, Data(ids), ids.size(), options->get(), &Job::OnText,
                                 &Request::OnDone, &running, number);
  };
  return StartRequest(environment, std::move(job), engine, submit);
}

/// engineAnswer(engine, body, settings, listener): {text, ids, json}
napi_value Answer(Arguments& arguments, Environment& environment) {
  bittern_engine* engine = nullptr;
  std::string body;
  std::shared_ptr<Options> options;
  auto job = std::make_unique<Job>();
  if (!arguments.Handle(0, Kind::kEngine, &engine) || !arguments.Keep(0, job.get()) ||
      !arguments.Text(1, &body) || !arguments.Settings(2, &options) ||
      !arguments.Listener(3, job.get())) {
    return nullptr;
  }
  const auto submit = [=, body = std::move(body)](Job& running, std::uint64_t* number) {
    if (running.cancelled()) return running.Cancelled();
    return bittern_engine_submit_json(engine, body.data(), body.size(), options->get(),
                                      &Job::OnText, &Request::OnDone, &running, number);
  };
  return StartRequest(environment, std::move(job), engine, submit);
}

/// engineStats(engine): JSON
napi_value Stats(Arguments& arguments, Environment& environment) {
  bittern_engine* engine = nullptr;
  auto job = std::make_unique<Job>();
  if (!arguments.Handle(0, Kind::kEngine, &engine) || !arguments.Keep(0, job.get())) return nullptr;
  job->work = [engine](Job& running) { return bittern_engine_stats(engine, running.result.out()); };
  job->value = [](napi_env env, Job& done) { return JsonOf(env, done.result); };
  return environment.Start(std::move(job));
}

constexpr Row kRowsOfEngine[] = {
    {"engineSubmit", Submit}, {"engineAnswer", Answer}, {"engineStats", Stats}};

}  // namespace

std::span<const Row> EngineFunctions() { return kRowsOfEngine; }

}  // namespace bittern::node
