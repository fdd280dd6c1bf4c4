// SPDX-License-Identifier: Apache-2.0
// Rates are medians. A roof is a measured bandwidth or rate of the machine divided by the cost
// of a token.
#include "bench/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::bench {
namespace {

/// The fastest test of its kind; null where there is none.
const BenchResult* Fastest(const std::vector<BenchResult>& results, bool decode) {
  const BenchResult* best = nullptr;
  for (const BenchResult& result : results) {
    if (decode ? !result.is_decode() : !result.is_prefill()) continue;
    if (best == nullptr || MedianRate(result) > MedianRate(*best)) best = &result;
  }
  return best;
}

std::uint64_t BytesOfPart(const BenchResult& result, std::string_view name) {
  for (const auto& part : result.cost.parts) {
    if (part.name == name) return part.bytes;
  }
  return 0;
}

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// Shares of the memory roof from which memory alone, or mostly, limits decode.
constexpr double kMemoryLimits = 0.95, kMemoryCounts = 0.6;

/// One sentence on the limit, then those on its causes that the figures show. Keys of options stand
/// in them; a front end puts its own words there.
void AdviseOnDecode(const BenchSubject& subject, const BenchResult& result,
                    std::vector<std::string>* advice) {
  const std::optional<Roof> roof = MemoryRoof(result);
  if (!roof.has_value()) return;
  const auto bytes = static_cast<double>(result.cost.bytes());
  const auto head = static_cast<double>(BytesOfPart(result, "output head"));
  const auto full_kv = static_cast<double>(subject.full_kv_bytes);
  const bool cached = FitsInCache(subject, result);
  if (cached) {
    advice->push_back(fmt::format(
        "What one token reads ({}) fits in the last-level cache ({}): decode is limited by compute "
        "and thread synchronisation here, not by memory.",
        DecimalBytes(bytes), DecimalBytes(static_cast<double>(subject.cache_bytes))));
  } else if (roof->fraction >= kMemoryLimits) {
    advice->push_back(fmt::format(
        "Decode reaches {:.0f} % of this machine's memory bandwidth: faster memory or fewer bytes "
        "per token would help, faster arithmetic would not.",
        100 * roof->fraction));
  } else if (roof->fraction >= kMemoryCounts) {
    advice->push_back(fmt::format(
        "Decode reaches {:.0f} % of this machine's memory bandwidth: memory limits most of it, "
        "computing and waiting for threads take the rest. From {:.0f} % on it would be memory "
        "alone.",
        100 * roof->fraction, 100 * kMemoryLimits));
  } else {
    advice->push_back(fmt::format(
        "Decode reaches {:.0f} % of this machine's memory bandwidth, so something other than "
        "memory "
        "limits it. Look for other busy programs, and try other thread counts (threads=1,2,4 "
        "matrix=on).",
        100 * roof->fraction));
  }
  if (!cached && std::ranges::any_of(result.cost.parts, [](const auto& p) { return p.at_most; })) {
    advice->push_back(
        "Feed-forward weights that would be multiplied by zero are not read (zero_skip=auto): the "
        "bytes per token are upper bounds, and decode may exceed the roof computed from them.");
  }
  if (head > 0.2 * bytes && !cached) {
    advice->push_back(fmt::format(
        "The output head is {:.0f} % of the bytes per token ({}); without it the roof would be "
        "{:.1f} tokens per second.",
        Percent(head, bytes), DecimalBytes(head), result.machine->read_bandwidth / (bytes - head)));
  }
  if (full_kv > 0.05 * bytes) {
    advice->push_back(
        fmt::format("At the model's full context of {} tokens the KV cache adds {} to every token "
                    "({:.0f} %{}).",
                    subject.context_length, DecimalBytes(full_kv), Percent(full_kv, bytes),
                    result.kv_type == "f32" ? "; kv_type=f16 halves it" : ""));
  }
}

void AdviseOnPrefill(const BenchResult& result, std::vector<std::string>* advice) {
  const std::optional<Roof> roof = ArithmeticRoof(result);
  if (!roof.has_value()) return;
  advice->push_back(fmt::format(
      "Prefill reaches {:.0f} % of the int8 kernel's rate on data in cache; the rest of the time "
      "goes to attention, quantising activations and reading weights.",
      100 * roof->fraction));
  if (std::min(result.num_prompt, result.ubatch_size) < 64) {
    advice->push_back(
        "Prompts or chunks (ubatch_size=) of fewer than 64 tokens are too short for full speed: "
        "the weights "
        "are read once per chunk.");
  }
}

}  // namespace

bool FitsInCache(const BenchSubject& subject, const BenchResult& result) {
  return result.is_decode() && result.cost.bytes() < subject.cache_bytes;  // 0: not known
}

std::string TestName(const BenchResult& result) {
  const std::string depth = result.depth == 0 ? "" : fmt::format(" @ d{}", result.depth);
  if (result.is_prefill()) return fmt::format("pp{}{}", result.num_prompt, depth);
  if (result.is_decode()) return fmt::format("tg{}{}", result.num_gen, depth);
  return fmt::format("pp{}+tg{}{}", result.num_prompt, result.num_gen, depth);
}

std::vector<double> TokensPerSecond(const BenchResult& result) {
  std::vector<double> rates;
  for (const std::uint64_t ns : result.samples_ns) {
    rates.push_back(1e9 * (result.num_prompt + result.num_gen) /
                    static_cast<double>(std::max<std::uint64_t>(ns, 1)));
  }
  return rates;
}

double MedianRate(const BenchResult& result) {
  std::vector<double> rates = TokensPerSecond(result);
  if (rates.empty()) return 0;
  std::sort(rates.begin(), rates.end());
  const std::size_t middle = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
}

std::optional<Roof> MemoryRoof(const BenchResult& result) {
  if (!result.is_decode() || !result.machine || result.cost.bytes() == 0) return std::nullopt;
  const double limit = result.machine->read_bandwidth / static_cast<double>(result.cost.bytes());
  return Roof{limit, limit > 0 ? MedianRate(result) / limit : 0};
}

std::optional<Roof> ArithmeticRoof(const BenchResult& result) {
  const auto work = static_cast<double>(result.cost.ternary_multiply_adds());
  if (!result.is_prefill() || !result.machine || work == 0) return std::nullopt;
  const double limit = result.machine->int8_rate / work;
  return Roof{limit, limit > 0 ? MedianRate(result) / limit : 0};
}

/// Arithmetic intensity (multiply-adds a byte) and rate, as in Williams, Waterman and Patterson's
/// roofline.
std::optional<RooflinePoint> RooflinePointOf(const BenchResult& result) {
  if (!result.is_decode() && !result.is_prefill()) return std::nullopt;
  double multiply_adds = 0, bytes = 0;
  for (const auto& part : result.cost.parts) {
    if (result.is_prefill() && !part.ternary) continue;  // the others run once a prompt
    multiply_adds += static_cast<double>(part.multiply_adds);
    bytes += static_cast<double>(part.bytes);
  }
  if (bytes <= 0) return std::nullopt;
  // Prefill reads the weights once for all tokens of a chunk.
  const int together = result.is_decode() ? 1 : std::min(result.num_prompt, result.ubatch_size);
  return RooflinePoint{multiply_adds * together / bytes, multiply_adds * MedianRate(result)};
}

Scaling ScalingOf(const BenchResult& result, const BenchResult& first) {
  const double base = MedianRate(first);
  if (base <= 0 || first.num_threads < 1 || result.num_threads < 1) return {};
  const double speedup = MedianRate(result) / base;
  return {speedup, speedup * first.num_threads / result.num_threads};
}

const BenchResult& FirstOfTest(const std::vector<BenchResult>& results, const BenchResult& result) {
  const auto same = std::ranges::find_if(results, [&](const BenchResult& other) {
    return other.num_prompt == result.num_prompt && other.num_gen == result.num_gen &&
           other.depth == result.depth;
  });
  return same == results.end() ? result : *same;
}

double PricePerMillion(double per_hour, double tokens_per_second) {
  return tokens_per_second > 0 ? per_hour / 3600 * 1e6 / tokens_per_second : 0;
}

/// The energy of all packages during the samples, whatever else ran then.
std::optional<double> JoulesPerToken(const BenchResult& result) {
  const auto tokens = static_cast<double>(result.samples_ns.size()) *
                      static_cast<double>(result.num_prompt + result.num_gen);
  if (!result.joules.has_value() || tokens == 0) return std::nullopt;
  return *result.joules / tokens;
}

std::vector<std::string> Advice(const BenchSubject& subject,
                                const std::vector<BenchResult>& results, const Wording& word) {
  std::vector<std::string> advice;
  const BenchResult* decode = Fastest(results, true);
  const BenchResult* prefill = Fastest(results, false);
  if (decode != nullptr) AdviseOnDecode(subject, *decode, &advice);
  if (prefill != nullptr) AdviseOnPrefill(*prefill, &advice);
  int most_threads = 0;
  for (const BenchResult& result : results) {
    most_threads = std::max(most_threads, result.num_threads);
  }
  if (most_threads > 0 && most_threads < subject.usable_threads) {
    advice.push_back(fmt::format("{} of {} available cores were used at most (threads= sets this).",
                                 most_threads, subject.usable_threads));
  }
  if (!subject.forced_isa.empty()) {
    advice.push_back(fmt::format("isa={} forces the instruction set; unset it to use the best one.",
                                 subject.forced_isa));
  }
  if (subject.layout == "tl1" || subject.layout == "tl2") {
    advice.push_back(fmt::format(
        "kernel={} was chosen; tile16 is faster on every CPU measured so far.", subject.layout));
  }
  if (word) {
    for (std::string& sentence : advice) sentence = word(sentence);
  }
  return advice;
}

std::string HeldUpText(const BenchResult& test) {
  if (test.threads_used > 0.99 * test.num_threads) return {};
  return fmt::format(
      "{}: other programs were using the CPUs: {:.1f} of {} threads ran on average, so "
      "expect "
      "higher figures on an idle machine",
      TestName(test), test.threads_used, test.num_threads);
}

std::string DecimalBytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace bittern::bench
