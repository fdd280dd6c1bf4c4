// SPDX-License-Identifier: Apache-2.0
// Results of `bittern bench` as a table or as data, with llama-bench's columns and field names,
// so that existing scripts and eyes can read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bittern::cli {

/// One measured test. Exactly one of num_prompt and num_gen is not 0.
struct BenchResult {
  int num_prompt = 0, num_gen = 0, num_threads = 0;
  int batch_size = 0, ubatch_size = 0;
  std::string kv_type = {};
  std::vector<std::uint64_t> samples_ns = {};  ///< one per repetition
};

/// What all tests of a run have in common.
struct BenchSubject {
  std::string model_path, model_type, cpu, isa;
  std::uint64_t model_bytes = 0, num_parameters = 0;
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
                                                           const BenchSubject& subject);

}  // namespace bittern::cli
