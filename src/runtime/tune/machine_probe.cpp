// SPDX-License-Identifier: Apache-2.0
// Most probes run a few times on all threads and take the median.
#include "runtime/tune/machine_probe.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>

#include "base/memory/aligned_buffer.hpp"
#include "base/os/cpus.hpp"
#include "base/os/memory.hpp"
#include "kernels/registry.hpp"
#include "model/matrix_layout.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPasses = 7;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Four sums, so that additions do not wait for each other.
std::uint64_t Sum(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sums[4] = {};
  for (std::size_t i = 0; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += words[i + lane];
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/// The number in a file of /sys.
std::optional<std::uint64_t> ReadNumber(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (!(in >> number)) return std::nullopt;
  return number;
}

/// One thread's data for its own multiplications.
struct GemmOperands {
  static constexpr std::size_t kBlocks = 20, kTokens = 64;  // 2,560 columns: all fits in L2
  AlignedBuffer<std::uint8_t> tiles, scratch;
  AlignedBuffer<std::int8_t> panels;
  AlignedBuffer<std::int32_t> sums, out;

  static Result<GemmOperands> Create() {
    const char* what = "the measurement of the int8 rate";
    GemmOperands o;
    o.tiles = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(
        kernels::kGemmTiles * quant::TileBytes(kBlocks * quant::kTileBlock), what));
    o.scratch = BITTERN_TRY(
        AlignedBuffer<std::uint8_t>::Create(kernels::kGemmTiles * kBlocks * 2048, what));
    o.panels = BITTERN_TRY(
        AlignedBuffer<std::int8_t>::Create(kTokens * kBlocks * quant::kTileBlock, what));
    o.sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(kTokens, what));
    o.out = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(
        kTokens * kernels::kGemmTiles * quant::kTileRows, what));
    return o;
  }
  static constexpr double kMultiplyAdds = static_cast<double>(
      kTokens * kernels::kGemmTiles * quant::kTileRows * kBlocks * quant::kTileBlock);

  void Run(const kernels::Tile16Ops& ops) {
    ops.gemm(tiles.data(), kernels::kGemmTiles, kBlocks, panels.data(), sums.data(), kTokens,
             out.data(), kernels::kGemmTiles * quant::kTileRows, scratch.data());
  }
};

}  // namespace

std::size_t ProbeBytes() {
  constexpr std::size_t kMega = std::size_t{1} << 20;
  const auto available = static_cast<std::size_t>(os::AvailableMemory());
  return available == 0 ? 256 * kMega : std::clamp(available / 4, 16 * kMega, 512 * kMega);
}

/// The buffer should be far larger than the caches, or their speed is measured.
Result<double> MeasureReadBandwidth(ThreadPool& pool, std::size_t bytes) {
  auto buffer = BITTERN_TRY(
      AlignedBuffer<std::uint64_t>::Create(bytes / 8, "the measurement of the bandwidth"));
  const auto share = [&](Team& team) {
    const Range range = team.Share(buffer.size());
    return buffer.span().subspan(range.begin, range.end - range.begin);
  };
  // Each thread makes its own pages, as it would with weights of its own.
  pool.Run([&](Team& team) { std::ranges::fill(share(team), std::uint64_t{1}); });
  std::atomic<std::uint64_t> total{0};  // or the reads would be for nothing, and left out
  std::vector<double> rates;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = Clock::now();
    pool.Run([&](Team& team) {
      const auto words = share(team);
      total += Sum(words.data(), words.size());
    });
    rates.push_back(static_cast<double>(buffer.size() * 8) / Seconds(Clock::now() - start));
  }
  return Median(std::move(rates));
}

/// Each thread has operands of its own. The first runs wake the threads and raise the clock, and
/// the next ones tell how many fill some 20 ms.
Result<double> MeasureInt8Rate(ThreadPool& pool, const kernels::Kernels& kernels) {
  const kernels::Tile16Ops& ops = kernels.tile16();
  std::vector<GemmOperands> operands;
  for (int i = 0; i < pool.size(); ++i) operands.push_back(BITTERN_TRY(GemmOperands::Create()));
  const auto run = [&](int times) {
    const auto start = Clock::now();
    pool.Run([&](Team& team) {
      GemmOperands& mine = operands[static_cast<std::size_t>(team.index())];
      for (int i = 0; i < times; ++i) mine.Run(ops);
    });
    return Seconds(Clock::now() - start);
  };
  static_cast<void>(run(2));
  const double once = std::max(run(8) / 8, 1e-9);
  const int times = std::clamp(static_cast<int>(0.02 / once), 1, 1'000'000);
  std::vector<double> rates;
  for (int pass = 0; pass < kPasses; ++pass) {
    rates.push_back(GemmOperands::kMultiplyAdds * times * pool.size() / run(times));
  }
  return Median(std::move(rates));
}

double RatioOfLeast(const std::function<double()>& a, const std::function<double()>& b) {
  constexpr int kFewest = 5, kMost = 40;
  constexpr double kClose = 1.05;
  double least_a[] = {1e9, 1e9}, least_b[] = {1e9, 1e9};  // the two least, in order
  const auto take = [](double seconds, double* least) {
    if (seconds < least[1]) least[1] = std::max(seconds, least[0]);
    least[0] = std::min(seconds, least[0]);
  };
  const auto close = [](const double* least) { return least[1] <= kClose * least[0]; };
  for (int round = 1; round <= kMost; ++round) {
    take(a(), least_a);
    take(b(), least_b);
    if (round >= kFewest && close(least_a) && close(least_b)) break;
  }
  return least_a[0] / std::max(least_b[0], 1e-9);
}

double MeasureClock() {
  constexpr int kSteps = 2'000'000;
  constexpr double kCyclesOfStep = 6;  // three shifts and three exclusive ors, each on the last
  std::uint64_t x = 88172645463325252u;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kSteps; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
    }
    // A generator of this kind is never 0, but the compiler does not know that.
    if (x == 0) return 0;
    best = std::max(best, kCyclesOfStep * kSteps / Seconds(Clock::now() - start));
  }
  return best;
}

std::optional<double> NominalClock() {
  if (const double highest = os::HighestClock(); highest > 0) return highest;
  const std::string name = CpuName();  // "... CPU @ 2.50GHz"
  const std::size_t at = name.find("@ ");
  if (at == std::string::npos || name.find("GHz", at) == std::string::npos) return std::nullopt;
  const double ghz = std::strtod(name.c_str() + at + 2, nullptr);
  return ghz > 0 ? std::optional(1e9 * ghz) : std::nullopt;
}

std::string CpuName() {
  const std::string name = os::CpuName();
  return name.empty() ? "unknown" : name;
}

std::size_t LastLevelCacheBytes() { return os::LastLevelCacheBytes(); }

std::optional<EnergyMeter> EnergyMeter::Open(const std::filesystem::path& root) {
  EnergyMeter meter;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    // Packages are "intel-rapl:0"; parts of them, "intel-rapl:0:0", would count twice.
    const std::string name = entry.path().filename().string();
    if (name.find("rapl:") == std::string::npos || name.starts_with("intel-rapl-mmio")) continue;
    if (std::ranges::count(name, ':') != 1) continue;
    const auto energy = ReadNumber(entry.path() / "energy_uj");
    if (!energy.has_value()) continue;
    const std::uint64_t range = ReadNumber(entry.path() / "max_energy_range_uj").value_or(0);
    meter.counters_.push_back({entry.path() / "energy_uj", *energy, range});
  }
  if (meter.counters_.empty()) return std::nullopt;
  return meter;
}

/// Counters wrap around at max_energy_range_uj, after minutes to hours at full power.
std::optional<double> EnergyMeter::Take() {
  double joules = 0;
  for (Counter& counter : counters_) {
    const auto now = ReadNumber(counter.file);
    if (!now.has_value()) return std::nullopt;
    const std::uint64_t used = *now >= counter.last_uj ? *now - counter.last_uj
                                                       : *now + counter.range_uj - counter.last_uj;
    joules += 1e-6 * static_cast<double>(used);
    counter.last_uj = *now;
  }
  return joules;
}

}  // namespace bittern::runtime
