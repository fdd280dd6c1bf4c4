// SPDX-License-Identifier: Apache-2.0
// Tensors are taken in batches that fit the memory: a batch is encoded by all threads, then
// written.
#include "formats/convert/tensor_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/display.hpp"
#include "quant/blocks/dequantize.hpp"
#include "quant/blocks/quantize.hpp"

namespace bittern::formats {
namespace {

/// The most that the tensors of one batch may take, codes and bytes together: well below a
/// gigabyte.
constexpr std::size_t kBatchBytes = std::size_t{256} << 20;
/// Pieces of tensors that need no thought.
constexpr std::size_t kWriteBytes = std::size_t{4} << 20;
/// From here on a number is infinite in binary16.
constexpr float kHalfEnd = 65520;

/// Puts the tensor's name before the message.
Error InTensor(std::string_view name, Error error) {
  return Within(fmt::format("tensor {}", Quoted(name)), std::move(error));
}

/// A thread of the pool must not throw.
Result<EncodedTernary> EncodeNoThrow(const PlannedTensor& tensor) noexcept {
  try {
    auto encoded = EncodeTernary(*tensor.ternary, tensor.target);
    if (encoded) return encoded;
    return tl::unexpected(InTensor(tensor.source->name, std::move(encoded).error()));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kOutOfMemory, "not enough memory to encode a tensor");
  }
}

/// True for formats whose numbers or block scales are binary16: their range ends at 65504.
bool EndsWhereHalfEnds(quant::WeightFormat format) {
  return format == quant::WeightFormat::kF16 || format == quant::WeightFormat::kQ8_0 ||
         format == quant::WeightFormat::kQ6_K;
}

/// The first number that the target format cannot hold, or nullopt.
std::optional<float> FindMisfit(std::span<const float> row, quant::WeightFormat format) {
  const bool half = EndsWhereHalfEnds(format);
  for (const float value : row) {
    if (!std::isfinite(value) || (half && std::fabs(value) >= kHalfEnd)) return value;
  }
  return std::nullopt;
}

}  // namespace

/// Progress is counted in bytes of the source. A scale has no bytes of its own there.
TensorWriter::TensorWriter(const Checkpoint& source, const ConvertPlan& plan, ThreadPool& pool,
                           const TensorSink& sink,
                           std::function<bool(double, std::string_view)> on_progress)
    : source_(source), plan_(plan), pool_(pool), sink_(sink), on_progress_(std::move(on_progress)) {
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.kind != PlannedTensor::Kind::kScale) total_bytes_ += tensor.source->bytes.size();
  }
}

/// Reports progress; a listener that says no cancels the conversion.
Result<void> TensorWriter::Advance(std::uint64_t bytes, std::string_view name) {
  done_bytes_ += bytes;
  if (on_progress_(double(done_bytes_) / double(std::max<std::uint64_t>(total_bytes_, 1)), name)) {
    return {};
  }
  return Fail(ErrorCode::kCancelled, "interrupted; nothing was written");
}

/// Writes the tensors in the plan's order. A run of ternary tensors goes in batches; others are cut
/// into pieces by their own writers.
Result<void> TensorWriter::WriteAll() {
  for (std::size_t i = 0; i < plan_.tensors.size();) {
    const PlannedTensor& tensor = plan_.tensors[i];
    if (tensor.kind == PlannedTensor::Kind::kTernary) {
      const std::size_t last = EndOfBatch(i);
      BITTERN_TRY(WriteTernary(i, last));
      i = last;
      continue;
    }
    Result<void> done;
    switch (tensor.kind) {
      case PlannedTensor::Kind::kCopy:
        done = WriteCopy(tensor);
        break;
      case PlannedTensor::Kind::kEncode:
        done = WriteEncoded(tensor);
        break;
      default:
        done = WriteScale(tensor);
    }
    BITTERN_TRY(std::move(done));
    ++i;
  }
  return {};
}

/// One past the last tensor of the batch that begins at `first`: at most two a thread, and no more
/// bytes than kBatchBytes. A batch has at least one tensor, however large.
std::size_t TensorWriter::EndOfBatch(std::size_t first) const {
  const std::size_t most = 2 * static_cast<std::size_t>(pool_.size()) + 2;
  std::size_t bytes = 0, last = first;
  while (last < plan_.tensors.size() && last - first < most &&
         plan_.tensors[last].kind == PlannedTensor::Kind::kTernary) {
    bytes += EncodeBytes(*plan_.tensors[last].ternary, plan_.tensors[last].target);
    if (last != first && bytes > kBatchBytes) break;
    ++last;
  }
  return last;
}

/// Encodes a batch, a tensor to a thread, then writes the results in order on the caller's thread.
/// The scales are kept for the kScale tensors that come later in a folder.
Result<void> TensorWriter::WriteTernary(std::size_t first, std::size_t last) {
  std::vector<std::optional<Result<EncodedTernary>>> encoded(last - first);
  std::atomic<std::size_t> next{0};
  pool_.Run([&](Team&) {
    for (std::size_t i = next.fetch_add(1); i < encoded.size(); i = next.fetch_add(1)) {
      encoded[i] = EncodeNoThrow(plan_.tensors[first + i]);
    }
  });
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const PlannedTensor& tensor = plan_.tensors[first + i];
    const EncodedTernary result = BITTERN_TRY(*std::move(encoded[i]));
    encoded[i].reset();
    BITTERN_TRY(sink_(result.bytes));
    scales_[tensor.source] = result.scale;
    ++written_.ternary_tensors;
    written_.ternary_weights += tensor.source->num_elements();
    if (result.scales.max_relative_error > written_.scales.max_relative_error) {
      written_.worst_scale = tensor.source->name;
    }
    written_.scales += result.scales;
    source_.Release(*tensor.source);
    BITTERN_TRY(Advance(tensor.source->bytes.size(), tensor.name));
  }
  return {};
}

Result<void> TensorWriter::WriteCopy(const PlannedTensor& tensor) {
  ++written_.plain_tensors;
  const auto bytes = tensor.source->bytes;
  for (std::size_t at = 0; at < bytes.size(); at += kWriteBytes) {
    const auto piece = bytes.subspan(at, std::min(kWriteBytes, bytes.size() - at));
    BITTERN_TRY(sink_(piece));
    source_.Release(piece);
    BITTERN_TRY(Advance(piece.size(), tensor.name));
  }
  return {};
}

/// Decodes and encodes rows in blocks of about kWriteBytes: threads share the rows of a block, then
/// the caller's thread writes it. A number that the target cannot hold is refused, not clamped.
Result<void> TensorWriter::WriteEncoded(const PlannedTensor& tensor) {
  ++written_.plain_tensors;
  const std::size_t rows = tensor.source->rows(), cols = tensor.source->row_elements();
  const std::size_t in_bytes = tensor.source->bytes.size() / rows, out_bytes = tensor.bytes / rows;
  const auto decode = quant::DequantizeRowFor(tensor.source->format);
  const auto encode = quant::QuantizeRowFor(tensor.format);
  const auto threads = static_cast<std::size_t>(pool_.size());
  const std::size_t at_once = std::min(rows, std::max(threads, kWriteBytes / out_bytes));
  std::vector<std::byte> out(at_once * out_bytes);
  std::vector<float> floats(threads * cols);
  std::vector<std::optional<float>> misfits(threads);
  for (std::size_t first = 0; first < rows; first += at_once) {
    const std::size_t count = std::min(at_once, rows - first);
    pool_.Run([&](Team& team) {
      const auto thread = static_cast<std::size_t>(team.index());
      const std::span<float> row(floats.data() + thread * cols, cols);
      const Range share = team.Share(count);
      for (std::size_t r = share.begin; r < share.end && !misfits[thread]; ++r) {
        decode(tensor.source->bytes.data() + (first + r) * in_bytes, cols, row.data());
        misfits[thread] = FindMisfit(row, tensor.format);
        encode(row.data(), cols, out.data() + r * out_bytes);
      }
    });
    for (const auto& misfit : misfits) {
      if (!misfit) continue;
      return Fail(
          ErrorCode::kUnsupported,
          fmt::format("tensor {}: {} cannot hold {}; choose bf16 or f32",
                      Quoted(tensor.source->name), quant::InfoOf(tensor.format).name, *misfit));
    }
    BITTERN_TRY(sink_(std::span(out).first(count * out_bytes)));
    source_.Release(tensor.source->bytes.subspan(first * in_bytes, count * in_bytes));
    BITTERN_TRY(Advance(count * in_bytes, tensor.name));
  }
  return {};
}

/// Writes the one scale of a packed weight, which WriteTernary has met before (SortForFolder).
Result<void> TensorWriter::WriteScale(const PlannedTensor& tensor) {
  std::byte bytes[sizeof(float)];
  quant::QuantizeRowFor(tensor.format)(&scales_.at(tensor.source), 1, bytes);
  return sink_(std::span(bytes, tensor.bytes));
}

}  // namespace bittern::formats
