// SPDX-License-Identifier: Apache-2.0
// Speed of every kernel that this CPU can run; kernels.def is ordered by it.
//   cmake --preset bench && cmake --build --preset bench && build/bench/kernels_bench
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "kernels/registry.hpp"
#include "quant/layouts/screen_planes.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::kernels {
namespace {

constexpr std::size_t kCols = 2560, kBlocks = kCols / quant::kTileBlock;

/// A few tokens over a matrix of `rows` rows: in cache (256) or streamed from memory (102,400).
template <std::size_t kTokens>
void Gemv(benchmark::State& state, const Tile16Ops& ops) {
  const auto tiles = static_cast<std::size_t>(state.range(0)) / quant::kTileRows;
  const std::vector<std::uint8_t> weights(tiles * quant::TileBytes(kCols), 0x55);
  const std::vector<std::int8_t> acts(kTokens * kCols, 3);
  const std::vector<std::int32_t> sums(kTokens, 3 * kCols);
  std::vector<std::int32_t> out(kTokens * tiles * quant::kTileRows);
  const FewArgs args{.tiles = weights.data(),
                     .num_tiles = tiles,
                     .num_blocks = kBlocks,
                     .acts = acts.data(),
                     .act_stride = kCols,
                     .num_tokens = kTokens,
                     .act_sums = sums.data(),
                     .out = out.data(),
                     .out_stride = tiles * quant::kTileRows};
  for (auto _ : state) {
    ops.gemv(&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kTokens * weights.size()));
}

/// As Gemv, three weights in five bits: 96 rows or 102,432.
void GemvOfTile48(benchmark::State& state, const Tile48Ops& ops) {
  const auto tiles = static_cast<std::size_t>(state.range(0)) / quant::kTile48Rows;
  const std::vector<std::uint8_t> weights(tiles * quant::Tile48Bytes(kCols), 0);
  const std::vector<std::int8_t> act(kCols, 3);
  const std::int32_t sum = 3 * kCols;
  std::vector<std::int32_t> out(tiles * quant::kTile48Rows);
  const FewArgs args{.tiles = weights.data(),
                     .num_tiles = tiles,
                     .num_blocks = kBlocks,
                     .acts = act.data(),
                     .act_stride = kCols,
                     .num_tokens = 1,
                     .act_sums = &sum,
                     .out = out.data(),
                     .out_stride = out.size()};
  for (auto _ : state) {
    ops.gemv(&args);
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

/// Two tiles with scales of groups against a batch: token by token, or all of it.
template <bool kTogether>
void Grouped(benchmark::State& state, const Tile16Ops& ops) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> weights(kGemmTiles * quant::TileBytes(kCols), 0x55);
  const std::vector<std::int8_t> panels((tokens + 7) / 8 * 8 * kCols, 3);
  const std::vector<std::int32_t> sums(2 * kBlocks, 3 * kGroupCols);
  const std::vector<float> act_scales(2 * kBlocks, 0.5f);
  constexpr std::size_t kRows = kGemmTiles * quant::kTileRows;
  const std::vector<float> scales(kRows * kBlocks, 0.25f);
  std::vector<float> out(tokens * kRows);
  std::vector<std::uint8_t> scratch(kRows * kCols);
  std::vector<GroupedToken> each;
  for (std::size_t i = 0; i < tokens; ++i) {
    each.push_back({panels.data() + i / 8 * 8 * kCols + i % 8 * 4, sums.data(), act_scales.data(),
                    out.data() + i * kRows});
  }
  for (auto _ : state) {
    if constexpr (kTogether) {
      const GroupedGemmArgs args{weights.data(), kGemmTiles, kBlocks,       scales.data(), 1, 32,
                                 each.data(),    tokens,     scratch.data()};
      ops.gemm_grouped(&args);
    } else {
      for (const GroupedToken& token : each) {
        const GroupedArgs args{
            weights.data(), kGemmTiles,       kBlocks,   scales.data(), 1, token.act, 32,
            token.act_sums, token.act_scales, token.out, token.low};
        ops.gemv_grouped(&args);
      }
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows * kCols * tokens));
}

/// Rows with scales of groups against one vector of two digits. The rate counts the bytes of Tile16
/// for both layouts, so that rates compare.
template <class Ops>
void GroupedRows(benchmark::State& state, const Ops& ops) {
  constexpr bool kOf48 = std::is_same_v<Ops, Tile48Ops>;
  const auto rows = static_cast<std::size_t>(state.range(0));
  const std::size_t tiles = rows / (kOf48 ? quant::kTile48Rows : quant::kTileRows);
  const std::vector<std::uint8_t> weights(rows * kCols / 4, 0x55);
  const std::vector<std::int8_t> act(kCols, 3);
  const std::vector<std::int32_t> sums(2 * kBlocks, 3 * kGroupCols);
  const std::vector<float> act_scales(2 * kBlocks, 0.5f), scales(rows * kBlocks, 0.25f);
  std::vector<float> out(rows);
  const GroupedToken token{act.data(), sums.data(), act_scales.data(), out.data(), act.data()};
  for (auto _ : state) {
    if constexpr (kOf48) {
      const GroupedGemmArgs args{weights.data(), tiles, kBlocks, scales.data(), 1, 4,
                                 &token,         1,     nullptr};
      ops.gemm_grouped(&args);
    } else {
      const GroupedArgs args{weights.data(), tiles, kBlocks,     scales.data(),     1,
                             act.data(),     4,     sums.data(), act_scales.data(), out.data(),
                             act.data()};
      ops.gemv_grouped(&args);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(weights.size()));
}

/// 1,024 rows against a batch; items are multiply-adds.
void Vlut(benchmark::State& state, const VlutOps& ops) {
  constexpr std::size_t kTiles = 64, kRows = kTiles * quant::kTileRows;
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> weights(kTiles * quant::TileBytes(kCols), 0x62);
  const std::vector<std::int8_t> panels((tokens + 7) / 8 * 8 * kCols, 3);
  std::vector<std::int32_t> out(tokens * kRows);
  auto scratch = AlignedBuffer<std::uint8_t>::Create(VlutScratch(kTiles), "scratch").value();
  const VlutArgs args{weights.data(), kTiles,     kBlocks, panels.data(),
                      tokens,         out.data(), kRows,   scratch.data()};
  for (auto _ : state) {
    ops.gemm(&args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows * kCols * tokens));
}

/// 1,024 rows with scales of groups against a batch of vectors; items are multiply-adds.
void GroupedVlut(benchmark::State& state, const VlutOps& ops) {
  constexpr std::size_t kTiles = 64, kRows = kTiles * quant::kTileRows;
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> weights(kTiles * quant::TileBytes(kCols), 0x62);
  const std::vector<std::int8_t> panels((tokens + 7) / 8 * 8 * kCols, 3);
  const std::vector<float> act_scales(tokens * 2 * kBlocks, 0.5f), scales(kRows * kBlocks, 0.25f);
  std::vector<float> out(tokens * kRows);
  auto scratch = AlignedBuffer<std::uint8_t>::Create(VlutScratch(kTiles), "scratch").value();
  const GroupedVlutArgs args{.tiles = weights.data(),
                             .num_tiles = kTiles,
                             .num_blocks = kBlocks,
                             .weight_scales = scales.data(),
                             .scales_per_block = 1,
                             .panels = panels.data(),
                             .act_scales = act_scales.data(),
                             .act_scales_stride = 2 * kBlocks,
                             .num_tokens = tokens,
                             .digits = 2,
                             .joined = false,
                             .out = out.data(),
                             .out_stride = kRows,
                             .scratch = scratch.data()};
  for (auto _ : state) {
    ops.gemm_grouped(&args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows * kCols * tokens));
}

/// Which of `count` rows or columns are live, as far apart as chance has it: what lies at regular
/// distances, the hardware would fetch by itself.
std::vector<std::uint32_t> Live(std::size_t count, std::uint32_t sixteenths) {
  std::vector<std::uint32_t> live;
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < count; ++i) {
    random = random * 1664525 + 1013904223;
    if (random >> 28 < sixteenths) live.push_back(static_cast<std::uint32_t>(i));
  }
  return live;
}

/// Weights in memory as a model has them.
AlignedBuffer<std::uint8_t> Weights(std::size_t size) {
  auto weights = AlignedBuffer<std::uint8_t>::Create(size, "weights").value();
  std::fill_n(weights.data(), size, std::uint8_t{0x55});
  return weights;
}

/// Half of `rows` rows, read from memory or from the cache; bytes are those of the live ones.
void RowsOf(benchmark::State& state, const SparseOps& ops, From from) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto weights = Weights(rows * kCols / 4);
  const std::vector<std::int8_t> act(kCols, 3);
  const std::vector<std::uint32_t> live = Live(rows, 8);
  std::vector<std::int32_t> out(live.size());
  const RowArgs args{weights.data(), kBlocks,   live.data(), live.size(),
                     act.data(),     3 * kCols, from,        out.data()};
  for (auto _ : state) {
    ops.gemv_rows(&args);
    benchmark::ClobberMemory();
  }
  const std::size_t products = live.size() * kCols;
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(products / 4));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(products));
}
void Rows(benchmark::State& state, const SparseOps& ops) { RowsOf(state, ops, From::kMemory); }
void RowsInCache(benchmark::State& state, const SparseOps& ops) {
  RowsOf(state, ops, From::kCache);
}

/// `rows` rows in the cache, each of which half of eight vectors have chosen.
void SharedRows(benchmark::State& state, const SparseOps& ops) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto weights = Weights(rows * kCols / 4);
  const std::vector<std::int8_t> acts(kRowVectors * OrderedActs(kBlocks), 3);
  const std::vector<std::int32_t> sums(kRowVectors, 3 * kCols);
  std::vector<std::uint8_t> chosen(rows);
  std::uint32_t pairs = 0;
  for (const std::uint32_t pair : Live(rows * kRowVectors, 8)) {
    chosen[pair / kRowVectors] |= static_cast<std::uint8_t>(1u << pair % kRowVectors);
    ++pairs;
  }
  std::vector<std::int32_t> out(kRowVectors * rows);
  const SharedRowArgs args{.rows = weights.data(),
                           .num_blocks = kBlocks,
                           .num_rows = rows,
                           .chosen = chosen.data(),
                           .acts = acts.data(),
                           .act_stride = OrderedActs(kBlocks),
                           .out_stride = rows,
                           .act_sums = sums.data(),
                           .from = From::kCache,
                           .out = out.data()};
  for (auto _ : state) {
    ops.gemv_shared_rows(&args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pairs * kCols));
}

/// A third of `columns` columns of 2,560 rows; bytes are those of the live ones.
void Columns(benchmark::State& state, const SparseOps& ops) {
  constexpr std::size_t kPanels = kCols / quant::kPanelRows;
  constexpr std::size_t kColumnBytes = kPanels * quant::kPanelLineBytes;
  const auto columns = static_cast<std::size_t>(state.range(0));
  const auto weights = Weights(columns * kColumnBytes);
  const std::vector<std::int8_t> act(columns, 3);
  const std::vector<std::uint32_t> live = Live(columns, 5);
  std::vector<std::int32_t> sums(kPanels * quant::kPanelRows);
  const ColumnArgs args{weights.data(), kPanels, live.data(), live.size(),
                        act.data(),     columns, 1,           sums.data()};
  for (auto _ : state) {
    ops.gemv_columns(&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(live.size() * kColumnBytes));
}

/// A panel of `columns` columns in the cache, a third of them live; multiply-adds of these.
void Panel(benchmark::State& state, const SparseOps& ops) {
  const auto columns = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> lines(columns * quant::kPanelLineBytes, 0x55);
  const std::vector<std::int8_t> act(columns, 3);
  const std::vector<std::uint32_t> live = Live(columns, 5);
  std::vector<std::int32_t> sums(quant::kPanelRows);
  const ColumnArgs args{lines.data(), 1,       live.data(), live.size(),
                        act.data(),   columns, 1,           sums.data()};
  for (auto _ : state) {
    ops.gemv_columns(&args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(live.size() * quant::kPanelRows));
}

/// The first four bits of `rows` rows of an output head.
void Scan(benchmark::State& state, const ScreenOps& ops) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const std::size_t tiles = rows / quant::kTileRows;
  const std::vector<std::uint8_t> planes(tiles * quant::NibbleTileBytes(kCols), 0x55);
  const std::vector<std::int8_t> half(kCols, 3);
  const std::vector<float> steps(rows, 1);
  std::vector<float> estimates(rows), best(tiles);
  const ScanArgs args{planes.data(), tiles,        kCols, half.data(),      half.data(), 3 * kCols,
                      3 * kCols,     steps.data(), 1.0f,  estimates.data(), best.data()};
  for (auto _ : state) {
    ops.scan(&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(planes.size()));
}

/// The fifth bit of all of them.
void ScanBits(benchmark::State& state, const ScreenOps& ops) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const std::size_t tiles = rows / quant::kTileRows;
  const std::vector<std::uint8_t> planes(tiles * quant::BitTileBytes(kCols), 0x55);
  const std::vector<std::int8_t> half(kCols, 3);
  const std::vector<float> steps(rows, 1);
  std::vector<float> estimates(rows);
  std::vector<std::uint32_t> live(tiles);
  for (std::size_t t = 0; t < tiles; ++t) live[t] = static_cast<std::uint32_t>(t);
  const BitScanArgs args{planes.data(), kCols,        live.data(), tiles,           half.data(),
                         3 * kCols,     steps.data(), 1e-9f,       estimates.data()};
  for (auto _ : state) {
    ops.scan_bits(&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(planes.size()));
}

/// One key-value head of 128 numbers whose four query heads look at `positions` tokens; bytes are
/// those of keys and values.
void Attention(benchmark::State& state, const FloatOps& ops) {
  constexpr std::size_t kHeadDim = 128, kQueries = 4;
  const auto positions = static_cast<std::size_t>(state.range(0));
  const std::vector<float> queries(kQueries * kHeadDim, 0.1f);
  const std::vector<std::uint16_t> keys(positions * kHeadDim), values(positions * kHeadDim);
  std::vector<float> out(kQueries * kHeadDim), scratch(AttentionScratch(positions + 1, kHeadDim));
  const AttentionArgs args{.queries = queries.data(),
                           .out = out.data(),
                           .query_stride = kQueries * kHeadDim,
                           .out_stride = kQueries * kHeadDim,
                           .keys = keys.data(),
                           .values = values.data(),
                           .key_scales = nullptr,
                           .value_scales = nullptr,
                           .pages = nullptr,
                           .scratch = scratch.data(),
                           .num_tokens = 1,
                           .num_queries = kQueries,
                           .head_dim = kHeadDim,
                           .num_positions = positions,
                           .window = 0,
                           .scale = 0.1f,
                           .element = KvElement::kF16};
  for (auto _ : state) {
    ops.attention(&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(2 * positions * kHeadDim * 2));
}

const bool kRegistered = [] {
  for (const KernelInfo* kernel : AllKernels()) {
    if (!Supports(kernel->isa)) continue;
    const auto add = [&](const char* what, auto function, const auto& ops, int small, int large) {
      const std::string name = std::string(kernel->name) + "/" + what;
      benchmark::RegisterBenchmark(name.c_str(), function, ops)->Arg(small)->Arg(large);
    };
    if (kernel->tile16 != nullptr) {  // in cache, and streamed from memory
      add("gemv", Gemv<1>, *kernel->tile16, 256, 102400);
      add("gemv4", Gemv<4>, *kernel->tile16, 256, 102400);
      add("gemm", Gemm, *kernel->tile16, 8, 512);
      for (const int few : {2, 4}) {
        add("grouped", Grouped<false>, *kernel->tile16, few, 128);
        add("grouped_gemm", Grouped<true>, *kernel->tile16, few, 128);
      }
    }
    if (kernel->vlut != nullptr) {
      add("vlut", Vlut, *kernel->vlut, 16, 32);
      add("grouped_vlut", GroupedVlut, *kernel->vlut, 16, 32);
    }
    if (kernel->tile16 != nullptr) {
      add("grouped_rows", GroupedRows<Tile16Ops>, *kernel->tile16, 96, 102432);
    }
    if (kernel->tile48 != nullptr) {
      add("gemv48", GemvOfTile48, *kernel->tile48, 96, 102432);
      add("grouped_rows48", GroupedRows<Tile48Ops>, *kernel->tile48, 96, 102432);
    }
    if (kernel->sparse != nullptr) {
      add("rows", Rows, *kernel->sparse, 512, 102400);
      add("columns", Columns, *kernel->sparse, 512, 102400);
      add("rows_in_cache", RowsInCache, *kernel->sparse, 32, 96);
      add("shared_rows", SharedRows, *kernel->sparse, 32, 96);
      add("panel", Panel, *kernel->sparse, 2560, 6912);
    }
    if (kernel->screen != nullptr) {
      add("scan", Scan, *kernel->screen, 128, 51200);
      add("scan_bits", ScanBits, *kernel->screen, 128, 51200);
    }
    if (kernel->float32 != nullptr) add("attention", Attention, *kernel->float32, 64, 4096);
  }
  return true;
}();

}  // namespace
}  // namespace bittern::kernels
