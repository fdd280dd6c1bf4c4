// SPDX-License-Identifier: Apache-2.0
// Makes the copy of a head, while loading or behind the first token. The threads of a pool share
// its rows, in tiles of 16. The pages of a mapped file are let go once they are read, so that the
// head does not stay in memory.
#include "model/screened_head.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.hpp"
#include "model/screen/screen_bounds.hpp"
#include "model/weights.hpp"
#include "quant/blocks/dequantize.hpp"
#include "quant/layouts/screen_planes.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

using quant::kTileRows;

constexpr const char* kWhat = "the copy of the output head (head=exact does without)";

/// One thread's memory for turning rows of a head into floats.
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

/// make(tiles, reader) for this thread's tiles of a head, some at a time; then `done`.
template <class Make>
void ForTiles(const DenseMatrix& matrix, const kernels::FloatOps& floats, const Team& team,
              const ScreenedHead::RowsDone& done, const Make& make) {
  constexpr std::size_t kTilesAtOnce = 64;
  RowReader reader(matrix, floats);
  const Range mine = team.Share(quant::TilesOfRows(matrix.rows));
  for (std::size_t tile = mine.begin; tile < mine.end; tile += kTilesAtOnce) {
    const Range tiles{tile, std::min(tile + kTilesAtOnce, mine.end)};
    make(tiles, &reader);
    if (done) done({tiles.begin * kTileRows, std::min(tiles.end * kTileRows, matrix.rows)});
  }
}

/// This thread's tiles of a copy in planes.
void BuildTiles(const DenseMatrix& matrix, const kernels::FloatOps& floats, const Team& team,
                const ScreenedHead::RowsDone& done, ScreenedHead* head) {
  std::vector<std::int8_t> of_tile(kTileRows * head->padded_cols);
  ForTiles(matrix, floats, team, done, [&](Range range, RowReader* reader) {
    for (std::size_t t = range.begin; t < range.end; ++t) {
      BuildTile(floats, reader, t, of_tile.data(), head);
    }
  });
}

/// Sets the largest norm. False where a row cannot be bounded.
bool SetLargestNorm(ScreenedHead* head) {
  for (std::size_t r = 0; r < head->rows; ++r) {
    const bool rest = head->has_codes() || std::isfinite(head->rest4[r]);
    if (!std::isfinite(head->norm[r]) || !rest) return false;
    head->largest_norm = std::max(head->largest_norm, head->norm[r]);
  }
  return true;
}

ScreenedHead Bounded(ScreenedHead head) {
  return SetLargestNorm(&head) ? std::move(head) : ScreenedHead{};
}

}  // namespace

Result<ScreenedHead> ScreenedHead::Prepare(const DenseMatrix& matrix) {
  ScreenedHead head;
  head.stage = std::make_unique<std::atomic<CopyStage>>(CopyStage::kUntouched);
  head.rows = matrix.rows;
  head.cols = matrix.cols;
  head.padded_cols = quant::ScreenCols(matrix.cols);
  const std::size_t tiles = quant::TilesOfRows(head.rows), padded_rows = tiles * kTileRows;
  const auto bytes = [](std::size_t size) {
    return AlignedBuffer<std::uint8_t>::Create(size, kWhat);
  };
  head.nibbles = BITTERN_TRY(bytes(tiles * quant::NibbleTileBytes(head.padded_cols)));
  head.bits = BITTERN_TRY(bytes(tiles * quant::BitTileBytes(head.padded_cols)));
  head.pairs = BITTERN_TRY(bytes(head.rows * quant::PairRowBytes(head.padded_cols)));
  for (auto* floats : {&head.step, &head.norm, &head.rest4, &head.rest5, &head.rest7}) {
    *floats = BITTERN_TRY(AlignedBuffer<float>::Create(padded_rows, kWhat));
  }
  return head;
}

CopyTurn ScreenedHead::NextTurn(std::size_t vectors) noexcept {
  if (stage == nullptr) return CopyTurn::kUseCopy;
  CopyStage now = stage->load(std::memory_order_acquire);
  if (now == CopyStage::kMade) return CopyTurn::kUseCopy;
  if (now == CopyStage::kUntouched && vectors == 1) {
    if (stage->compare_exchange_strong(now, CopyStage::kWanted)) return CopyTurn::kReadHead;
  }
  const bool idle = now == CopyStage::kUntouched || now == CopyStage::kWanted;
  if (idle && stage->compare_exchange_strong(now, CopyStage::kInWork)) return CopyTurn::kMakeCopy;
  return CopyTurn::kReadHead;
}

void ScreenedHead::Make(const DenseMatrix& matrix, const kernels::Kernels& kernels, Team& team) {
  BuildTiles(matrix, kernels.float32(), team, rows_done, this);
  team.BarrierThen([&] {
    const bool bounded = SetLargestNorm(this);
    stage->store(bounded ? CopyStage::kMade : CopyStage::kImpossible, std::memory_order_release);
  });
}

Result<ScreenedHead> ScreenedHead::Build(const DenseMatrix& matrix, const kernels::Kernels& kernels,
                                         ThreadPool& pool, const RowsDone& done) {
  ScreenedHead head = BITTERN_TRY(Prepare(matrix));
  head.stage = nullptr;
  pool.Run([&](Team& team) { BuildTiles(matrix, kernels.float32(), team, done, &head); });
  return Bounded(std::move(head));
}

Result<ScreenedHead> ScreenedHead::BuildWith(TernaryMatrix codes, const DenseMatrix& matrix,
                                             const kernels::Kernels& kernels, ThreadPool& pool,
                                             const RowsDone& done) {
  ScreenedHead head;
  head.rows = matrix.rows;
  head.cols = matrix.cols;
  head.padded_cols = codes.num_blocks * quant::kTileBlock;
  head.codes = std::move(codes);
  head.norm = BITTERN_TRY(AlignedBuffer<float>::Create(head.codes.padded_rows(), kWhat));
  const kernels::FloatOps& floats = kernels.float32();
  pool.Run([&](Team& team) {
    ForTiles(matrix, floats, team, done, [&](Range range, RowReader* reader) {
      const std::size_t end = std::min(range.end * kTileRows, head.rows);
      for (std::size_t r = range.begin * kTileRows; r < end; ++r) {
        const float* row = reader->Read(r);
        float squares = 0;
        floats.dot_f32(row, 1, head.cols, row, &squares);
        head.norm[r] = Widened(std::sqrt(squares));
      }
    });
  });
  return Bounded(std::move(head));
}

}  // namespace bittern::model
