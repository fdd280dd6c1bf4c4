// SPDX-License-Identifier: Apache-2.0
// The operations on floats: their order of rounding is written down, so every instruction set gives
// the same bits. One thread.
#include <algorithm>
#include <numeric>

#include "proof/selftest/kernel_results.hpp"
#include "quant/layouts/screen_planes.hpp"

namespace bittern::proof {
namespace {

using kernels::FloatOps;
using Floats = std::span<const float>;

constexpr std::size_t kRows = 16;  // of a tile of the screen

/// Every way to look for the largest logits over one coarse copy of a head: several vectors at
/// once, one, by bits, by five bits, by pairs.
void RunScan(const kernels::ScreenOps& ops, const std::vector<std::int8_t>& codes, std::size_t cols,
             Random* random, KernelResults* results) {
  const std::size_t tiles = codes.size() / (kRows * cols);
  std::vector<std::uint8_t> nibbles(tiles * quant::NibbleTileBytes(cols));
  std::vector<std::uint8_t> bits(tiles * quant::BitTileBytes(cols));
  std::vector<std::uint8_t> pairs(quant::PairRowBytes(cols));
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::int8_t* tile = codes.data() + t * kRows * cols;
    quant::PackNibbles(tile, cols, nibbles.data() + t * quant::NibbleTileBytes(cols));
    quant::PackBits(tile, cols, bits.data() + t * quant::BitTileBytes(cols));
  }
  quant::PackPairs(codes.data(), cols, pairs.data());
  const auto high = RandomBytes(cols, random), low = RandomBytes(cols, random);
  const auto sum = [](const std::vector<std::int8_t>& half) {
    return std::accumulate(half.begin(), half.end(), std::int32_t{0});
  };
  const auto steps = RandomFloats(tiles * kRows, random);
  constexpr std::size_t kVectors = 3;
  std::vector<float> estimates(kVectors * tiles * kRows), best(kVectors * tiles);
  std::vector<kernels::ScanArgs> args;
  for (std::size_t i = 0; i < kVectors; ++i) {
    args.push_back({nibbles.data(), tiles, cols, high.data(), low.data(), sum(high), sum(low),
                    steps.data(), 0.5f + static_cast<float>(i),
                    estimates.data() + i * tiles * kRows, best.data() + i * tiles});
  }
  ops.scan_several(args.data(), kVectors);
  results->Add("scan_several", Floats(estimates));
  ops.scan(args.data());
  results->Add("scan", Floats(estimates));
  results->Add("scan", Floats(best));
  const std::vector<std::uint32_t> live = {0, 2};
  const kernels::BitScanArgs bit_args{bits.data(),  cols,        live.data(),
                                      live.size(),  high.data(), sum(high),
                                      steps.data(), 0.5f,        estimates.data()};
  ops.scan_bits(&bit_args);
  results->Add("scan_bits", Floats(estimates));
  constexpr std::size_t kFiveVectors = 8;
  const auto acts = RandomBytes(cols * kFiveVectors, random);
  std::vector<std::int32_t> sums(tiles * kFiveVectors * kRows);
  const kernels::FiveScanArgs five_args{nibbles.data(), bits.data(),  tiles,      cols,
                                        acts.data(),    kFiveVectors, sums.data()};
  ops.scan_five(&five_args);
  results->Add("scan_five", std::span<const std::int32_t>(sums));
  const std::int32_t dot = ops.dot_pairs(pairs.data(), cols, high.data());
  results->Add("dot_pairs", std::span<const std::int32_t>(&dot, 1));
}

/// Keys and values of one head in one type of cache.
void RunAttention(const FloatOps& ops, kernels::KvElement element, Random* random,
                  KernelResults* results) {
  constexpr std::size_t kDim = 64, kPositions = 300, kPadded = 304, kQueries = 3, kTokens = 2;
  const auto keys = RandomFloats(kPadded * kDim, random),
             queries = RandomFloats(kTokens * kQueries * kDim, random);
  const auto values = RandomFloats(kPadded * kDim, random);
  std::vector<std::uint16_t> half_keys(keys.size()), half_values(values.size());
  ops.store_half(keys.data(), keys.size(), half_keys.data());
  ops.store_half(values.data(), values.size(), half_values.data());
  results->Add("store_half", std::span<const std::uint16_t>(half_keys));
  const auto byte_keys = RandomBytes(keys.size(), random),
             byte_values = RandomBytes(values.size(), random);
  const std::vector<float> scales(kPadded, 0.01f);
  std::vector<float> scratch(kernels::AttentionScratch(kPositions + kTokens, kDim));
  std::vector<float> out(kTokens * kQueries * kDim);
  const auto pick = [element](const void* f32, const void* f16, const void* i8) {
    return element == kernels::KvElement::kF32   ? f32
           : element == kernels::KvElement::kF16 ? f16
                                                 : i8;
  };
  kernels::AttentionArgs args{};
  args.queries = queries.data();
  args.out = out.data();
  args.query_stride = args.out_stride = kQueries * kDim;
  args.keys = pick(keys.data(), half_keys.data(), byte_keys.data());
  args.values = pick(values.data(), half_values.data(), byte_values.data());
  args.key_scales = args.value_scales = scales.data();
  args.scratch = scratch.data();
  args.num_tokens = kTokens;
  args.num_queries = kQueries;
  args.head_dim = kDim;
  args.num_positions = kPositions;
  args.scale = 0.125f;
  args.element = element;
  for (const std::size_t window : {std::size_t{0}, std::size_t{130}}) {
    args.window = window;
    ops.attention(&args);
    results->Add("attention", Floats(out));
  }
}

/// Rows of the head in the three types that files have. bfloat16 is the upper half of a float, cut
/// off.
void RunDots(const FloatOps& ops, std::size_t n, Random* random, KernelResults* results) {
  constexpr std::size_t kNumRows = 9;
  const auto rows = RandomFloats(kNumRows * n, random), x = RandomFloats(n, random);
  std::vector<std::uint16_t> half(rows.size()), bfloat(rows.size());
  ops.store_half(rows.data(), rows.size(), half.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &rows[i], sizeof bits);
    bfloat[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  std::vector<float> out(kNumRows), wide(half.size());
  ops.dot_f32(rows.data(), kNumRows, n, x.data(), out.data());
  results->Add("dot_f32", Floats(out));
  ops.dot_f16(half.data(), kNumRows, n, x.data(), out.data());
  results->Add("dot_f16", Floats(out));
  ops.dot_bf16(bfloat.data(), kNumRows, n, x.data(), out.data());
  results->Add("dot_bf16", Floats(out));
  ops.widen_half(half.data(), half.size(), wide.data());
  results->Add("widen_half", Floats(wide));
  std::vector<std::int8_t> codes(n);
  kernels::ScreenRow row{};
  ops.screen_row(x.data(), n, codes.data(), &row);
  results->Add("screen_row", std::span<const std::int8_t>(codes));
  const float facts[] = {row.step, row.norm, row.rest4, row.rest5, row.rest7};
  results->Add("screen_row", Floats(facts));
}

/// Recurrent layers: three tokens of a convolution, then of a head.
void RunRecurrent(const FloatOps& ops, Random* random, KernelResults* results) {
  constexpr std::size_t kTaps = 4, kKeyDim = 24, kValueDim = 48, kTokens = 3;
  constexpr std::size_t kSize = 2 * kKeyDim + kValueDim;
  const auto inputs = RandomFloats((kTaps - 1 + kTokens) * kSize, random);
  const auto weights = RandomFloats(kTaps * kSize, random);
  std::vector<float> mixed(kTokens * kSize);
  for (std::size_t token = 0; token < kTokens; ++token) {
    const float* rows[kTaps];
    for (std::size_t tap = 0; tap < kTaps; ++tap) rows[tap] = &inputs[(token + tap) * kSize];
    const kernels::ConvArgs args{.rows = rows,
                                 .weights = weights.data(),
                                 .num_taps = kTaps,
                                 .size = kSize,
                                 .out = &mixed[token * kSize]};
    ops.conv_silu(&args);
  }
  results->Add("conv_silu", Floats(mixed));
  const float decays[kTokens] = {0.9f, 0.5f, 1}, rates[kTokens] = {0.3f, 0.7f, 0.01f};
  std::vector<float> state = RandomFloats(kKeyDim * kValueDim, random), out(kTokens * kValueDim);
  const kernels::DeltaArgs args{.state = state.data(),
                                .queries = mixed.data(),
                                .keys = mixed.data() + kKeyDim,
                                .values = mixed.data() + 2 * kKeyDim,
                                .stride = kSize,
                                .decays = decays,
                                .rates = rates,
                                .gate_stride = 1,
                                .out = out.data(),
                                .out_stride = kValueDim,
                                .num_tokens = kTokens,
                                .key_dim = kKeyDim,
                                .value_dim = kValueDim};
  ops.delta_rule(&args);
  results->Add("delta_rule", Floats(out));
  results->Add("delta_rule", Floats(state));
}

/// Two blocks of a rotation, and back.
void RunHadamard(const FloatOps& ops, Random* random, KernelResults* results) {
  constexpr std::size_t kBlock = 512, kSize = 2 * kBlock;
  const auto x = RandomFloats(kSize, random), weights = RandomFloats(kSize, random);
  std::vector<float> out(kSize);
  ops.hadamard(x.data(), weights.data(), kSize, kBlock, out.data());
  results->Add("hadamard", Floats(out));
  ops.hadamard_inverse(x.data(), weights.data(), kSize, kBlock, out.data());
  results->Add("hadamard_inverse", Floats(out));
}

/// Operations on one row. Lengths that are no multiple of a vector's width take the kernels through
/// their ends.
void RunVectors(const FloatOps& ops, std::size_t n, Random* random, KernelResults* results) {
  const auto x = RandomFloats(n, random), y = RandomFloats(n, random);
  std::vector<float> out(n);
  static_cast<void>(ops.rms_norm(x.data(), y.data(), n, n, 1e-5f, out.data()));
  results->Add("rms_norm", Floats(out));
  std::vector<std::int8_t> quantized(n);
  std::int32_t sum = 0;
  const float scale = ops.quantize_absmax(x.data(), n, quantized.data(), &sum);
  results->Add("quantize_absmax", std::span<const std::int8_t>(quantized));
  results->Add("quantize_absmax", Floats(&scale, 1));
  std::vector<std::int8_t> low(n);
  const float digits_scale =
      ops.quantize_digits(x.data(), n, kernels::kMost16Bits, quantized.data(), low.data(), &sum);
  results->Add("quantize_digits", std::span<const std::int8_t>(quantized));
  results->Add("quantize_digits", std::span<const std::int8_t>(low));
  results->Add("quantize_digits", Floats(&digits_scale, 1));
  out = x;
  ops.add(out.data(), y.data(), n);
  results->Add("add", Floats(out));
  ops.relu2_mul(x.data(), y.data(), n, out.data());
  results->Add("relu2_mul", Floats(out));
  ops.silu_mul(x.data(), y.data(), n, out.data());
  results->Add("silu_mul", Floats(out));
  ops.gelu_mul(x.data(), y.data(), n, out.data());
  results->Add("gelu_mul", Floats(out));
  ops.exp(x.data(), n, out.data());
  results->Add("exp", Floats(out));
  ops.sigmoid_mul(x.data(), y.data(), n, out.data());
  results->Add("sigmoid_mul", Floats(out));
  out = x;
  ops.round_half(out.data(), n);
  results->Add("round_half", Floats(out));
  out = x;
  const auto angles = RandomFloats(n, random);
  ops.rope(out.data(), angles.data(), angles.data() + n / 2, n / 2);
  results->Add("rope", Floats(out));
  std::vector<std::int32_t> sums(n);
  for (auto& value : sums)
    value = static_cast<std::int32_t>(random->operator()() % 200001) - 100000;
  const float act_scale = 41.5f;
  const kernels::RescaleArgs args{.sums = sums.data(),
                                  .sums_stride = n,
                                  .num_rows = n,
                                  .num_tokens = 1,
                                  .act_scales = &act_scale,
                                  .weight_scale = 1.218855f,
                                  .row_scales = nullptr,
                                  .out = out.data(),
                                  .out_stride = n};
  ops.rescale(&args);
  results->Add("rescale", Floats(out));
}

}  // namespace

/// The scans of some tiles, then the choice of rows whose logits must be computed in full.
void RunScreen(const kernels::ScreenOps& ops, KernelResults* results) {
  Random random(5);
  constexpr std::size_t kScreenCols = 2560, kTiles = 3;
  RunScan(ops, RandomBytes(kTiles * kRows * kScreenCols, &random), kScreenCols, &random, results);
  constexpr std::size_t kCount = 1000;
  const auto estimates = RandomFloats(kCount, &random), rests = RandomFloats(kCount, &random);
  const auto norms = RandomFloats(kCount, &random), steps = RandomFloats(kCount, &random);
  std::vector<std::uint32_t> ids(kCount + kRows);
  const kernels::SurvivorArgs args{
      estimates.data(), rests.data(), norms.data(), steps.data(), kCount,    0.5f, 0.25f,
      0.125f,           0.0f,         1.0f,         500,          ids.data()};
  ids.resize(ops.survivors(&args));
  results->Add("survivors", std::span<const std::uint32_t>(ids));
}

/// 2, 16 and 34 go through the ends of vectors; 2560 and 6912 are BitNet 2B-4T's.
void RunFloat32(const FloatOps& ops, KernelResults* results) {
  Random random(6);
  for (const std::size_t n : {2u, 16u, 34u, 2560u, 6912u}) {
    RunVectors(ops, n, &random, results);
    RunDots(ops, n, &random, results);
  }
  for (const auto element :
       {kernels::KvElement::kF32, kernels::KvElement::kF16, kernels::KvElement::kI8}) {
    RunAttention(ops, element, &random, results);
  }
  RunRecurrent(ops, &random, results);
  RunHadamard(ops, &random, results);
}

}  // namespace bittern::proof
