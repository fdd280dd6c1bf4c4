// SPDX-License-Identifier: Apache-2.0
// One run for each number of sequences, as llama-batched-bench does it: first all prompts, then all
// sequences generate together. The time between is noted where the second part begins, so neither
// part is a difference of two noisy times.
#include "bench/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// The engine's own policy, but nothing generates before all prompts are read.
class PromptsFirst final : public runtime::SchedulingPolicy {
 public:
  [[nodiscard]] bool Admits(int /*tokens*/, std::size_t running,
                            const runtime::StepLimits& limits) const override {
    return running < static_cast<std::size_t>(limits.max_sequences);
  }
  [[nodiscard]] runtime::StepPlan Next(std::span<const runtime::SequenceView> sequences,
                                       const runtime::StepLimits& limits) override {
    std::vector<runtime::SequenceView> reading;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (sequences[i].left_to_read == 0) continue;
      reading.push_back(sequences[i]);
      indices.push_back(i);
    }
    if (reading.empty()) {
      if (!prompts_end_) prompts_end_ = Clock::now();
      return fair_.Next(sequences, limits);
    }
    runtime::StepPlan plan = fair_.Next(reading, limits);
    for (auto& run : plan.run) run.index = indices[run.index];
    for (auto& index : plan.preempt) index = indices[index];
    return plan;
  }
  void Observe(std::size_t rows, double seconds) override { fair_.Observe(rows, seconds); }

  /// When the first step began that read no prompt.
  [[nodiscard]] std::optional<Clock::time_point> prompts_end() const { return prompts_end_; }

 private:
  runtime::FairPolicy fair_;
  std::optional<Clock::time_point> prompts_end_;
};

/// Seconds of both parts of a run.
struct Times {
  double prompt_s = 0, gen_s = 0;
};

/// Runs `count` sequences at once. The prefix cache is off, and the prompts differ, so that every
/// prompt is really read.
Result<Times> MeasureMany(const std::shared_ptr<const runtime::LoadedModel>& model,
                          const ParallelBench& bench, int count) {
  const auto policy = std::make_shared<PromptsFirst>();
  runtime::EngineOptions options = bench.engine;
  options.max_sequences = count;
  options.context_length = bench.num_prompt + bench.num_gen;
  options.prefix_cache = false;
  options.policy = policy;
  auto engine = BITTERN_TRY(runtime::Engine::Create(model, options));
  std::uint64_t state = 1;
  const auto vocab = static_cast<std::uint64_t>(model->model.config().vocab_size);
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) {
    runtime::Request request{.prompt = {},
                             .options = {.max_tokens = bench.num_gen,
                                         .sampler = {.temperature = 0},
                                         .ignore_eos = true,
                                         .speculation = runtime::Speculation::kOff}};
    for (int t = 0; t < bench.num_prompt; ++t) {
      request.prompt.push_back(static_cast<runtime::TokenId>(runtime::NextRandom(&state) % vocab));
    }
    BITTERN_TRY(engine.Submit(std::move(request)));
  }
  engine.RunAll();
  const auto end = Clock::now(), middle = policy->prompts_end().value_or(end);
  return Times{std::chrono::duration<double>(middle - start).count(),
               std::chrono::duration<double>(end - middle).count()};
}

/// A row in llama-batched-bench's columns, or a line of JSON with its names.
std::string Row(const ParallelBench& bench, int count, const Times& times) {
  const double prompt = static_cast<double>(count) * bench.num_prompt;
  const double gen = static_cast<double>(count) * bench.num_gen;
  const double all_s = times.prompt_s + times.gen_s;
  // The first token of each sequence comes with its prompt.
  const double gen_rate = (gen - count) / std::max(times.gen_s, 1e-9);
  const char* const format =
      bench.json_lines ? "{{\"pp\": {}, \"tg\": {}, \"pl\": {}, \"n_kv\": {}, \"t_pp\": {:.4f}, "
                         "\"speed_pp\": {:.2f}, \"t_tg\": {:.4f}, \"speed_tg\": {:.2f}, \"t\": "
                         "{:.4f}, \"speed\": {:.2f}}}\n"
                       : "|{:6} | {:6} | {:4} | {:6} | {:8.3f} | {:8.2f} | {:8.3f} | {:8.2f} | "
                         "{:8.3f} | {:8.2f} |\n";
  return fmt::format(fmt::runtime(format), bench.num_prompt, bench.num_gen, count,
                     count * (bench.num_prompt + bench.num_gen), times.prompt_s,
                     prompt / times.prompt_s, times.gen_s, gen_rate, all_s, (prompt + gen) / all_s);
}

}  // namespace

Result<void> RunParallelBench(const std::shared_ptr<const runtime::LoadedModel>& model,
                              const ParallelBench& bench,
                              const std::function<void(std::string_view)>& write,
                              const std::function<void(int)>& on_start) {
  if (!bench.json_lines) {
    write(
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s | "
        "   S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|"
        "----------|\n");
  }
  for (const std::int32_t count : bench.counts) {
    on_start(count);
    const Times times = BITTERN_TRY(MeasureMany(model, bench, count));
    on_start(0);
    write(Row(bench, count, times));
  }
  return {};
}

}  // namespace bittern::bench
