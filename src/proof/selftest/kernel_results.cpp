// SPDX-License-Identifier: Apache-2.0
// The operations on ternary matrices. Inputs are random and, for sums that could overflow a narrow
// accumulator, extreme. One thread.
#include "proof/selftest/kernel_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "quant/layouts/lut32.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"
#include "quant/layouts/tile48.hpp"

namespace bittern::proof {
namespace {

using kernels::LutOps;
using quant::LutKind;

constexpr std::size_t kCols = 2560, kBlocks = kCols / quant::kTileBlock;

std::int32_t SumOf(std::span<const std::int8_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int32_t{0});
}

/// Random activations, then two vectors of extremes.
std::vector<std::vector<std::int8_t>> Activations(std::size_t count, Random* random) {
  return {RandomBytes(count, random), std::vector<std::int8_t>(count, 127),
          std::vector<std::int8_t>(count, -128)};
}

/// Random matrices of 16 rows, packed for tile16.
std::vector<std::uint8_t> Tiles16(std::size_t tiles, Random* random) {
  std::vector<std::uint8_t> out(tiles * quant::TileBytes(kCols));
  for (std::size_t t = 0; t < tiles; ++t) {
    const auto codes = RandomCodes(quant::kTileRows * kCols, random);
    quant::PackTile(codes.data(), quant::kTileRows, kCols,
                    out.data() + t * quant::TileBytes(kCols));
  }
  return out;
}

/// A lookup-table kernel: tables are built of the activations, then multiplied.
void RunLut(const LutOps& ops, LutKind kind, KernelResults* results) {
  Random random(3);
  constexpr std::size_t kTiles = 2, kRows = quant::kLutRows;
  const std::size_t steps = quant::LutSteps(kind, kCols), bytes = quant::LutTileBytes(kind, kCols);
  std::vector<std::uint8_t> tiles(kTiles * bytes);
  for (std::size_t t = 0; t < kTiles; ++t) {
    const auto codes = RandomCodes(kRows * kCols, &random);
    quant::PackLutTile(kind, codes.data(), kRows, kCols, tiles.data() + t * bytes);
  }
  const std::size_t table_bytes =
      kind == LutKind::kTl1 ? kernels::kTl1TableBytes : kernels::kTl2TableBytes;
  for (auto act : Activations(kCols, &random)) {
    act.resize(steps * quant::LutStepCols(kind));
    std::vector<std::uint8_t> tables(steps * table_bytes);
    std::vector<std::int32_t> out(kTiles * kRows);
    ops.build(act.data(), steps, tables.data());
    ops.gemv(tiles.data(), kTiles, steps, tables.data(), out.data());
    results->Add("gemv", std::span<const std::int32_t>(out));
  }
}

/// Scales by groups of columns, one or two a block.
void RunGrouped(const kernels::Tile16Ops& ops, const std::vector<std::uint8_t>& tiles,
                std::span<const std::int8_t> act, Random* random, KernelResults* results) {
  constexpr std::size_t kTiles = 2, kGroups = kBlocks * 2;
  auto weight_scales = RandomFloats(kTiles * kBlocks * 2 * quant::kTileRows, random);
  auto act_scales = RandomFloats(kGroups, random);
  std::vector<std::int32_t> sums(kGroups);
  for (std::size_t c = 0; c < act.size(); ++c) sums[c / kernels::kGroupCols] += act[c];
  for (const std::size_t scales : {1u, 2u}) {
    std::vector<float> out(kTiles * quant::kTileRows);
    const kernels::GroupedArgs args{.tiles = tiles.data(),
                                    .num_tiles = kTiles,
                                    .num_blocks = kBlocks,
                                    .weight_scales = weight_scales.data(),
                                    .scales_per_block = scales,
                                    .act = act.data(),
                                    .act_stride = 4,
                                    .act_sums = sums.data(),
                                    .act_scales = act_scales.data(),
                                    .out = out.data(),
                                    .low = nullptr};
    ops.gemv_grouped(&args);
    results->Add("gemv_grouped", std::span<const float>(out));
    kernels::GroupedArgs both = args;
    both.low = act.data();
    ops.gemv_grouped(&both);
    results->Add("gemv_grouped", std::span<const float>(out));
  }
}

/// The same of Tile48, for one to five tokens.
void RunGemmGrouped(const kernels::Tile48Ops& ops, const std::vector<std::uint8_t>& tiles,
                    Random* random, KernelResults* results) {
  constexpr std::size_t kTiles = 2, kGroups = kBlocks * 2, kTokens = 5;
  constexpr std::size_t kRows = kTiles * quant::kTile48Rows;
  const auto weight_scales = RandomFloats(kRows * kBlocks * 2, random);
  const auto act_scales = RandomFloats(kTokens * kGroups, random);
  const auto acts = RandomBytes(kTokens * kCols, random);
  std::vector<std::int32_t> sums(kTokens * kGroups);
  for (std::size_t i = 0; i < acts.size(); ++i) {
    sums[i / kCols * kGroups + i % kCols / kernels::kGroupCols] += acts[i];
  }
  std::vector<float> out(kTokens * kRows);
  std::vector<kernels::GroupedToken> tokens;
  for (std::size_t i = 0; i < kTokens; ++i) {
    tokens.push_back({acts.data() + i * kCols, sums.data() + i * kGroups,
                      act_scales.data() + i * kGroups, out.data() + i * kRows});
  }
  for (const std::size_t scales : {1u, 2u}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, kTokens}) {
      const kernels::GroupedGemmArgs args{.tiles = tiles.data(),
                                          .num_tiles = kTiles,
                                          .num_blocks = kBlocks,
                                          .weight_scales = weight_scales.data(),
                                          .scales_per_block = scales,
                                          .act_stride = 4,
                                          .tokens = tokens.data(),
                                          .num_tokens = count,
                                          .scratch = nullptr};
      ops.gemm_grouped(&args);
      results->Add("gemm_grouped", std::span<const float>(out).first(count * kRows));
    }
  }
}

/// Places below `end`, each 1 to `most` behind the one before, from 0.
std::vector<std::uint32_t> RandomPlaces(std::size_t end, unsigned most, Random* random) {
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < end; i += 1 + (*random)() % most) {
    places.push_back(static_cast<std::uint32_t>(i));
  }
  return places;
}

/// Products of eight vectors with rows that some of them choose.
void RunSharedRows(const kernels::SparseOps& ops, const std::vector<std::uint8_t>& packed,
                   std::size_t rows, Random* random, KernelResults* results) {
  const std::size_t stride = kernels::OrderedActs(kBlocks);
  std::vector<std::int8_t> ordered(kernels::kRowVectors * stride);
  std::vector<std::int32_t> sums;
  for (std::size_t v = 0; v < kernels::kRowVectors; ++v) {
    const auto act = RandomBytes(kCols, random);
    ops.order_acts(act.data(), kBlocks, ordered.data() + v * stride);
    sums.push_back(SumOf(act));
  }
  std::vector<std::uint8_t> chosen(rows);
  for (auto& of_row : chosen) of_row = static_cast<std::uint8_t>((*random)());
  std::vector<std::int32_t> out(kernels::kRowVectors * rows);
  const kernels::SharedRowArgs args{.rows = packed.data(),
                                    .num_blocks = kBlocks,
                                    .num_rows = rows,
                                    .chosen = chosen.data(),
                                    .acts = ordered.data(),
                                    .act_stride = stride,
                                    .out_stride = rows,
                                    .act_sums = sums.data(),
                                    .from = kernels::From::kBoth,
                                    .out = out.data()};
  ops.gemv_shared_rows(&args);
  results->Add("gemv_shared_rows", std::span<const std::int32_t>(out));
}

/// Products with some rows only, under each hint about where the weights lie; then a tile of rows.
void RunRows(const kernels::SparseOps& ops, const std::vector<std::uint8_t>& packed,
             std::size_t rows, Random* random, KernelResults* results) {
  const auto live = RandomPlaces(rows, 3, random);
  for (const auto& act : Activations(kCols, random)) {
    std::vector<std::int8_t> ordered(kernels::OrderedActs(kBlocks));
    ops.order_acts(act.data(), kBlocks, ordered.data());
    for (const auto from : {kernels::From::kMemory, kernels::From::kBoth, kernels::From::kCache}) {
      std::vector<std::int32_t> out(live.size());
      const kernels::RowArgs args{packed.data(),  kBlocks,    live.data(), live.size(),
                                  ordered.data(), SumOf(act), from,        out.data()};
      ops.gemv_rows(&args);
      results->Add("gemv_rows", std::span<const std::int32_t>(out));
    }
  }
  RunSharedRows(ops, packed, rows, random, results);
  std::vector<std::uint8_t> tile(quant::TileBytes(kCols));
  ops.tile_of_rows(packed.data(), kBlocks, tile.data());
  results->Add("tile_of_rows", std::span<const std::uint8_t>(tile));
}

/// Products with some columns only, for one to four tokens; then tiles made of columns.
void RunColumns(const kernels::SparseOps& ops, const std::vector<std::uint8_t>& packed,
                std::size_t rows, Random* random, KernelResults* results) {
  const std::size_t panels = rows / quant::kPanelRows;
  const std::size_t column_bytes = panels * quant::kPanelLineBytes;
  std::vector<std::uint8_t> columns(kCols * column_bytes);
  for (std::size_t p = 0; p < panels; ++p) {
    quant::PackPanel(packed.data() + p * quant::kPanelRows * kCols / 4, quant::kPanelRows, kBlocks,
                     columns.data() + p * quant::kPanelLineBytes, column_bytes);
  }
  const auto live = RandomPlaces(kCols, 4, random);
  for (const std::size_t tokens : {1u, 3u, 4u}) {
    const auto acts = RandomBytes(tokens * kCols, random);
    std::vector<std::int32_t> sums(tokens * rows);
    const kernels::ColumnArgs args{columns.data(), panels, live.data(), live.size(),
                                   acts.data(),    kCols,  tokens,      sums.data()};
    ops.gemv_columns(&args);
    results->Add("gemv_columns", std::span<const std::int32_t>(sums));
  }
  std::vector<std::uint8_t> tiles(16 * quant::TileBytes(kCols));
  ops.tiles_of_columns(columns.data(), column_bytes, kBlocks, tiles.data());
  results->Add("tiles_of_columns", std::span<const std::uint8_t>(tiles));
}

}  // namespace

std::vector<std::uint8_t> RandomCodes(std::size_t count, Random* random) {
  std::vector<std::uint8_t> codes(count);
  for (auto& code : codes) code = static_cast<std::uint8_t>((*random)() % 3);
  return codes;
}

std::vector<std::int8_t> RandomBytes(std::size_t count, Random* random) {
  std::vector<std::int8_t> values(count);
  for (auto& value : values) {
    value = static_cast<std::int8_t>(static_cast<int>((*random)() % 256) - 128);
  }
  return values;
}

/// Floats from -2 to 2 of 24 bits, about one in 16 a zero.
std::vector<float> RandomFloats(std::size_t count, Random* random) {
  std::vector<float> values(count);
  for (float& value : values) {
    const auto bits = (*random)();
    value = bits % 16 == 0 ? 0.0f
                           : static_cast<float>(static_cast<int>(bits >> 8) - (1 << 23)) * 0x1p-22f;
  }
  return values;
}

/// Compares bytes, so that NaN and the sign of zero count. Empty where all are the same.
std::string CompareResults(const KernelResults& expected, const KernelResults& found) {
  std::string text;
  for (std::size_t i = 0; i < expected.parts.size(); ++i) {
    const auto &want = expected.parts[i], &got = found.parts[i];
    if (want.values.size() != got.values.size()) {
      text +=
          fmt::format("{}{}: {} values expected, {} found", text.empty() ? "" : "; ", want.function,
                      want.values.size() / want.size, got.values.size() / want.size);
      continue;
    }
    std::size_t differing = 0;
    for (std::size_t at = 0; at < want.values.size(); at += want.size) {
      differing += std::memcmp(&want.values[at], &got.values[at], want.size) != 0 ? 1 : 0;
    }
    if (differing == 0) continue;
    text += fmt::format("{}{}: {} of {} values differ", text.empty() ? "" : "; ", want.function,
                        differing, want.values.size() / want.size);
  }
  return text;
}

/// Tiles of as many rows.
struct TilesOf {
  const std::uint8_t* tiles;
  std::size_t count, rows;
};

/// Adds the sums of the first vectors of kCols activations.
void RunGemv(void (*gemv)(const kernels::FewArgs*), const TilesOf& of,
             std::span<const std::int8_t> acts, std::size_t tokens, KernelResults* results) {
  std::vector<std::int32_t> sums(tokens), out(tokens * of.count * of.rows);
  for (std::size_t t = 0; t < tokens; ++t) sums[t] = SumOf(acts.subspan(t * kCols, kCols));
  const kernels::FewArgs args{.tiles = of.tiles,
                              .num_tiles = of.count,
                              .num_blocks = kBlocks,
                              .acts = acts.data(),
                              .act_stride = kCols,
                              .num_tokens = tokens,
                              .act_sums = sums.data(),
                              .out = out.data(),
                              .out_stride = of.count * of.rows};
  gemv(&args);
  results->Add("gemv", std::span<const std::int32_t>(out));
}

/// Sizes that fill no panel of tokens are among them: the padding must not change a sum.
void RunTile16(const kernels::Tile16Ops& ops, KernelResults* results) {
  Random random(1);
  constexpr std::size_t kTiles = 3, kTokens = 11;
  const auto tiles = Tiles16(kTiles, &random);
  for (const auto& act : Activations(kCols, &random)) {
    RunGemv(ops.gemv, {tiles.data(), kTiles, quant::kTileRows}, act, 1, results);
    RunGrouped(ops, tiles, act, &random, results);
  }
  for (const auto& acts : Activations(5 * kCols, &random)) {
    for (const std::size_t tokens : {2u, 3u, 5u}) {
      RunGemv(ops.gemv, {tiles.data(), kTiles, quant::kTileRows}, acts, tokens, results);
    }
  }
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{3}, kTokens}) {
    const std::size_t panels = (tokens + kernels::kPanelTokens - 1) / kernels::kPanelTokens;
    auto acts = RandomBytes(panels * kernels::kPanelTokens * kCols, &random);
    std::vector<std::int32_t> sums(tokens);
    for (std::size_t i = 0; i < acts.size(); ++i) {
      const std::size_t token = i / (kernels::kPanelTokens * kCols) * kernels::kPanelTokens +
                                i / 4 % kernels::kPanelTokens;
      if (token < tokens) {
        sums[token] += acts[i];
      } else {
        acts[i] = 0;
      }
    }
    constexpr std::size_t kRows = kernels::kGemmTiles * quant::kTileRows;
    std::vector<std::int32_t> out(tokens * kRows);
    std::vector<std::uint8_t> scratch(kernels::kGemmTiles * kBlocks * 2048);
    ops.gemm(tiles.data(), kernels::kGemmTiles, kBlocks, acts.data(), sums.data(), tokens,
             out.data(), kRows, scratch.data());
    results->Add("gemm", std::span<const std::int32_t>(out));
  }
}

/// One to three tokens at a time, and the way back to tile16.
void RunTile48(const kernels::Tile48Ops& ops, KernelResults* results) {
  Random random(2);
  constexpr std::size_t kTiles = 2, kRows = quant::kTile48Rows;
  std::vector<std::uint8_t> tiles(kTiles * quant::Tile48Bytes(kCols));
  for (std::size_t t = 0; t < kTiles; ++t) {
    const auto codes = RandomCodes(kRows * kCols, &random);
    quant::PackTile48(codes.data(), kRows, kCols, tiles.data() + t * quant::Tile48Bytes(kCols));
  }
  for (const auto& act : Activations(3 * kCols, &random)) {
    for (const std::size_t tokens : {1u, 2u, 3u}) {
      RunGemv(ops.gemv, {tiles.data(), kTiles, kRows}, act, tokens, results);
    }
  }
  RunGemmGrouped(ops, tiles, &random, results);
  std::vector<std::uint8_t> made(3 * quant::TileBytes(kCols));
  ops.to_tile16(tiles.data(), kBlocks, made.data());
  results->Add("to_tile16", std::span<const std::uint8_t>(made));
}

namespace {

/// Ways to see the vectors of a call as tokens.
struct DigitsOfTokens {
  std::size_t digits;
  bool joined;
};

/// The vectors of a call with scales of groups, as tokens of one digit, and of two where they pair.
void RunGroups(const kernels::VlutOps& ops, const kernels::VlutArgs& of, Random* random,
               KernelResults* results) {
  constexpr std::size_t kGroups = kCols / kernels::kGroupCols;
  const std::size_t rows = of.num_tiles * quant::kTileRows;
  const auto act_scales = RandomFloats(of.num_tokens * kGroups, random);
  // Joined digits are small numbers: the high ones, every second vector of a panel, at most 1.
  const std::size_t vectors =
      (of.num_tokens + kernels::kPanelTokens - 1) / kernels::kPanelTokens * kernels::kPanelTokens;
  std::vector<std::int8_t> small(of.panels, of.panels + vectors * kCols);
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (i / 4 % 2 == 0) small[i] = static_cast<std::int8_t>(small[i] % 2);
  }
  for (const auto& [digits, joined] : {DigitsOfTokens{1, false}, {2, false}, {2, true}}) {
    if (of.num_tokens % digits != 0) continue;
    const auto weight_scales = RandomFloats(rows * kBlocks * digits, random);
    std::vector<float> out(of.num_tokens / digits * rows);
    const kernels::GroupedVlutArgs args{.tiles = of.tiles,
                                        .num_tiles = of.num_tiles,
                                        .num_blocks = of.num_blocks,
                                        .weight_scales = weight_scales.data(),
                                        .scales_per_block = digits,
                                        .panels = joined ? small.data() : of.panels,
                                        .act_scales = act_scales.data(),
                                        .act_scales_stride = kGroups,
                                        .num_tokens = of.num_tokens,
                                        .digits = digits,
                                        .joined = joined,
                                        .out = out.data(),
                                        .out_stride = rows,
                                        .scratch = of.scratch};
    ops.gemm_grouped(&args);
    results->Add("gemm_grouped", std::span<const float>(out));
  }
}

}  // namespace

/// -128 is taken out of the activations, which this kernel does not allow.
void RunVlut(const kernels::VlutOps& ops, KernelResults* results) {
  Random random(5);
  constexpr std::size_t kTiles = 3, kRows = kTiles * quant::kTileRows;
  const auto tiles = Tiles16(kTiles, &random);
  std::vector<std::uint8_t> scratch(kernels::VlutScratch(kTiles));
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{11}, kernels::kVlutTokens}) {
    auto panels = RandomBytes((tokens + 7) / 8 * kernels::kPanelTokens * kCols, &random);
    std::ranges::replace(panels, std::int8_t{-128}, std::int8_t{-127});
    std::vector<std::int32_t> out(tokens * kRows);
    const kernels::VlutArgs args{.tiles = tiles.data(),
                                 .num_tiles = kTiles,
                                 .num_blocks = kBlocks,
                                 .panels = panels.data(),
                                 .num_tokens = tokens,
                                 .out = out.data(),
                                 .out_stride = kRows,
                                 .scratch = scratch.data()};
    ops.gemm(&args);
    results->Add("gemm", std::span<const std::int32_t>(out));
    RunGroups(ops, args, &random, results);
  }
}

void RunTl1(const LutOps& ops, KernelResults* results) { RunLut(ops, LutKind::kTl1, results); }
void RunTl2(const LutOps& ops, KernelResults* results) { RunLut(ops, LutKind::kTl2, results); }

/// Rows, columns, and the two searches for what is not zero, at sizes around a vector's.
void RunSparse(const kernels::SparseOps& ops, KernelResults* results) {
  Random random(4);
  constexpr std::size_t kRows = 2 * quant::kPanelRows;
  const auto codes = RandomCodes(kRows * kCols, &random);
  std::vector<std::uint8_t> packed(codes.size() / 4);
  for (std::size_t at = 0; at < codes.size(); at += quant::kTileRows * kCols) {
    quant::PackRows(codes.data() + at, quant::kTileRows, kCols, packed.data() + at / 4);
  }
  RunRows(ops, packed, kRows, &random, results);
  RunColumns(ops, packed, kRows, &random, results);
  for (const std::size_t size : {1u, 63u, 1000u}) {
    auto bytes = RandomBytes(size, &random);
    for (std::size_t i = 0; i < size; i += 1 + random() % 3) bytes[i] = 0;
    const auto floats = RandomFloats(size, &random);
    std::vector<std::uint32_t> found(size + 16);
    found.resize(ops.find_nonzero(bytes.data(), size, found.data()));
    results->Add("find_nonzero", std::span<const std::uint32_t>(found));
    found.assign(size + 16, 0);
    found.resize(ops.find_positive(floats.data(), size, 7, found.data()));
    results->Add("find_positive", std::span<const std::uint32_t>(found));
  }
}

}  // namespace bittern::proof
