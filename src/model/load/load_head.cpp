// SPDX-License-Identifier: Apache-2.0
// A head is the truth for every logit, whatever stands beside it. Where it is screened, its copy is
// made here: of its own ternary weights, if it has any, else of planes.
#include "model/load/load_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/registry.hpp"
#include "model/load/repack.hpp"
#include "model/load/weight_binding.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::model {
namespace {

using formats::TensorId;

/// Copies a matrix into huge pages, letting each mapped chunk go once it is copied, so that the
/// rows are never resident twice. Does nothing with one that is a copy already.
Result<void> MoveToMemory(const formats::Checkpoint& checkpoint, ThreadPool& pool,
                          std::string_view what, DenseMatrix* matrix) {
  if (matrix->copy.size() != 0) return {};
  constexpr std::size_t kChunk = std::size_t{8} << 20;
  const std::size_t bytes = matrix->rows * matrix->row_bytes;
  matrix->copy = BITTERN_TRY(AlignedBuffer<std::byte>::Create(bytes, what));
  const std::byte* source = matrix->data;
  std::byte* target = matrix->copy.data();
  pool.Run([&](Team& team) {
    const Range chunks = team.Share((bytes + kChunk - 1) / kChunk);
    for (std::size_t i = chunks.begin; i < chunks.end; ++i) {
      const std::size_t size = std::min(kChunk, bytes - i * kChunk);
      std::memcpy(target + i * kChunk, source + i * kChunk, size);
      checkpoint.Release({source + i * kChunk, size});
    }
  });
  matrix->data = target;
  return {};
}

/// A head worth screening: far larger than a cache, and a kernel that is not the scalar one.
bool IsScreened(const Weights& weights, HeadMode mode) {
  constexpr std::size_t kLarge = std::size_t{1} << 24;  // weights
  if (mode != HeadMode::kAuto) return mode == HeadMode::kScreened;
  return weights.lm_head.rows * weights.lm_head.cols >= kLarge &&
         weights.kernels->screen_info->isa != kernels::Isa::scalar;
}

/// Leaves of a head the rows that this rank computes.
void KeepRowsHere(const RankShares& shares, DenseMatrix* head) {
  if (!shares.shared()) return;
  const Range part = shares.vocab.Of(shares.rank());
  head->data = head->row(part.begin);
  head->rows = part.end - part.begin;
}

/// Ternary weights with scales of groups, each block by itself.
bool HasTernaryBlocks(quant::WeightFormat format) {
  const quant::TernaryCodec* codec = quant::DefaultCodec(format);
  return codec != nullptr && codec->grain == quant::ScaleGrain::kGroup &&
         quant::DequantizeRowFor(format) != nullptr;
}

/// The weights of this rank's rows of the head as the kernels read them. An empty matrix where they
/// are not ternary, or hold what the kernels do not take: then planes do.
Result<TernaryMatrix> HeadCodes(TensorBinder& binder, formats::TernaryOpener& opener, TensorId id,
                                const RankShares& shares, ThreadPool& pool) {
  const formats::Tensor& tensor = *binder.Find(formats::TensorName(id));
  if (!HasTernaryBlocks(tensor.format)) return TernaryMatrix{};
  auto source = opener.Open(tensor);
  if (!source || source->multiplier() != 1) return TernaryMatrix{};
  std::vector<std::uint32_t> rows;
  if (shares.shared()) {
    const Range part = shares.vocab.Of(shares.rank());
    rows.resize(part.end - part.begin);
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(part.begin));
  }
  const StackPart part{&tensor, *std::move(source), 0, rows, {}, nullptr};
  HugeArena memory;
  auto codes = StackTernary({&part, 1}, MatrixLayout::kTile16, true, pool, memory);
  if (!codes && codes.error().code == ErrorCode::kOutOfMemory) return codes;
  if (!codes || codes->half_scales.size() == 0) return TernaryMatrix{};
  return codes;
}

/// The copy of a head, without rows where a row of it cannot be bounded.
Result<ScreenedHead> CopyOfHead(TensorBinder& binder, formats::TernaryOpener& opener, TensorId id,
                                HeadCopy when, ThreadPool& pool, const Weights& weights) {
  const DenseMatrix& head = weights.lm_head;
  const auto done = [&](Range rows) {
    binder.checkpoint().Release({head.row(rows.begin), (rows.end - rows.begin) * head.row_bytes});
  };
  TernaryMatrix codes = BITTERN_TRY(HeadCodes(binder, opener, id, weights.shares, pool));
  if (!AllWant(weights.shares, codes.num_tiles != 0)) {
    const bool later = when == HeadCopy::kBehindFirstToken && !weights.shares.shared();
    return later ? ScreenedHead::Prepare(head)
                 : ScreenedHead::Build(head, *weights.kernels, pool, done);
  }
  return ScreenedHead::BuildWith(std::move(codes), head, *weights.kernels, pool, done);
}

std::string NameOfCopy(const ScreenedHead& head) {
  const std::size_t megabytes = head.bytes() / 1'000'000;
  if (head.has_codes()) return fmt::format("its ternary weights, {} MB; same tokens", megabytes);
  return fmt::format("a coarse copy of {} MB{}; same tokens", megabytes,
                     head.stage == nullptr ? "" : ", made behind the first token");
}

/// Makes the copy if one is wanted; false where there is none.
Result<bool> Screen(TensorBinder& binder, formats::TernaryOpener& opener, TensorId id,
                    const LoadOptions& options, ThreadPool& pool, Weights* weights,
                    Decisions* decisions) {
  if (!AllWant(weights->shares, IsScreened(*weights, options.head))) return false;
  *weights->screened_head =
      BITTERN_TRY(CopyOfHead(binder, opener, id, options.head_copy, pool, *weights));
  const bool empty = !AllWant(weights->shares, !weights->screened_head->empty());
  if (empty) *weights->screened_head = {};
  decisions->push_back(
      {"output head screen", empty ? "off" : "on",
       empty ? "a row of the head is not finite" : NameOfCopy(*weights->screened_head), empty,
       empty ? "" : "head=exact: without"});
  return !empty;
}

}  // namespace

Result<DenseMatrix> LoadDense(TensorBinder& binder, formats::TensorId id, const ModelConfig& c,
                              ThreadPool& pool) {
  DenseMatrix matrix = BITTERN_TRY(BindDense(binder, id, c));
  const std::size_t element = matrix.format == quant::WeightFormat::kF32 ? 4 : 2;
  if (reinterpret_cast<std::uintptr_t>(matrix.data) % element != 0) {
    BITTERN_TRY(
        MoveToMemory(binder.checkpoint(), pool, TensorPrefix(formats::TensorName(id)), &matrix));
  }
  return matrix;
}

Result<void> LoadHead(TensorBinder& binder, formats::TernaryOpener& opener, const ModelConfig& c,
                      const LoadOptions& options, ThreadPool& pool, Weights* weights,
                      Decisions* decisions) {
  const TensorId id = HeadTensor(binder.checkpoint());
  weights->lm_head = BITTERN_TRY(LoadDense(binder, id, c, pool));
  KeepRowsHere(weights->shares, &weights->lm_head);
  if (!BITTERN_TRY(Screen(binder, opener, id, options, pool, weights, decisions))) {
    BITTERN_TRY(MoveToMemory(binder.checkpoint(), pool, "the output head", &weights->lm_head));
  }
  const bool tied = id != TensorId::kOutput;
  decisions->push_back({"output head", formats::TensorName(id),
                        tied ? "the file has no output.weight" : "in the file", false});
  return {};
}

bool AllWant(const RankShares& shares, bool here) {
  return shares.shared() ? HoldsOnAll(*shares.ranks, here) : here;
}

}  // namespace bittern::model
