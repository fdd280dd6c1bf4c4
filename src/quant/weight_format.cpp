// SPDX-License-Identifier: Apache-2.0
// The table of types. Types that are known but not read stand in a second table, so that they can
// be named.
#include "quant/weight_format.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "quant/tl2.hpp"

namespace bittern::quant {
namespace {

// Sorted by nothing but readability; two dozen rows are searched in two dozen steps.
constexpr WeightFormatInfo kFormats[] = {
    {WeightFormat::kF32, "F32", 1, 4},
    {WeightFormat::kF16, "F16", 1, 2},
    {WeightFormat::kBF16, "BF16", 1, 2},
    {WeightFormat::kQ4_0, "Q4_0", 32, 18},
    {WeightFormat::kQ4_1, "Q4_1", 32, 20},
    {WeightFormat::kQ5_0, "Q5_0", 32, 22},
    {WeightFormat::kQ5_1, "Q5_1", 32, 24},
    {WeightFormat::kQ8_0, "Q8_0", 32, 34},
    {WeightFormat::kQ4_K, "Q4_K", 256, 144},
    {WeightFormat::kQ5_K, "Q5_K", 256, 176},
    {WeightFormat::kQ6_K, "Q6_K", 256, 210},
    {WeightFormat::kIQ4_NL, "IQ4_NL", 32, 18},
    {WeightFormat::kI2_S, "I2_S", 4, 1, 32},
    {WeightFormat::kTL1, "TL1", 4, 1, 32},
    {WeightFormat::kTL2, "TL2", 1, 0, 32},  // Tl2DataBytes
    {WeightFormat::kTQ1_0, "TQ1_0", 256, 54},
    {WeightFormat::kTQ2_0, "TQ2_0", 256, 66},
    {WeightFormat::kQ2_0, "Q2_0", 64, 18},
    {WeightFormat::kPQ2_0, "PQ2_0", 128, 34},
    {WeightFormat::kPTQ1_0, "PTQ1_0", 128, 28},
    {WeightFormat::kQ1_0, "Q1_0", 128, 18},
    {WeightFormat::kSTQ1_0, "STQ1_0", 256, 42},
    {WeightFormat::kIQ1_BN, "IQ1_BN", 64, 13, 0, 2},
    {WeightFormat::kIQ2_BN, "IQ2_BN", 64, 16, 0, 4},
    {WeightFormat::kIQ2_BN_R4, "IQ2_BN_R4", 64, 16, 0, 4},
    {WeightFormat::kHfPacked, "HF_U8", 1, 1},  // a byte holds codes of four rows: TensorBytes
    {WeightFormat::kMlx2, "MLX_2BIT", 4, 1},
};

/// Ids from here on are our own.
constexpr auto kFirstForeignId = static_cast<std::uint32_t>(WeightFormat::kHfPacked);

struct UnreadFormat {
  std::uint32_t id;
  std::string_view name;
};
constexpr UnreadFormat kUnread[] = {
    {9, "Q8_1"},     {10, "Q2_K"},  {11, "Q3_K"},  {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
    {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},  {24, "I8"},
    {25, "I16"},     {26, "I32"},   {27, "I64"},   {28, "F64"},   {29, "IQ1_M"},   {37, "I8_S"},
};

}  // namespace

const WeightFormatInfo* FindWeightFormat(std::uint32_t gguf_id) noexcept {
  if (gguf_id >= kFirstForeignId) return nullptr;
  for (const auto& info : kFormats) {
    if (static_cast<std::uint32_t>(info.format) == gguf_id) return &info;
  }
  return nullptr;
}

const WeightFormatInfo& InfoOf(WeightFormat format) noexcept {
  const WeightFormatInfo* info = kFormats;
  while (info->format != format) ++info;
  return *info;
}

Result<std::uint64_t> SharedFormat::BytesOf(std::uint64_t row_elements, std::uint64_t rows) const {
  const WeightFormatInfo unread{{}, name, block_elements, block_bytes};
  return TensorBytes(info == nullptr ? unread : *info, row_elements, rows);
}

std::vector<SharedFormat> FormatsUnder(std::uint32_t gguf_id) {
  // llama.cpp gave 39 away after bitnet.cpp had taken it, and PrismML, Tencent and others took ids
  // behind llama.cpp's last one, which it then used itself.
  constexpr std::uint32_t kTaken[] = {40, 41, 42, 43, 142, 143};
  constexpr WeightFormat kOfTaken[] = {WeightFormat::kQ2_0, WeightFormat::kPQ2_0,
                                       WeightFormat::kSTQ1_0, WeightFormat::kQ1_0,
                                       WeightFormat::kPTQ1_0};
  std::vector<SharedFormat> formats;
  const auto add = [&](WeightFormat format) {
    const WeightFormatInfo& info = InfoOf(format);
    formats.push_back({info.name, &info});
  };
  if (gguf_id == static_cast<std::uint32_t>(WeightFormat::kTL2)) {
    add(WeightFormat::kTL2);
    formats.push_back({"MXFP4", nullptr, 32, 17});
  }
  if (std::ranges::find(kTaken, gguf_id) == std::end(kTaken)) return formats;
  for (const WeightFormat format : kOfTaken) add(format);
  formats.push_back({"Q2_0C", nullptr, 512, 130,
                     "whose weights are -3, -1, 1 and 3 times a scale: they are not ternary"});
  formats.push_back({"NVFP4", nullptr, 64, 36});
  const auto own = std::ranges::find_if(formats, [&](const SharedFormat& shared) {
    return shared.info != nullptr && static_cast<std::uint32_t>(shared.info->format) == gguf_id;
  });
  if (own != formats.end()) std::rotate(formats.begin(), own, own + 1);
  return formats;
}

std::optional<std::string_view> UnreadFormatName(std::uint32_t gguf_id) noexcept {
  for (const auto& format : kUnread) {
    if (format.id == gguf_id) return format.name;
  }
  return std::nullopt;
}

Result<std::uint64_t> TensorBytes(const WeightFormatInfo& info, std::uint64_t row_elements,
                                  std::uint64_t rows) {
  if (row_elements % info.block_elements != 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{} rows come in blocks of {} elements, but a row has {}", info.name,
                            info.block_elements, row_elements));
  }
  if (info.format == WeightFormat::kHfPacked) rows = rows / 4 + (rows % 4 != 0);
  const auto too_large = [&] {
    return Fail(
        ErrorCode::kCorruptFile,
        fmt::format("{} rows of {} elements are more than memory can address", rows, row_elements));
  };
  std::uint64_t bytes = 0;
  if (info.format == WeightFormat::kTL2) {
    // Elements fit 63 bits (the reader's rule); the formula multiplies by 5 on the way.
    if (!CheckedMultiply(row_elements, rows, &bytes) || !CheckedMultiply(bytes, 5, &bytes)) {
      return too_large();
    }
    if (row_elements < 256) {
      return Fail(
          ErrorCode::kCorruptFile,
          fmt::format("TL2 rows have at least 256 elements, but a row has {}", row_elements));
    }
    return Tl2DataBytes(rows, row_elements) + info.tail_bytes;
  }
  if (!CheckedMultiply(row_elements / info.block_elements, info.block_bytes, &bytes) ||
      !CheckedAdd(bytes, info.row_bytes, &bytes) || !CheckedMultiply(bytes, rows, &bytes) ||
      !CheckedAdd(bytes, info.tail_bytes, &bytes)) {
    return too_large();
  }
  return bytes;
}

}  // namespace bittern::quant
