// SPDX-License-Identifier: Apache-2.0
// Results of `bittern bench` as a table or as data, with llama-bench's columns and field names,
// so that existing scripts and eyes can read them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "model/ranks/ranks.hpp"
#include "runtime/tune/token_cost.hpp"

namespace bittern::bench {

/// The rulers of one thread count (runtime/tune/machine_probe.hpp).
struct MachineFigures {
  double read_bandwidth = 0;  ///< bytes per second
  double int8_rate = 0;       ///< multiply-adds per second
};

/// One measured test, behind `depth` tokens: a prompt read, tokens generated, or (-pg) both.
struct BenchResult {
  int num_prompt = 0, num_gen = 0, num_threads = 0;
  double threads_used = 0;  ///< on average; fewer than num_threads beside busy programs
  int batch_size = 0, ubatch_size = 0;
  std::string kv_type = {};
  int depth = 0;
  std::vector<std::uint64_t> samples_ns = {};  ///< one per repetition
  std::optional<double> joules = {};           ///< of all repetitions, where there is a meter
  runtime::TokenCost cost = {};                ///< of a token halfway through the test
  std::optional<MachineFigures> machine = {};  ///< where they were asked for
  int num_ranks = 1;                           ///< that share the model out
  model::RankTraffics traffic = {};            ///< rank 0's, of all repetitions

  [[nodiscard]] bool is_decode() const noexcept { return num_gen > 0 && num_prompt == 0; }
  [[nodiscard]] bool is_prefill() const noexcept { return num_prompt > 0 && num_gen == 0; }

  [[nodiscard]] std::size_t num_tokens() const noexcept {
    return static_cast<std::size_t>(num_prompt + num_gen) * samples_ns.size();
  }
  /// Tokens before the one halfway through the test.
  [[nodiscard]] int context() const noexcept { return depth + (num_prompt + num_gen) / 2; }
};

/// Facts that all tests of a run have in common.
struct BenchSubject {
  std::string model_path, model_type, cpu, isa;
  std::uint64_t model_bytes = 0, num_parameters = 0;
  std::string layout = {}, layout_reason = {}, matrix_kernel = {}, float_kernel = {};
  std::string sparse_kernel = {}, screen_kernel = {};  ///< empty: not used
  int usable_threads = 0;                              ///< one per core that this process may use
  std::uint64_t cache_bytes = 0;                       ///< of the last-level cache; 0: not known
  int context_length = 0;                              ///< the model's limit
  std::uint64_t full_kv_bytes = 0;  ///< of the KV cache that the last token of it reads
  std::string forced_isa = {};      ///< that was asked for; empty: none
};

/// A sentence in which settings stand as key=value, in the words of a program.
using Wording = std::function<std::string(std::string_view)>;

/// Figures that are shown beside llama-bench's columns.
struct BenchExtras {
  bool explain = false;
  bool matrix = false;
  double price_per_hour = 0;  ///< 0: no prices
  Wording word = {};          ///< of advice; empty: as it is
};

/// Turns results into text, piece by piece, so that long runs show what they have.
class BenchReport {
 public:
  virtual ~BenchReport() = default;
  [[nodiscard]] virtual std::string Begin() { return {}; }
  [[nodiscard]] virtual std::string Row(const BenchResult& result) = 0;
  [[nodiscard]] virtual std::string End() { return {}; }
};

inline constexpr const char* kBenchFormats[] = {"md", "csv", "json", "jsonl"};

/// `format` is one of kBenchFormats.
[[nodiscard]] std::unique_ptr<BenchReport> MakeBenchReport(const std::string& format,
                                                           const BenchSubject& subject,
                                                           const BenchExtras& extras = {});

/// All results for the page (report/page): {"model_type", "cpu_info", "usable_threads",
/// "cache_bytes", "tests", "advice"}. A test has the fields of the format json with explain, matrix
/// and its name as "test"; reading or writing alone also "roofline": {"multiply_adds_per_byte",
/// "multiply_adds_per_second"}.
[[nodiscard]] Json PageJson(const BenchSubject& subject, BenchExtras extras,
                            const std::vector<BenchResult>& results);

}  // namespace bittern::bench
