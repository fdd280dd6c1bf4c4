// SPDX-License-Identifier: Apache-2.0
// The meaning of a measured rate: how near it is to what the machine can give, how it grows with
// threads, what it costs. Pure arithmetic over results; nothing here measures or prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/report.hpp"

namespace bittern::bench {

/// "pp512" or "tg128".
[[nodiscard]] std::string TestName(const BenchResult& result);

/// Tokens per second of each repetition.
[[nodiscard]] std::vector<double> TokensPerSecond(const BenchResult& result);
/// Their median; 0 where there are none.
[[nodiscard]] double MedianRate(const BenchResult& result);

/// A decode test beside the memory, or a prefill test beside the arithmetic of the machine.
struct Roof {
  double limit = 0;     ///< tokens per second at most, if nothing else cost time
  double fraction = 0;  ///< of it reached; above 1 where the weights lie in cache
};
/// True for decode whose bytes of a token fit the last-level cache, so that memory is no limit.
[[nodiscard]] bool FitsInCache(const BenchSubject& subject, const BenchResult& result);
/// Decode: bandwidth / bytes of a token. Nothing for prefill or where nothing was measured.
[[nodiscard]] std::optional<Roof> MemoryRoof(const BenchResult& result);
/// Prefill: int8 rate / multiply-adds of a token. Nothing for decode.
[[nodiscard]] std::optional<Roof> ArithmeticRoof(const BenchResult& result);

/// The place of a test in a roofline chart.
struct RooflinePoint {
  double intensity = 0;  ///< multiply-adds per byte read from memory
  double rate = 0;       ///< multiply-adds per second
};
/// Nothing for a prompt and a generation in one test, and where no bytes are known.
[[nodiscard]] std::optional<RooflinePoint> RooflinePointOf(const BenchResult& result);

/// A test beside the same test with the first thread count.
struct Scaling {
  double speedup = 1;     ///< ratio of the rates
  double efficiency = 1;  ///< speedup by the ratio of the threads
};
[[nodiscard]] Scaling ScalingOf(const BenchResult& result, const BenchResult& first);
/// The earliest of `results` that is the same test; `result` itself if there is none.
[[nodiscard]] const BenchResult& FirstOfTest(const std::vector<BenchResult>& results,
                                             const BenchResult& result);

/// The price of a million tokens on a machine that costs `per_hour`; 0 where the rate is 0.
[[nodiscard]] double PricePerMillion(double per_hour, double tokens_per_second);

/// Joules of one token, of the whole machine's CPU packages; nothing where not measured.
[[nodiscard]] std::optional<double> JoulesPerToken(const BenchResult& result);

/// Plain sentences on what limits these results and what would help. Settings are named as
/// key=value; `word` puts the caller's words for them.
[[nodiscard]] std::vector<std::string> Advice(const BenchSubject& subject,
                                              const std::vector<BenchResult>& results,
                                              const Wording& word = {});

/// A caution for those who compare this figure with another; empty where there is none.
[[nodiscard]] std::string HeldUpText(const BenchResult& test);

/// "1.19 GB", "38.4 MB", "512 B": decimal, as bandwidths are.
[[nodiscard]] std::string DecimalBytes(double bytes);

}  // namespace bittern::bench
