// SPDX-License-Identifier: Apache-2.0
#include "model/screened_head.hpp"

#include <algorithm>
#include <cmath>

#include "model/context.hpp"
#include "model/head.hpp"
#include "quant/dequantize.hpp"
#include "quant/screen_planes.hpp"
#include "quant/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kTileRows;

/// Norms are sums of at most n / 16 + 5 rounded terms per lane: 0.1% covers n up to 2^17.
constexpr float kWiden = 1.001f;
/// Squares below 2^-149 vanish from a norm; products of steps lose bits near 2^-126.
constexpr float kNormFloor = 1e-20f, kLogitFloor = 1e-30f;

float Widened(float norm) { return norm * kWiden + kNormFloor; }

/// What one thread needs to turn rows of a head into floats.
class RowReader {
 public:
  RowReader(const DenseMatrix& head, const kernels::FloatOps& floats)
      : head_(head), floats_(floats), row_(head.cols) {}

  const float* Read(std::size_t r) {
    if (head_.format == quant::WeightFormat::kF32) {
      return reinterpret_cast<const float*>(head_.row(r));
    }
    if (head_.format == quant::WeightFormat::kF16) {
      floats_.widen_half(reinterpret_cast<const std::uint16_t*>(head_.row(r)), head_.cols,
                         row_.data());
    } else {
      quant::DequantizeRowFor(head_.format)(head_.row(r), head_.cols, row_.data());
    }
    return row_.data();
  }

 private:
  const DenseMatrix& head_;
  const kernels::FloatOps& floats_;
  std::vector<float> row_;
};

/// Codes, planes and norms of one tile of rows.
void BuildTile(const kernels::FloatOps& floats, RowReader* reader, std::size_t tile,
               std::int8_t* codes, ScreenedHead* head) {
  const std::size_t padded = head->padded_cols;
  for (std::size_t i = 0; i < kTileRows; ++i) {
    const std::size_t r = tile * kTileRows + i;
    if (r >= head->rows) break;  // what is left of the codes is never looked at
    kernels::ScreenRow row;
    floats.screen_row(reader->Read(r), head->cols, codes + i * padded, &row);
    head->step[r] = row.step;
    head->norm[r] = Widened(row.norm);
    head->rest4[r] = Widened(row.rest4);
    head->rest5[r] = Widened(row.rest5);
    head->rest7[r] = Widened(row.rest7);
    quant::PackPairs(codes + i * padded, padded,
                     head->pairs.data() + r * quant::PairRowBytes(padded));
  }
  quant::PackNibbles(codes, padded, head->nibbles.data() + tile * quant::NibbleTileBytes(padded));
  quant::PackBits(codes, padded, head->bits.data() + tile * quant::BitTileBytes(padded));
}

/// The vector as 16-bit integers, and what that costs in the bounds.
struct QuantizedVector {
  float step = 0;
  std::int32_t high_sum = 0, low_sum = 0;
  float low_size = 0;   ///< sum of |low|
  float size = 0;       ///< norm of step * integers, rounded up
  float rest_size = 0;  ///< norm of x less that, and of the rounding of floats, per unit of norm
  bool finite = false;
};

/// Relative error of the head's own dot product (a fused multiply-add per element in sixteen lanes,
/// then a tree) and of the estimates' arithmetic.
float RoundingError(std::size_t cols) {
  return (static_cast<float>(cols) / 16 + 10) * 0x1p-24f * 1.1f + 0x1p-19f;
}

QuantizedVector Quantize(const float* x, std::size_t cols, std::int8_t* high, std::int8_t* low) {
  QuantizedVector v;
  float largest = 0;
  double norm = 0;
  for (std::size_t i = 0; i < cols; ++i) {
    largest = std::max(largest, std::fabs(x[i]));
    norm += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  if (!std::isfinite(norm)) return v;
  v.finite = true;
  // 32639 = 127 * 256 + 127: the largest value whose halves are both int8.
  v.step = std::max(largest, 1e-30f) / 32639.0f;
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer
  double size = 0, rest = 0, low_size = 0;
  for (std::size_t i = 0; i < cols; ++i) {
    const auto q = static_cast<std::int32_t>(
        (std::clamp(x[i] / v.step, -32639.0f, 32639.0f) + kRound) - kRound);
    const std::int32_t h = (q + 128) >> 8, l = q - 256 * h;
    high[i] = static_cast<std::int8_t>(h);
    low[i] = static_cast<std::int8_t>(l);
    v.high_sum += h;
    v.low_sum += l;
    low_size += std::abs(l);
    const double value = static_cast<double>(v.step) * q;
    size += value * value;
    rest += (static_cast<double>(x[i]) - value) * (static_cast<double>(x[i]) - value);
  }
  v.low_size = static_cast<float>(low_size) * kWiden;
  v.size = static_cast<float>(std::sqrt(size)) * kWiden;
  v.rest_size = (static_cast<float>(std::sqrt(rest)) +
                 RoundingError(cols) * static_cast<float>(std::sqrt(norm) + std::sqrt(size))) *
                kWiden;
  return v;
}

/// Estimates of this thread's rows from their first four bits.
void Estimate(const Context& context, const ScreenedHead& head, const QuantizedVector& v,
              Range tiles, ScreenScratch::Thread* mine) {
  const std::size_t first = tiles.begin * kTileRows;
  const kernels::ScanArgs args{
      .tiles = head.nibbles.data() + tiles.begin * quant::NibbleTileBytes(head.padded_cols),
      .num_tiles = tiles.end - tiles.begin,
      .cols = head.padded_cols,
      .high = mine->high.data(),
      .low = mine->low.data(),
      .high_sum = v.high_sum,
      .low_sum = v.low_sum,
      .steps = head.step.data() + first,
      .factor = 8 * v.step,
      .estimates = context.state.screen.estimates.data() + first,
      .best = mine->tile_best.data()};
  context.weights.kernels.screen().scan(&args);
  const std::size_t in_last_tile = head.rows % kTileRows;
  if (in_last_tile == 0 || tiles.end * kTileRows < head.rows || tiles.begin == tiles.end) return;
  const float* last = args.estimates + (args.num_tiles - 1) * kTileRows;  // rows that are not there
  args.best[args.num_tiles - 1] = *std::max_element(last, last + in_last_tile);  // do not count
}

/// Computes the logits of `count` rows of this thread that look best: any rows would do, since
/// the threshold taken from them is a true logit, but good ones make it high.
void Seed(const Context& context, const float* x, Range tiles, Range rows, std::size_t count,
          ScreenScratch::Thread* mine) {
  const float* estimates = context.state.screen.estimates.data();
  const std::size_t num_tiles = tiles.end - tiles.begin;
  mine->num_seeds = 0;
  float least = -std::numeric_limits<float>::infinity();
  if (num_tiles > count) {  // as many tiles have their best row at or above this
    std::vector<float>& best = mine->tile_best;
    const auto nth = best.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(best.begin(), nth, best.begin() + static_cast<std::ptrdiff_t>(num_tiles),
                     std::greater<>());
    least = *nth;
  }
  for (std::size_t r = rows.begin; r < rows.end && mine->num_seeds < count; ++r) {
    if (!(estimates[r] >= least)) continue;
    DotRows(context, context.weights.lm_head, r, 1, x, &mine->seeds[mine->num_seeds++]);
  }
}

/// The count-th best seed of all threads: at least `count` logits are that high.
float Threshold(ScreenScratch* scratch, std::size_t num_threads, const CandidateRequest& request) {
  std::vector<float>& all = scratch->all_seeds;
  all.clear();
  for (const auto& thread : std::span(scratch->threads).first(num_threads)) {
    all.insert(all.end(), thread.seeds.begin(),
               thread.seeds.begin() + static_cast<std::ptrdiff_t>(thread.num_seeds));
  }
  const std::size_t count = std::max<std::size_t>(request.count, 1);
  if (all.size() < count) return -std::numeric_limits<float>::infinity();
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return request.count == 0 ? *nth - request.within : *nth;
}

/// Bounds of what is left out once a row's first bits are counted.
struct Cut {
  const float* rests;  ///< of all rows
  float lost;          ///< what the low half of the vector may add, in steps of the row
};

/// Rows of `range` whose upper bound reaches the threshold, to `ids`; how many.
std::size_t FindSurvivors(const Context& context, const QuantizedVector& v, const Cut& cut,
                          float threshold, Range range, std::uint32_t* ids) {
  const ScreenedHead& head = context.weights.screened_head;
  const kernels::SurvivorArgs args{.estimates = context.state.screen.estimates.data() + range.begin,
                                   .rests = cut.rests + range.begin,
                                   .norms = head.norm.data() + range.begin,
                                   .steps = head.step.data() + range.begin,
                                   .count = range.end - range.begin,
                                   .size = v.size,
                                   .rest_size = v.rest_size,
                                   .step_size = cut.lost * v.step,
                                   .floor = kLogitFloor,
                                   .threshold = threshold,
                                   .first = static_cast<std::uint32_t>(range.begin),
                                   .ids = ids};
  return context.weights.kernels.screen().survivors(&args);
}

/// The tiles that the rows `ids` lie in, each once.
std::size_t TilesOf(const std::uint32_t* ids, std::size_t count, std::uint32_t* tiles) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto tile = static_cast<std::uint32_t>(ids[i] / kTileRows);
    if (found == 0 || tiles[found - 1] != tile) tiles[found++] = tile;
  }
  return found;
}

/// Counts the fifth bit of all rows of some tiles. Rows of these tiles that may still reach the
/// threshold, to `ids`; how many.
std::size_t LookAtBits(const Context& context, const QuantizedVector& v, float threshold,
                       std::size_t end_row, std::span<const std::uint32_t> tiles,
                       const ScreenScratch::Thread& mine, std::uint32_t* ids) {
  const ScreenedHead& head = context.weights.screened_head;
  const kernels::BitScanArgs args{.tiles = head.bits.data(),
                                  .cols = head.padded_cols,
                                  .live = tiles.data(),
                                  .count = tiles.size(),
                                  .high = mine.high.data(),
                                  .high_sum = v.high_sum,
                                  .steps = head.step.data(),
                                  .factor = 4 * 256 * v.step,
                                  .estimates = context.state.screen.estimates.data()};
  context.weights.kernels.screen().scan_bits(&args);
  const Cut cut{head.rest5.data(), 4 * v.low_size};
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tiles.size();) {
    std::size_t next = i + 1;  // a run of neighbours
    while (next < tiles.size() && tiles[next] == tiles[next - 1] + 1) ++next;
    const Range rows{tiles[i] * kTileRows, std::min((tiles[next - 1] + 1) * kTileRows, end_row)};
    kept += FindSurvivors(context, v, cut, threshold, rows, ids + kept);
    i = next;
  }
  return kept;
}

/// Rows of `ids` that two more bits cannot rule out, moved to the front; how many.
std::size_t LookAtPairs(const Context& context, const QuantizedVector& v, float threshold,
                        const ScreenScratch::Thread& mine, std::uint32_t* ids, std::size_t count) {
  constexpr std::size_t kAhead = 8;
  const ScreenedHead& head = context.weights.screened_head;
  const std::size_t plane_bytes = quant::PairRowBytes(head.padded_cols);
  float* estimates = context.state.screen.estimates.data();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const std::uint8_t* next = head.pairs.data() + ids[i + kAhead] * plane_bytes;
      for (std::size_t b = 0; b < plane_bytes; b += 64) __builtin_prefetch(next + b);
    }
    const std::uint32_t r = ids[i];
    const float step = v.step * head.step[r];
    const std::int32_t sum = context.weights.kernels.screen().dot_pairs(
        head.pairs.data() + r * plane_bytes, head.padded_cols, mine.high.data());
    estimates[r] += 256 * static_cast<float>(2 * sum - 3 * v.high_sum) * step;
    const float bound =
        head.rest7[r] * v.size + head.norm[r] * v.rest_size + 7 * v.low_size * step + kLogitFloor;
    ids[kept] = r;
    kept += !(estimates[r] + bound < threshold);
  }
  return kept;
}

void Eliminate(const Context& context, const float* x, const QuantizedVector& v, float threshold,
               Range rows, ScreenScratch::Thread* mine) {
  const ScreenedHead& head = context.weights.screened_head;
  ScreenScratch& scratch = context.state.screen;
  std::uint32_t* ids = scratch.ids.data() + mine->first_id;
  float* logits = scratch.logits.data() + mine->first_id;
  // The lower planes meet the high halves of the vector only; `low_size` bounds what that loses.
  std::size_t count = FindSurvivors(context, v, Cut{head.rest4.data(), 0}, threshold, rows, ids);
  const std::size_t tiles = TilesOf(ids, count, mine->live_tiles.data());
  mine->stats.rows += rows.end - rows.begin;
  mine->stats.after_4_bits += count;
  mine->stats.tiles_of_bits += tiles;
  count = LookAtBits(context, v, threshold, rows.end, std::span(mine->live_tiles).first(tiles),
                     *mine, ids);
  mine->stats.after_5_bits += count;
  count = LookAtPairs(context, v, threshold, *mine, ids, count);
  mine->stats.after_7_bits += count;
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ids[found] = ids[i];
    DotRows(context, context.weights.lm_head, ids[i], 1, x, logits + found);
    found += logits[found] >= threshold;
  }
  mine->num_found = found;
}

}  // namespace

Result<ScreenedHead> ScreenedHead::Build(const DenseMatrix& matrix, const kernels::Kernels& kernels,
                                         ThreadPool& pool) {
  ScreenedHead head;
  head.rows = matrix.rows;
  head.cols = matrix.cols;
  head.padded_cols = quant::ScreenCols(matrix.cols);
  const std::string what = "the coarse copy of the output head (--head exact does without)";
  const std::size_t tiles = quant::TilesOfRows(head.rows), padded_rows = tiles * kTileRows;
  const auto bytes = [&](std::size_t size) {
    return AlignedBuffer<std::uint8_t>::Create(size, what);
  };
  head.nibbles = BITTERN_TRY(bytes(tiles * quant::NibbleTileBytes(head.padded_cols)));
  head.bits = BITTERN_TRY(bytes(tiles * quant::BitTileBytes(head.padded_cols)));
  head.pairs = BITTERN_TRY(bytes(head.rows * quant::PairRowBytes(head.padded_cols)));
  for (auto* floats : {&head.step, &head.norm, &head.rest4, &head.rest5, &head.rest7}) {
    *floats = BITTERN_TRY(AlignedBuffer<float>::Create(padded_rows, what));
  }
  pool.Run([&](Team& team) {
    RowReader reader(matrix, kernels.float32());
    std::vector<std::int8_t> codes(kTileRows * head.padded_cols);
    const Range range = team.Share(tiles);
    for (std::size_t tile = range.begin; tile < range.end; ++tile) {
      BuildTile(kernels.float32(), &reader, tile, codes.data(), &head);
    }
  });
  for (std::size_t r = 0; r < head.rows; ++r) {
    if (!std::isfinite(head.norm[r] + head.rest4[r])) return ScreenedHead{};
    head.largest_norm = std::max(head.largest_norm, head.norm[r]);
  }
  return head;
}

Result<ScreenScratch> ScreenScratch::Create(const ScreenedHead& head, int num_threads) {
  ScreenScratch scratch;
  if (head.empty()) return scratch;
  const std::string what = "the scratch memory of the output head";
  const std::size_t tiles = quant::TilesOfRows(head.rows);
  scratch.estimates = BITTERN_TRY(AlignedBuffer<float>::Create(tiles * kTileRows, what));
  // Slices of threads lie apart, since finding survivors writes past them.
  scratch.ids = BITTERN_TRY(AlignedBuffer<std::uint32_t>::Create(
      tiles * kTileRows + static_cast<std::size_t>(num_threads) * kTileRows, what));
  scratch.logits = BITTERN_TRY(AlignedBuffer<float>::Create(scratch.ids.size(), what));
  const auto threads = static_cast<std::size_t>(num_threads);
  scratch.all_seeds.reserve(threads * kMaxCandidateCount);
  for (std::size_t t = 0; t < threads; ++t) {
    Thread thread;
    thread.tile_best.resize(tiles);
    thread.live_tiles.resize(tiles);
    thread.seeds.resize(kMaxCandidateCount);
    thread.high = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(head.padded_cols, what));
    thread.low = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(head.padded_cols, what));
    scratch.threads.push_back(std::move(thread));
  }
  return scratch;
}

void FindCandidates(const Context& context, const float* x, const CandidateRequest& request) {
  const ScreenedHead& head = context.weights.screened_head;
  ScreenScratch& scratch = context.state.screen;
  ScreenScratch::Thread& mine = scratch.threads[static_cast<std::size_t>(context.team.index())];
  const Range tiles = context.team.Share(quant::TilesOfRows(head.rows));
  const Range rows{tiles.begin * kTileRows, std::min(tiles.end * kTileRows, head.rows)};
  mine.first_id = rows.begin + static_cast<std::size_t>(context.team.index()) * kTileRows;
  mine.num_found = mine.num_seeds = 0;
  const QuantizedVector v = Quantize(x, head.cols, mine.high.data(), mine.low.data());
  const bool bounded = v.finite && head.largest_norm * v.size < 1e37f;  // the same on each thread
  if (bounded) {
    Estimate(context, head, v, tiles, &mine);
    Seed(context, x, tiles, rows, std::max<std::size_t>(request.count, 1), &mine);
  }
  context.team.Barrier();
  if (bounded && context.team.index() == 0) {
    scratch.threshold = Threshold(&scratch, static_cast<std::size_t>(context.team.size()), request);
    ++mine.stats.tokens;
  }
  context.team.Barrier();
  if (bounded) Eliminate(context, x, v, scratch.threshold, rows, &mine);
  context.team.Barrier();
}

}  // namespace bittern::model
