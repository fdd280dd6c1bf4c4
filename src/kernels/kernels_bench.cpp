// SPDX-License-Identifier: Apache-2.0
// Speed of every ternary kernel that this CPU can run; kernels.def is ordered by it.
//   cmake --preset bench && cmake --build --preset bench && build/bench/kernels_bench
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "quant/tile16.hpp"

namespace bittern::kernels {
namespace {

constexpr std::size_t kCols = 2560, kBlocks = kCols / quant::kTileBlock;

/// One token over a matrix of `rows` rows: in cache (256) or streamed from memory (102,400).
void Gemv(benchmark::State& state, const Tile16Ops& ops) {
  const auto tiles = static_cast<std::size_t>(state.range(0)) / quant::kTileRows;
  const std::vector<std::uint8_t> weights(tiles * quant::TileBytes(kCols), 0x55);
  const std::vector<std::int8_t> act(kCols, 3);
  std::vector<std::int32_t> out(tiles * quant::kTileRows);
  for (auto _ : state) {
    ops.gemv(weights.data(), tiles, kBlocks, act.data(), 3 * kCols, out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(weights.size()));
}

/// Two tiles against a batch; items are multiply-adds.
void Gemm(benchmark::State& state, const Tile16Ops& ops) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> weights(kGemmTiles * quant::TileBytes(kCols), 0x55);
  const std::vector<std::int8_t> panels((tokens + 7) / 8 * 8 * kCols, 3);
  const std::vector<std::int32_t> sums(tokens, 3 * kCols);
  constexpr std::size_t kRows = kGemmTiles * quant::kTileRows;
  std::vector<std::int32_t> out(tokens * kRows);
  std::vector<std::uint8_t> scratch(kRows * kCols);
  for (auto _ : state) {
    ops.gemm(weights.data(), kGemmTiles, kBlocks, panels.data(), sums.data(), tokens, out.data(),
             kRows, scratch.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows * kCols * tokens));
}

const bool kRegistered = [] {
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->tile16 == nullptr || !Supports(kernel->isa)) continue;
    const Tile16Ops& ops = *kernel->tile16;
    const std::string name = kernel->name;
    benchmark::RegisterBenchmark((name + "/gemv").c_str(), Gemv, ops)->Arg(256)->Arg(102400);
    benchmark::RegisterBenchmark((name + "/gemm").c_str(), Gemm, ops)->Arg(8)->Arg(512);
  }
  return true;
}();

}  // namespace
}  // namespace bittern::kernels
