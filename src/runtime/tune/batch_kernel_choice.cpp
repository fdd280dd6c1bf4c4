// SPDX-License-Identifier: Apache-2.0
// The measurement runs on weights that stay in cache, as the weights of a piece do for all tokens
// of a batch. Both kernels take turns, so that a change of the clock meets both.
#include "runtime/tune/batch_kernel_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "kernels/registry.hpp"
#include "model/matrix_layout.hpp"
#include "quant/layouts/tile16.hpp"
#include "runtime/tune/machine_probe.hpp"

namespace bittern::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::kGemmTiles;

constexpr std::size_t kBlocks = 20, kCols = kBlocks * quant::kTileBlock;
constexpr std::size_t kGroups = kCols / kernels::kGroupCols;
constexpr std::size_t kTiles = 66, kRows = kTiles * quant::kTileRows;
constexpr std::size_t kTokens = kernels::kVlutTokens;
constexpr std::uint64_t kWorthMeasuring = std::uint64_t{64} << 20;  // bytes of weights

/// One thread's data for its own multiplications. The time does not depend on the values.
struct Operands {
  AlignedBuffer<std::uint8_t> tiles, codes, scratch;
  AlignedBuffer<std::int8_t> panels;
  AlignedBuffer<std::int32_t> sums, out;
  AlignedBuffer<float> scales, act_scales, totals;  // of groups
  std::vector<kernels::GroupedToken> tokens = std::vector<kernels::GroupedToken>(kTokens / 2);

  static Result<Operands> Create() {
    const char* what = "the measurement of batches";
    Operands o;
    o.tiles =
        BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(kTiles * quant::TileBytes(kCols), what));
    std::fill(o.tiles.data(), o.tiles.data() + o.tiles.size(), std::uint8_t{0x62});
    o.codes = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(kGemmTiles * kBlocks * 2048, what));
    o.scratch =
        BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(kernels::VlutScratch(kTiles), what));
    o.panels = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(kTokens * kCols, what));
    o.sums = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(std::max(kTokens, kGroups), what));
    o.out = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(kTokens * kRows, what));
    o.scales = BITTERN_TRY(AlignedBuffer<float>::Create(kRows * kBlocks, what));
    o.act_scales = BITTERN_TRY(AlignedBuffer<float>::Create(kTokens * kGroups, what));
    o.totals = BITTERN_TRY(AlignedBuffer<float>::Create(kTokens * kRows, what));
    return o;
  }
  void Multiply(const kernels::Kernels& kernels) {
    constexpr std::size_t kStride = kGemmTiles * quant::kTileRows;
    for (std::size_t tile = 0; tile < kTiles; tile += kGemmTiles) {
      kernels.tile16().gemm(tiles.data() + tile * quant::TileBytes(kCols), kGemmTiles, kBlocks,
                            panels.data(), sums.data(), kTokens, out.data(), kStride, codes.data());
    }
  }
  /// The same with scales of groups, of half as many tokens of two digits.
  void MultiplyGroups(const kernels::Kernels& kernels) {
    // Most matrices of that kind are kept in tiles of 48 rows where a kernel takes batches of them.
    const bool of_48 = kernels.tile48().most_grouped >= kTokens;
    const std::size_t at_once = of_48 ? 3 : kGemmTiles;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::size_t vector = 2 * i;
      const std::int8_t* act = panels.data() +
                               vector / kernels::kPanelTokens * kernels::kPanelTokens * kCols +
                               vector % kernels::kPanelTokens * 4;
      tokens[i] = {.act = act,
                   .act_sums = sums.data(),
                   .act_scales = act_scales.data() + i * kGroups,
                   .out = totals.data() + i * kRows,
                   .low = act + 4};
    }
    for (std::size_t tile = 0; tile < kTiles; tile += at_once) {
      const kernels::GroupedGemmArgs args{
          .tiles = tiles.data() + tile * quant::TileBytes(kCols),
          .num_tiles = of_48 ? 1 : at_once,
          .num_blocks = kBlocks,
          .weight_scales = scales.data() + tile * quant::kTileRows * kBlocks,
          .scales_per_block = 1,
          .act_stride = 4 * kernels::kPanelTokens,
          .tokens = tokens.data(),
          .num_tokens = tokens.size(),
          .scratch = codes.data()};
      (of_48 ? kernels.tile48().gemm_grouped : kernels.tile16().gemm_grouped)(&args);
    }
  }
  /// That by vlut's look-up tables.
  void LookUpGroups(const kernels::Kernels& kernels) {
    const kernels::GroupedVlutArgs args{.tiles = tiles.data(),
                                        .num_tiles = kTiles,
                                        .num_blocks = kBlocks,
                                        .weight_scales = scales.data(),
                                        .scales_per_block = 1,
                                        .panels = panels.data(),
                                        .act_scales = act_scales.data(),
                                        .act_scales_stride = kGroups,
                                        .num_tokens = kTokens,
                                        .digits = 2,
                                        .joined = false,
                                        .out = totals.data(),
                                        .out_stride = kRows,
                                        .scratch = scratch.data()};
    kernels.vlut().gemm_grouped(&args);
  }
  /// The product without groups by those tables.
  void LookUp(const kernels::Kernels& kernels) {
    const kernels::VlutArgs args{.tiles = tiles.data(),
                                 .num_tiles = kTiles,
                                 .num_blocks = kBlocks,
                                 .panels = panels.data(),
                                 .num_tokens = kTokens,
                                 .out = out.data(),
                                 .out_stride = kRows,
                                 .scratch = scratch.data()};
    kernels.vlut().gemm(&args);
  }
};

}  // namespace

Result<double> MeasureVlutGain(ThreadPool& pool, const kernels::Kernels& kernels, ScaleKind kind) {
  std::vector<Operands> operands;
  for (int i = 0; i < pool.size(); ++i) operands.push_back(BITTERN_TRY(Operands::Create()));
  const auto seconds = [&](auto run) {
    const auto start = Clock::now();
    pool.Run([&](Team& team) { (operands[static_cast<std::size_t>(team.index())].*run)(kernels); });
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const bool groups = kind == ScaleKind::kOfGroups;
  const auto multiply = groups ? &Operands::MultiplyGroups : &Operands::Multiply;
  const auto look_up = groups ? &Operands::LookUpGroups : &Operands::LookUp;
  seconds(multiply);  // pages and clocks
  return RatioOfLeast([&] { return seconds(multiply); }, [&] { return seconds(look_up); });
}

/// Small models take the kernel's usual gain without a measurement, which would cost more than it
/// gives.
BatchKernelChoice ChooseBatchKernel(std::uint64_t ternary_bytes, ScaleKind kind,
                                    const kernels::Kernels& kernels, ThreadPool& pool,
                                    const LayoutCache& cache) {
  const bool groups = kind == ScaleKind::kOfGroups;
  const std::string of = fmt::format("{} beside {}{}", kernels.vlut_info->name,
                                     kernels.tile16_info->name, groups ? ", groups" : "");
  if (ternary_bytes < kWorthMeasuring) {
    const bool same = kernels.vlut_info->isa == kernels.tile16_info->isa;
    const kernels::VlutOps& tables = kernels.vlut();
    const double gain = same ? static_cast<double>(groups ? tables.grouped_gain : tables.gain) : 0;
    return {gain, fmt::format("{}: {:.2f} times as fast as a rule", of, gain)};
  }
  // The number counts the versions of the kernels that were measured, and the ways to measure.
  const std::string machine = fmt::format("{}, {} threads, {}, 5", CpuName(), pool.size(), of);
  const auto known = cache.Find(machine);
  const auto gain = known ? Result<double>(*known) : MeasureVlutGain(pool, kernels, kind);
  if (!gain) return {0, "no memory to measure others"};
  const bool kept = known || cache.Keep(machine, *gain);
  const std::string where = kept ? "kept in " + cache.file().string() : "not kept";
  return {*gain, fmt::format("{}: {:.2f} times as fast here; {}, {}", of, *gain,
                             known ? "measured before" : "measured now", where)};
}

}  // namespace bittern::runtime
