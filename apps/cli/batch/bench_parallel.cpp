// SPDX-License-Identifier: Apache-2.0
// Two runs for each number of sequences: one token each gives the time of the prompts, all tokens
// give the rest. Both begin with an engine that has seen nothing.
#include "cli/batch/bench_parallel.hpp"

#include <fmt/format.h>

#include <chrono>

#include "cli/terminal.hpp"
#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::cli {
namespace {

/// Seconds that `count` sequences take to read their prompts and make `num_gen` tokens.
Result<double> SecondsOf(const std::shared_ptr<const runtime::LoadedModel>& model,
                         const ParallelBench& bench, int count, int num_gen) {
  runtime::EngineOptions options = bench.engine;
  options.max_sequences = count;
  options.context_length = bench.num_prompt + bench.num_gen;
  options.prefix_cache = false;
  auto engine = BITTERN_TRY(runtime::Engine::Create(model, options));
  std::uint64_t state = 1;
  const auto vocab = static_cast<std::uint64_t>(model->model.config().vocab_size);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    runtime::Request request{.prompt = {},
                             .options = {.max_tokens = num_gen,
                                         .sampler = {.temperature = 0},
                                         .ignore_eos = true,
                                         .speculation = runtime::Speculation::kOff}};
    for (int t = 0; t < bench.num_prompt; ++t) {
      request.prompt.push_back(static_cast<runtime::TokenId>(runtime::NextRandom(&state) % vocab));
    }
    BITTERN_TRY(engine.Submit(std::move(request)));
  }
  engine.RunAll();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string Row(const ParallelBench& bench, int count, double prompt_s, double all_s) {
  const double prompt = static_cast<double>(count) * bench.num_prompt;
  const double gen = static_cast<double>(count) * bench.num_gen;
  const double gen_s = std::max(all_s - prompt_s, 1e-9);
  // The first token of each sequence comes with its prompt.
  const double gen_rate = (gen - count) / gen_s;
  const char* const format =
      bench.json_lines ? "{{\"pp\": {}, \"tg\": {}, \"pl\": {}, \"n_kv\": {}, \"t_pp\": {:.4f}, "
                         "\"speed_pp\": {:.2f}, \"t_tg\": {:.4f}, \"speed_tg\": {:.2f}, \"t\": "
                         "{:.4f}, \"speed\": {:.2f}}}\n"
                       : "|{:6} | {:6} | {:4} | {:6} | {:8.3f} | {:8.2f} | {:8.3f} | {:8.2f} | "
                         "{:8.3f} | {:8.2f} |\n";
  return fmt::format(fmt::runtime(format), bench.num_prompt, bench.num_gen, count,
                     count * (bench.num_prompt + bench.num_gen), prompt_s, prompt / prompt_s, gen_s,
                     gen_rate, all_s, (prompt + gen) / all_s);
}

}  // namespace

Result<void> RunParallelBench(const std::shared_ptr<const runtime::LoadedModel>& model,
                              const ParallelBench& bench, StandardOutput* out) {
  if (!bench.json_lines) {
    out->Write(
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s | "
        "   S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|"
        "----------|\n");
  }
  ProgressLine progress;
  for (const std::int32_t count : bench.counts) {
    progress.Show(fmt::format("{} sequences", count));
    const double prompt_s = BITTERN_TRY(SecondsOf(model, bench, count, 1));
    const double all_s = BITTERN_TRY(SecondsOf(model, bench, count, bench.num_gen));
    progress.Clear();
    out->Write(Row(bench, count, prompt_s, all_s));
  }
  return {};
}

}  // namespace bittern::cli
