// SPDX-License-Identifier: Apache-2.0
// The scan in steps: a bound for every row from four bits (by tiles of 16 rows), a threshold from
// the exact logits of the best tiles, then for what is left five bits, seven bits, and the exact
// logit. A head with codes is bounded by all of its weights at once, so the exact logit comes next.
// A row is dropped only where its upper bound, with every rounding counted, lies below the
// threshold; so no candidate is lost, and the logits are those of a full scan. Several vectors
// share one scan. All threads of a team call FindCandidates; each has a Part for each vector.
#include "model/forward/find_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/registry.hpp"
#include "model/forward/context.hpp"
#include "model/forward/exchange.hpp"
#include "model/forward/head.hpp"
#include "model/screen/screen_bounds.hpp"
#include "model/screen/screen_together.hpp"
#include "quant/layouts/screen_planes.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kTileRows;

/// Tiles whose survivors one thread looks for at a time: their bits stay in its cache for all
/// vectors of a scan. What it finds goes to a slice, apart from the next one since finding
/// survivors writes past them.
constexpr std::size_t kPieceTiles = 64, kSliceRows = (kPieceTiles + 1) * kTileRows;

std::size_t PiecesOf(std::size_t rows) {
  return (quant::TilesOfRows(rows) + kPieceTiles - 1) / kPieceTiles;
}

/// The data of the steps below: one vector, on one thread.
struct Screening {
  const Context& context;
  const ScreenedHead& head;
  const float* x;
  const QuantizedVector& v;
  ScreenScratch::Vector& shared;
  ScreenScratch::Part& mine;
  std::span<const std::uint64_t> allowed = {};  // a bit for each row; none: all

  [[nodiscard]] bool Allows(std::size_t row) const noexcept {
    return allowed.empty() || ((allowed[row / 64] >> (row % 64)) & 1) != 0;
  }
};

/// Rows of some tiles that are not allowed get no estimate: no threshold lies below it. The others
/// are found as if these were not there.
void LeaveOutForbidden(const Screening& s, Range tiles) {
  if (s.allowed.empty()) return;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  constexpr std::uint64_t kTile = (std::uint64_t{1} << kTileRows) - 1;
  for (std::size_t t = tiles.begin; t < tiles.end; ++t) {
    const std::size_t first = t * kTileRows;
    const std::uint64_t bits = (s.allowed[first / 64] >> (first % 64)) & kTile;
    if (bits == kTile) continue;
    float* estimates = s.shared.estimates.data() + first;
    float best = kNone;
    for (std::size_t i = 0; i < kTileRows; ++i) {
      if (((bits >> i) & 1) == 0) estimates[i] = kNone;
      best = std::max(best, estimates[i]);
    }
    s.shared.tile_best[t] = best;
  }
}

/// For estimates of the rows of some tiles from their first four bits.
kernels::ScanArgs ScanArgsOf(const Screening& s, Range tiles) {
  const std::size_t row = tiles.begin * kTileRows;
  return {.tiles = s.head.nibbles.data() + tiles.begin * quant::NibbleTileBytes(s.head.padded_cols),
          .num_tiles = tiles.end - tiles.begin,
          .cols = s.head.padded_cols,
          .high = s.mine.high.data(),
          .low = s.mine.low.data(),
          .high_sum = s.v.high_sum,
          .low_sum = s.v.low_sum,
          .steps = s.head.step.data() + row,
          .factor = 8 * s.v.step,
          .estimates = s.shared.estimates.data() + row,
          .best = s.shared.tile_best.data() + tiles.begin};
}

/// Rows that are not there do not count as the best of the last tile.
void LeaveOutPadding(const Screening& s, Range tiles) {
  const std::size_t in_last_tile = s.head.rows % kTileRows;
  if (in_last_tile == 0 || tiles.end * kTileRows < s.head.rows || tiles.begin == tiles.end) return;
  const float* last = s.shared.estimates.data() + (tiles.end - 1) * kTileRows;
  s.shared.tile_best[tiles.end - 1] = *std::max_element(last, last + in_last_tile);
}

/// Computes the logits of `count` rows of this thread that look best: any rows would do, since
/// the threshold taken from them is a true logit, but good ones make it high.
void Seed(const Screening& s, Range tiles, std::size_t count) {
  const float* estimates = s.shared.estimates.data();
  const float* best = s.shared.tile_best.data() + tiles.begin;
  const std::size_t num_tiles = tiles.end - tiles.begin;
  s.mine.num_seeds = 0;
  float least = -std::numeric_limits<float>::infinity();
  if (num_tiles > count) {  // as many tiles have their best row at or above this
    // Few of many: a heap of them costs one comparison for most tiles, nth_element some ten.
    const auto first = s.mine.ordered.begin(), end = first + static_cast<std::ptrdiff_t>(count);
    std::partial_sort_copy(best, best + num_tiles, first, end, std::greater<>());
    least = end[-1];
  }
  for (std::size_t t = 0; t < num_tiles && s.mine.num_seeds < count; ++t) {
    if (!(best[t] >= least)) continue;
    const std::size_t first = (tiles.begin + t) * kTileRows;
    const std::size_t end = std::min(first + kTileRows, s.head.rows);
    for (std::size_t r = first; r < end && s.mine.num_seeds < count; ++r) {
      if (!(estimates[r] >= least) || !s.Allows(r)) continue;
      DotRows(s.context, s.context.weights.lm_head, r, 1, s.x, &s.mine.seeds[s.mine.num_seeds++]);
    }
  }
}

/// The count-th best seed of a vector by all threads: at least `count` logits are that high.
float Threshold(ScreenScratch* scratch, std::size_t vector, std::size_t num_threads,
                const CandidateRequest& request) {
  std::vector<float>& all = scratch->all_seeds;
  all.clear();
  for (const auto& thread : std::span(scratch->threads).first(num_threads)) {
    const ScreenScratch::Part& part = thread.parts[vector];
    all.insert(all.end(), part.seeds.begin(),
               part.seeds.begin() + static_cast<std::ptrdiff_t>(part.num_seeds));
  }
  const std::size_t count = std::max<std::size_t>(request.count, 1);
  if (all.size() < count) return -std::numeric_limits<float>::infinity();
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return request.count == 0 ? *nth - request.within : *nth;
}

/// Rows of `range` whose upper bound after some bits reaches the threshold, to `ids`; how many.
/// `rest` is what the bits leave out of each row (codes: nothing, whatever `rest` is); `step_size`
/// times its step bounds what is lost beside.
std::size_t FindRows(const Screening& s, Range range, const AlignedBuffer<float>& rest,
                     float step_size, std::uint32_t* ids) {
  const AlignedBuffer<float>& steps = s.head.has_codes() ? s.head.norm : s.head.step;
  const kernels::SurvivorArgs args{.estimates = s.shared.estimates.data() + range.begin,
                                   .rests = rest.data() + range.begin,
                                   .norms = s.head.norm.data() + range.begin,
                                   .steps = steps.data() + range.begin,
                                   .count = range.end - range.begin,
                                   .size = s.head.has_codes() ? 0 : s.v.size,
                                   .rest_size = s.v.rest_size,
                                   .step_size = step_size,
                                   .floor = kLogitFloor,
                                   .threshold = s.shared.threshold,
                                   .first = static_cast<std::uint32_t>(range.begin),
                                   .ids = ids};
  return s.context.weights.kernels->screen().survivors(&args);
}

/// Tiles with a row that may reach the threshold after four bits, to `live`; how many. `ids` is for
/// the rows.
std::size_t FindTiles(const Screening& s, Range rows, std::uint32_t* ids, std::uint32_t* live) {
  const std::size_t count = FindRows(s, rows, s.head.rest4, 0, ids);
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto tile = static_cast<std::uint32_t>(ids[i] / kTileRows);
    live[found] = tile;
    found += i + 1 == count || ids[i + 1] / kTileRows != tile;
  }
  return found;
}

/// Counts the fifth bit of all rows of some tiles. Rows of these tiles that may still reach the
/// threshold, to `ids`; how many.
std::size_t LookAtBits(const Screening& s, std::size_t end_row,
                       std::span<const std::uint32_t> tiles, std::uint32_t* ids) {
  const kernels::BitScanArgs args{.tiles = s.head.bits.data(),
                                  .cols = s.head.padded_cols,
                                  .live = tiles.data(),
                                  .count = tiles.size(),
                                  .high = s.mine.high.data(),
                                  .high_sum = s.v.high_sum,
                                  .steps = s.head.step.data(),
                                  .factor = 4 * s.v.high_step,
                                  .estimates = s.shared.estimates.data()};
  s.context.weights.kernels->screen().scan_bits(&args);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tiles.size();) {
    std::size_t next = i + 1;  // a run of neighbours
    while (next < tiles.size() && tiles[next] == tiles[next - 1] + 1) ++next;
    const Range rows{tiles[i] * kTileRows, std::min((tiles[next - 1] + 1) * kTileRows, end_row)};
    // The fifth bit met the high half of the vector only.
    kept += FindRows(s, rows, s.head.rest5, 4 * s.v.low_size * s.v.step, ids + kept);
    i = next;
  }
  return kept;
}

/// Rows of `ids` that two more bits cannot rule out, moved to the front; how many.
std::size_t LookAtPairs(const Screening& s, std::uint32_t* ids, std::size_t count) {
  constexpr std::size_t kAhead = 16;
  const ScreenedHead& head = s.head;
  const std::size_t plane_bytes = quant::PairRowBytes(head.padded_cols);
  const auto touch = [&](std::size_t i) {
    const std::uint8_t* row = head.pairs.data() + ids[i] * plane_bytes;
    for (std::size_t b = 0; b < plane_bytes; b += 64) {
      __builtin_prefetch(row + b, 0, 2);  // the second level: kernels/prefetch.inc says why
    }
  };
  for (std::size_t i = 0; i < std::min(count, kAhead); ++i) touch(i);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) touch(i + kAhead);
    const std::uint32_t r = ids[i];
    const std::int32_t sum = s.context.weights.kernels->screen().dot_pairs(
        head.pairs.data() + r * plane_bytes, head.padded_cols, s.mine.high.data());
    const float estimate = s.shared.estimates[r] + static_cast<float>(2 * sum - 3 * s.v.high_sum) *
                                                       (s.v.high_step * head.step[r]);
    const float bound = head.rest7[r] * s.v.size + head.norm[r] * s.v.rest_size +
                        7 * s.v.low_size * (s.v.step * head.step[r]) + kLogitFloor;
    ids[kept] = r;
    kept += !(estimate + bound < s.shared.threshold);
  }
  return kept;
}

/// Rows of a piece that five bits do not rule out, to `ids`; how many.
std::size_t LookAtFive(const Screening& s, Range rows, std::uint32_t* ids,
                       ScreenScratch::Thread* thread) {
  if (s.head.has_codes()) return FindRows(s, rows, s.head.norm, 0, ids);
  if (s.v.narrow) {
    thread->stats.tiles_of_bits += quant::TilesOfRows(rows.end - rows.begin);
    return FindRows(s, rows, s.head.rest5, 0, ids);
  }
  const std::size_t live = FindTiles(s, rows, ids, thread->live_tiles.data());
  thread->stats.tiles_of_bits += live;
  return LookAtBits(s, rows.end, std::span(thread->live_tiles).first(live), ids);
}

/// Leaves the candidates among the rows of a piece in its slice.
void Eliminate(const Screening& s, std::size_t piece, ScreenScratch::Thread* thread) {
  constexpr std::size_t kRows = kPieceTiles * kTileRows;
  const Range rows{piece * kRows, std::min((piece + 1) * kRows, s.head.rows)};
  std::uint32_t* ids = s.shared.ids.data() + piece * kSliceRows;
  float* logits = s.shared.logits.data() + piece * kSliceRows;
  thread->stats.rows += rows.end - rows.begin;
  std::size_t count = LookAtFive(s, rows, ids, thread);
  thread->stats.after_5_bits += s.head.has_codes() ? 0 : count;
  if (!s.head.has_codes()) count = LookAtPairs(s, ids, count);
  thread->stats.after_7_bits += count;
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!s.Allows(ids[i])) continue;  // only where too few are allowed for a threshold
    ids[found] = ids[i];
    DotRows(s.context, s.context.weights.lm_head, ids[i], 1, s.x, logits + found);
    found += logits[found] >= s.shared.threshold;
  }
  s.shared.found[piece] = found;
}

/// All rows of a piece, computed from the head, to its slice: logits too large to be bounded.
void TakeAll(const Screening& s, std::size_t piece) {
  constexpr std::size_t kRows = kPieceTiles * kTileRows;
  const std::size_t first = piece * kRows, count = std::min(kRows, s.head.rows - first);
  std::uint32_t* ids = s.shared.ids.data() + piece * kSliceRows;
  std::iota(ids, ids + count, static_cast<std::uint32_t>(first));
  DotRows(s.context, s.context.weights.lm_head, first, count, s.x,
          s.shared.logits.data() + piece * kSliceRows);
  s.shared.found[piece] = count;
}

/// Leaves of all logits those that the request is about; none where one is not finite.
void KeepBest(const CandidateRequest& request, CandidateLogits* all) {
  if (all->ids.empty()) return;
  std::vector<float> sorted = all->logits;
  const bool finite = std::ranges::all_of(sorted, [](float x) { return std::isfinite(x); });
  float threshold = std::numeric_limits<float>::infinity();
  if (finite) {
    const std::size_t rank = std::clamp<std::size_t>(request.count, 1, sorted.size()) - 1;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(rank),
                             std::greater<>());
    threshold = request.count == 0 ? sorted[rank] - request.within : sorted[rank];
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all->ids.size(); ++i) {
    all->ids[kept] = all->ids[i];
    all->logits[kept] = all->logits[i];
    kept += all->logits[i] >= threshold && finite;
  }
  all->ids.resize(kept);
  all->logits.resize(kept);
}

/// The candidates of one vector, by ascending id.
void Collect(const Screening& s, CandidateLogits* out) {
  for (std::size_t piece = 0; piece < s.shared.found.size(); ++piece) {
    const std::uint32_t* ids = s.shared.ids.data() + piece * kSliceRows;
    const float* logits = s.shared.logits.data() + piece * kSliceRows;
    for (std::size_t i = 0; i < s.shared.found[piece]; ++i) {
      if (!s.Allows(ids[i])) continue;
      out->ids.push_back(static_cast<std::int32_t>(ids[i]));
      out->logits.push_back(logits[i]);
    }
  }
}

/// The vectors of one scan, up to what the scratch memory holds.
class Scan {
 public:
  /// has_copy: else the head itself is read; broken: set for rows that have a logit that is not
  /// finite; may be null.
  Scan(const Context& context, std::span<const HeadRow> rows, FloatRows x, bool has_copy,
       std::uint8_t* broken)
      : context_(context),
        head_(*context.weights.screened_head),
        rows_(rows),
        x_(x),
        has_copy_(has_copy),
        broken_(broken) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ScreenScratch::Part& mine = thread_.parts[i];
      mine.num_seeds = 0;
      vectors_[i] = QuantizeFor(x.row(i), &mine);
      bounded_[i] =
          has_copy_ && vectors_[i].finite && head_.largest_norm * vectors_[i].size < 1e37f;
      if (bounded_[i] && vectors_[i].narrow) together_[num_together_++] = Together(i);
    }
    GatherTogether(TogetherVectors(), head_.padded_cols, thread_.together_acts.data());
  }

  /// As FindCandidates.
  void Run() {
    const auto num_threads = static_cast<std::size_t>(context_.team.size());
    EstimateAll();
    context_.team.Barrier();
    ForBounded(
        [&](std::size_t i) { Seed(Of(i), tiles_, std::max<std::size_t>(Request(i).count, 1)); });
    context_.team.BarrierThen([&] {
      ForBounded([&](std::size_t i) {
        scratch_.vectors[i].threshold = Threshold(&scratch_, i, num_threads, Request(i));
        ++thread_.stats.tokens;
        thread_.stats.tokens_of_8_bits += vectors_[i].narrow;
      });
    });
    context_.team.Deal(PiecesOf(head_.rows), 1, [&](Range pieces) {
      for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
          if (bounded_[i]) {
            Eliminate(Of(i), piece, &thread_);
          } else {
            TakeAll(Of(i), piece);
          }
        }
        if (!has_copy_ && head_.WillBeMade()) LetGo(piece);
      }
    });
    context_.team.BarrierThen([&] {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        Out(i).ids.clear();
        Out(i).logits.clear();
        Collect(Of(i), &Out(i));
        if (!bounded_[i]) KeepBestOf(i);
      }
    });
  }

 private:
  [[nodiscard]] const CandidateRequest& Request(std::size_t i) const {
    return *rows_[i].segment->request;
  }
  [[nodiscard]] CandidateLogits& Out(std::size_t i) const {
    return rows_[i].segment->candidates[rows_[i].index];
  }
  Screening Of(std::size_t i) {
    return {context_,         head_,         x_.row(i), vectors_[i], scratch_.vectors[i],
            thread_.parts[i], AllowedHere(i)};
  }
  /// The bits of this rank's rows.
  [[nodiscard]] std::span<const std::uint64_t> AllowedHere(std::size_t i) const {
    const auto allowed = rows_[i].segment->allowed;
    const RankShares& shares = context_.weights.shares;
    if (allowed.empty() || !shares.shared()) return allowed;
    return allowed.subspan(shares.vocab.Of(shares.rank()).begin / 64);
  }
  /// The rows of a piece stay in the file, not in memory.
  void LetGo(std::size_t piece) const {
    constexpr std::size_t kRows = kPieceTiles * kTileRows;
    head_.rows_done({piece * kRows, std::min((piece + 1) * kRows, head_.rows)});
  }
  /// KeepBest; notes a vector of which nothing is left, for the other ranks.
  void KeepBestOf(std::size_t i) {
    const bool some = !Out(i).ids.empty();
    KeepBest(Request(i), &Out(i));
    if (broken_ != nullptr) broken_[i] = some && Out(i).ids.empty();
  }
  [[nodiscard]] QuantizedVector QuantizeFor(const float* x, ScreenScratch::Part* mine) const {
    if (head_.has_codes()) {
      return QuantizeForCodes(context_.floats(), x, head_.cols, &mine->by_codes);
    }
    if (rows_.size() >= kFewestTogether) {
      const QuantizedVector narrow = QuantizeNarrow(x, head_.cols, mine->high.data());
      if (narrow.finite && IsTightEnough(narrow, head_.cols)) return narrow;
    }
    return Quantize(x, head_.cols, mine->high.data(), mine->low.data());
  }
  [[nodiscard]] TogetherVector Together(std::size_t i) {
    return {.acts = thread_.parts[i].high.data(),
            .sum = vectors_[i].high_sum,
            .factor = 4 * vectors_[i].high_step,
            .estimates = scratch_.vectors[i].estimates.data(),
            .tile_best = scratch_.vectors[i].tile_best.data()};
  }
  [[nodiscard]] std::span<const TogetherVector> TogetherVectors() const {
    return std::span(together_).first(num_together_);
  }
  template <class Step>
  void ForBounded(Step step) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (bounded_[i]) step(i);
    }
  }
  /// A few tiles stay in the second level of cache for all vectors, a few vectors in the first for
  /// these tiles; a single one takes its tiles in one go.
  void EstimateAll() {
    context_.team.Deal(quant::TilesOfRows(head_.rows), kTilesTogether, [&](Range tiles) {
      const std::size_t at_once = rows_.size() == 1 ? tiles.end - tiles.begin : kTilesTogether;
      for (std::size_t t = tiles.begin; t < tiles.end; t += at_once) {
        Estimate({t, std::min(t + at_once, tiles.end)});
      }
    });
  }
  void Estimate(Range tiles) {
    head_.has_codes() ? EstimateFromCodes(tiles) : EstimateFromPlanes(tiles);
    ForBounded([&](std::size_t i) {
      LeaveOutPadding(Of(i), tiles);
      LeaveOutForbidden(Of(i), tiles);
    });
  }
  void EstimateFromCodes(Range tiles) {
    thread_.by_codes.vectors.clear();
    ForBounded([&](std::size_t i) {
      const CodesVector& vector = thread_.parts[i].by_codes;
      float* out = scratch_.vectors[i].estimates.data() + tiles.begin * kTileRows;
      thread_.by_codes.vectors.push_back(
          {vector.values.data(), vector.sums.data(), vector.scales.data(), out});
    });
    EstimateByCodes(*context_.weights.kernels, head_.codes, tiles, &thread_.by_codes);
    ForBounded([&](std::size_t i) {
      const float* estimates = scratch_.vectors[i].estimates.data();
      for (std::size_t t = tiles.begin; t < tiles.end; ++t) {
        scratch_.vectors[i].tile_best[t] =
            *std::max_element(estimates + t * kTileRows, estimates + (t + 1) * kTileRows);
      }
    });
  }
  void EstimateFromPlanes(Range tiles) {
    kernels::ScanArgs args[kMostScreenVectors];
    std::size_t count = 0;
    ForBounded([&](std::size_t i) {
      if (!vectors_[i].narrow) args[count++] = ScanArgsOf(Of(i), tiles);
    });
    const kernels::ScreenOps& ops = context_.weights.kernels->screen();
    ops.scan_several(args, count);
    EstimateTogether(ops, head_, tiles, TogetherVectors(), thread_.together_acts.data(),
                     thread_.together_sums.data());
  }

  const Context& context_;
  const ScreenedHead& head_;
  std::span<const HeadRow> rows_;
  FloatRows x_;
  bool has_copy_;
  std::uint8_t* broken_;
  ScreenScratch& scratch_ = context_.state.screen;
  ScreenScratch::Thread& thread_ =
      scratch_.threads[static_cast<std::size_t>(context_.team.index())];
  Range tiles_ = context_.team.Share(quant::TilesOfRows(head_.rows));
  QuantizedVector vectors_[kMostScreenVectors];
  bool bounded_[kMostScreenVectors] = {};  // the same on each thread
  TogetherVector together_[kMostScreenVectors];
  std::size_t num_together_ = 0;
};

}  // namespace

Result<ScreenScratch> ScreenScratch::Create(const ScreenedHead& head, std::size_t num_vectors,
                                            int num_threads) {
  ScreenScratch scratch;
  if (head.empty()) return scratch;
  const std::string what = "the scratch memory of the output head";
  const std::size_t tiles = quant::TilesOfRows(head.rows);
  const auto threads = static_cast<std::size_t>(num_threads);
  const std::size_t pieces = PiecesOf(head.rows);
  for (std::size_t i = 0; i < num_vectors; ++i) {
    Vector vector;
    vector.estimates = BITTERN_TRY(AlignedBuffer<float>::Create(tiles * kTileRows, what));
    vector.tile_best = BITTERN_TRY(AlignedBuffer<float>::Create(tiles, what));
    vector.ids = BITTERN_TRY(AlignedBuffer<std::uint32_t>::Create(pieces * kSliceRows, what));
    vector.logits = BITTERN_TRY(AlignedBuffer<float>::Create(pieces * kSliceRows, what));
    vector.found.resize(pieces);
    scratch.vectors.push_back(std::move(vector));
  }
  scratch.all_seeds.reserve(threads * kMaxCandidateCount);
  for (std::size_t t = 0; t < threads; ++t) {
    Thread thread;
    thread.live_tiles.resize(kPieceTiles + kTileRows);
    if (head.has_codes()) {
      thread.by_codes = BITTERN_TRY(CodesScratch::Create(head.codes, num_vectors));
    } else if (num_vectors >= kFewestTogether) {
      thread.together_acts = BITTERN_TRY(
          AlignedBuffer<std::int8_t>::Create(TogetherActs(num_vectors, head.padded_cols), what));
      thread.together_sums.resize(TogetherSums());
    }
    for (std::size_t i = 0; i < num_vectors; ++i) {
      Part part;
      part.ordered.resize(kMaxCandidateCount);
      part.seeds.resize(kMaxCandidateCount);
      if (head.has_codes()) {
        part.by_codes = BITTERN_TRY(CodesVector::Create(head.padded_cols));
      } else {
        part.high = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(head.padded_cols, what));
        part.low = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(head.padded_cols, what));
      }
      thread.parts.push_back(std::move(part));
    }
    scratch.threads.push_back(std::move(thread));
  }
  return scratch;
}

namespace {

/// Whether the copy of the head is there, made just now if it is this pass's turn. The same on each
/// thread.
bool HasCopy(const Context& context, std::size_t vectors) {
  ScreenedHead& head = *context.weights.screened_head;
  CopyTurn& turn = context.state.screen.turn;
  if (head.stage == nullptr || turn == CopyTurn::kUseCopy) return true;
  context.team.BarrierThen([&] { turn = head.NextTurn(vectors); });
  if (turn != CopyTurn::kMakeCopy) return turn == CopyTurn::kUseCopy;
  head.Make(context.weights.lm_head, *context.weights.kernels, context.team);
  context.team.BarrierThen([&] { turn = head.NextTurn(vectors); });
  return turn == CopyTurn::kUseCopy;
}

}  // namespace

void FindCandidates(const Context& context, std::span<const HeadRow> rows, FloatRows x) {
  const bool has_copy = HasCopy(context, rows.size());
  const std::size_t at_once = context.state.screen.vectors.size();
  const bool shared = context.weights.shares.shared();
  std::vector<std::uint8_t>& broken = context.state.exchanged.broken;
  if (shared) context.team.BarrierThen([&] { broken.assign(rows.size(), 0); });
  for (std::size_t i = 0; i < rows.size(); i += at_once) {
    Scan(context, rows.subspan(i, std::min(at_once, rows.size() - i)),
         FloatRows{x.row(i), x.stride}, has_copy, shared ? broken.data() + i : nullptr)
        .Run();
  }
  if (shared) CollectCandidates(context, rows, broken);
}

}  // namespace bittern::model
