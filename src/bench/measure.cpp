// SPDX-License-Identifier: Apache-2.0
// A test runs in a session that holds the tokens it stands behind; each repetition forgets the one
// before.
#include "bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/threads/thread_pool.hpp"
#include "bench/analysis.hpp"
#include "model/weights.hpp"
#include "runtime/sampling/sampler_steps.hpp"
#include "runtime/tune/machine_probe.hpp"

namespace bittern::bench {
namespace {

using runtime::Session;
using runtime::TokenId;

/// The same ids each time; the values do not matter, only that they are not all one.
std::vector<TokenId> RandomIds(int count, int vocab_size) {
  std::uint64_t state = 1;
  std::vector<TokenId> ids(static_cast<std::size_t>(count));
  for (TokenId& id : ids) {
    id = static_cast<TokenId>(runtime::NextRandom(&state) % static_cast<std::uint64_t>(vocab_size));
  }
  return ids;
}

/// Greedy, `max_tokens` tokens whatever they are, drafting nothing.
runtime::GenerateOptions GreedyRun(int max_tokens) {
  return {.max_tokens = max_tokens,
          .sampler = {.temperature = 0},
          .ignore_eos = true,
          .speculation = runtime::Speculation::kOff};
}

/// Up to the choice of the first new token.
Result<void> RunPrompt(Session* session, int count) {
  const auto& config = session->model().model.config();
  return session->PrefillFor(RandomIds(count, config.vocab_size), GreedyRun(1));
}

/// The token a generation starts from, run through the model.
Result<void> StartGeneration(Session* session) {
  const TokenId id = std::max(session->model().tokenizer.bos_id(), 0);
  return session->PrefillFor({&id, 1}, GreedyRun(0));
}

/// `count` runs of the model of one token each.
Result<void> RunGeneration(Session* session, int count) {
  BITTERN_TRY(session->Generate(GreedyRun(count + 1), {}));  // the last one is not run
  return {};
}

Result<void> RunTest(Session* session, int num_prompt, int num_gen) {
  if (num_prompt > 0) BITTERN_TRY(RunPrompt(session, num_prompt));
  return num_gen > 0 ? RunGeneration(session, num_gen) : Result<void>{};
}

/// Forgets the repetition before, down to the tokens that the test stands behind.
Result<void> Prepare(Session* session, const BenchResult& test) {
  session->Truncate(test.depth);
  return test.is_decode() ? StartGeneration(session) : Result<void>{};
}

/// Adds what the ranks have exchanged since `before`.
void AddTraffic(const model::RankTraffics& before, const model::RankTraffics& now,
                model::RankTraffics* sum) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    (*sum)[i].messages += now[i].messages - before[i].messages;
    (*sum)[i].bytes += now[i].bytes - before[i].bytes;
    (*sum)[i].seconds += now[i].seconds - before[i].seconds;
  }
}

/// Adds one repetition to the test; what Prepare does is no part of it.
Result<void> MeasureOnce(Session* session, BenchResult* test) {
  BITTERN_TRY(Prepare(session, *test));
  const model::RankShares& shares = session->model().model.weights().shares;
  const auto before = shares.shared() ? shares.ranks->traffic() : model::RankTraffics{};
  const auto start = std::chrono::steady_clock::now();
  BITTERN_TRY(RunTest(session, test->num_prompt, test->num_gen));
  const auto elapsed = std::chrono::steady_clock::now() - start;
  test->samples_ns.push_back(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()));
  if (!shares.shared()) return {};
  test->num_ranks = shares.ranks->size();
  AddTraffic(before, shares.ranks->traffic(), &test->traffic);
  return {};
}

/// The tests of one thread count.
class Measurement {
 public:
  Measurement(Session* session, const MeasureOptions& options, const BenchListener& listener)
      : session_(session), options_(options), listener_(listener) {}

  /// Runs the tests of each depth: prompts, then generations, then pairs, as llama-bench does. The
  /// tokens before the tests are read once for a depth.
  Result<void> Run(const BenchPlan& plan, BenchResult test) {
    const model::Model& model = session_->model().model;
    if (options_.machine) {
      test.machine = BITTERN_TRY(MeasureMachine(*model.weights().kernels));
    }
    for (const int depth : plan.depths) {
      session_->Truncate(0);
      if (depth > 0) {
        Say(fmt::format("reading the {} tokens before the tests", depth));
        BITTERN_TRY(RunPrompt(session_, depth));
      }
      test.depth = depth;
      for (const int prompt : plan.prompts) BITTERN_TRY(RunOne(prompt, 0, &test));
      for (const int gen : plan.gens) BITTERN_TRY(RunOne(0, gen, &test));
      for (const auto& [prompt, gen] : plan.pairs) BITTERN_TRY(RunOne(prompt, gen, &test));
    }
    return {};
  }

 private:
  void Say(const std::string& what) const {
    if (listener_.on_progress) listener_.on_progress(what);
  }

  /// The rulers of a thread count, before its tests.
  Result<MachineFigures> MeasureMachine(const kernels::Kernels& kernels) const {
    const int threads = session_->num_threads();
    Say(fmt::format("measuring memory and arithmetic with {} threads", threads));
    auto pool = BITTERN_TRY(ThreadPool::Create(threads));
    const double bandwidth =
        BITTERN_TRY(runtime::MeasureReadBandwidth(pool, runtime::ProbeBytes()));
    const double rate = BITTERN_TRY(runtime::MeasureInt8Rate(pool, kernels));
    return MachineFigures{bandwidth, rate};
  }

  /// Measures one test and hands it to the listener. A test of no tokens is left out.
  Result<void> RunOne(int num_prompt, int num_gen, BenchResult* test) {
    if (num_prompt + num_gen == 0) return {};
    test->num_prompt = num_prompt;
    test->num_gen = num_gen;
    test->samples_ns.clear();
    test->traffic = {};
    const PassCounts before = session_->pass_counts();
    BITTERN_TRY(Repeat(test));
    test->threads_used = (session_->pass_counts() - before).mean_threads(test->num_threads);
    test->cost =
        runtime::CostOfToken(session_->model().model, test->context(), options_.session.kv_type,
                             session_->screen_stats(), session_->skip_stats());
    listener_.on_result(*test);
    return {};
  }

  /// Warms up, then repeats. The meter counts the energy of all repetitions together.
  Result<void> Repeat(BenchResult* test) {
    const std::string name = TestName(*test);
    if (options_.warmup) {
      Say(fmt::format("{} with {} threads: warm-up", name, test->num_threads));
      BITTERN_TRY(Prepare(session_, *test));
      BITTERN_TRY(RunTest(session_, test->num_prompt, std::min(test->num_gen, 1)));
    }
    auto meter = options_.machine ? runtime::EnergyMeter::Open() : std::nullopt;
    for (int i = 1; i <= options_.repetitions; ++i) {
      Say(fmt::format("{} with {} threads: {} of {}", name, test->num_threads, i,
                      options_.repetitions));
      BITTERN_TRY(MeasureOnce(session_, test));
    }
    test->joules = meter.has_value() ? meter->Take() : std::nullopt;
    return {};
  }

  Session* session_;
  const MeasureOptions& options_;
  const BenchListener& listener_;
};

}  // namespace

int BenchPlan::context_length() const {
  int test = std::max(*std::ranges::max_element(prompts), *std::ranges::max_element(gens) + 1);
  for (const auto& [prompt, gen] : pairs) test = std::max(test, prompt + gen);
  return std::max(1, test) + *std::ranges::max_element(depths);
}

/// One session serves all tests; its size is that of the longest.
Result<void> RunBench(const std::shared_ptr<const runtime::LoadedModel>& model,
                      const BenchPlan& plan, const MeasureOptions& options,
                      const BenchListener& listener) {
  runtime::SessionOptions session_options = options.session;
  // No more room than needed: a large cache would only cost memory.
  session_options.context_length = plan.context_length();
  auto session = BITTERN_TRY(Session::Create(model, session_options));
  return Measurement(&session, options, listener)
      .Run(plan, {.num_threads = session.num_threads(),
                  .batch_size = options.batch_size,
                  .ubatch_size = options.ubatch_size,
                  .kv_type = options.kv_type});
}

}  // namespace bittern::bench
