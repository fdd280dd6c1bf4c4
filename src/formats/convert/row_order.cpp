// SPDX-License-Identifier: Apache-2.0
#include "formats/convert/row_order.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/text/display.hpp"
#include "formats/network_tensors.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kPairingKey = "bittern.rope_pairing";

}  // namespace

/// llama.cpp's converter permutes q and k of some architectures ("llama" among them), so that a
/// rotated pair lies side by side. Other architectures keep the two halves of a head, as trained.
RowOrder GgufRowOrder(std::string_view architecture) noexcept {
  const ArchitectureSpec* row = FindArchitecture(architecture);
  return row != nullptr && row->permuted_qk ? RowOrder::kNeighbours : RowOrder::kHalves;
}

/// The key that this program's folder reader sets comes first; GGUF files of others lack it, and
/// there the architecture tells.
Result<RowOrder> RowOrderOf(const Metadata& metadata) {
  if (const auto pairing = BITTERN_TRY(metadata.GetString(kPairingKey))) {
    if (*pairing == "neox") return RowOrder::kHalves;
    if (*pairing == "norm") return RowOrder::kNeighbours;
    return Fail(ErrorCode::kCorruptFile, fmt::format("key {}: neox or norm expected, {} found",
                                                     Quoted(kPairingKey), Quoted(*pairing)));
  }
  return GgufRowOrder(BITTERN_TRY(metadata.GetString("general.architecture")).value_or(""));
}

/// Weights per head: `attention.key_length`, else the width divided by the number of heads.
Result<std::size_t> HeadDimOf(const Metadata& metadata) {
  const std::string prefix(
      BITTERN_TRY(metadata.GetString("general.architecture")).value_or("unknown"));
  const auto explicit_size = BITTERN_TRY(metadata.GetUint(prefix + ".attention.key_length"));
  if (explicit_size) return static_cast<std::size_t>(*explicit_size);
  const auto width = BITTERN_TRY(metadata.GetUint(prefix + ".embedding_length"));
  const auto heads = BITTERN_TRY(metadata.GetUint(prefix + ".attention.head_count"));
  if (!width || !heads || *heads == 0 || *width % *heads != 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("the size of a head does not follow from {0}.embedding_length and "
                            "{0}.attention.head_count",
                            prefix));
  }
  return static_cast<std::size_t>(*width / *heads);
}

bool HasRowOrder(std::string_view name) noexcept {
  const TensorSpec* spec = FindWeight(name);
  return spec != nullptr && (spec->id == TensorId::kAttnQ || spec->id == TensorId::kAttnK);
}

/// Element r of the result is the row of the source that becomes row r. Within a head of size d,
/// rows i and i + d/2 (halves) are the rotated pair that lies at 2i and 2i + 1 (neighbours).
Result<std::vector<std::uint32_t>> RowPermutation(RowOrder from, RowOrder to, std::size_t rows,
                                                  std::size_t head_dim) {
  if (rows > std::numeric_limits<std::uint32_t>::max()) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("{} rows are too many", rows));
  }
  std::vector<std::uint32_t> source(rows);
  std::iota(source.begin(), source.end(), 0);
  if (from == to) return source;
  if (head_dim == 0 || head_dim % 2 != 0 || rows % head_dim != 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("whole heads of an even size expected; {} rows and heads of {} found",
                            rows, head_dim));
  }
  const std::size_t half = head_dim / 2;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t head = row / head_dim * head_dim, i = row % head_dim;
    const std::size_t within = to == RowOrder::kNeighbours ? i % 2 * half + i / 2  // 2i <- i
                                                           : i % half * 2 + i / half;
    source[row] = static_cast<std::uint32_t>(head + within);
  }
  return source;
}

}  // namespace bittern::formats
