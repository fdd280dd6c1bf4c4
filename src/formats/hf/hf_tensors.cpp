// SPDX-License-Identifier: Apache-2.0
// A tensor that is in no row of the table is refused, since leaving one out can be a different
// network. Small tensors that GGUF files have otherwise are made anew, in memory.
#include "formats/hf/hf_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/float16.hpp"
#include "base/text/display.hpp"
#include "formats/hf/hf_names.hpp"
#include "formats/hf/hf_scales.hpp"
#include "formats/network_tensors.hpp"
#include "quant/blocks/dequantize.hpp"
#include "quant/hf_packed.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kScaleSuffix = ".weight_scale";

tl::unexpected<Error> CorruptTensor(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

/// Rows of a projection.
std::uint64_t RowsOf(const HfConfig& config, const TensorSpec& projection) {
  switch (projection.rows) {
    case TensorSize::kQ:
    case TensorSize::kQRows:
      return config.q_size;
    case TensorSize::kKv:
      return config.kv_size;
    case TensorSize::kInner:
      return config.intermediate_size;
    default:
      return config.hidden_size;
  }
}

/// Buffers that older exports contain and that follow from the configuration.
bool IsDerived(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }

/// The format of a float dtype; nullopt for all others.
std::optional<quant::WeightFormat> FloatFormat(std::string_view dtype) {
  if (dtype == "F32") return quant::WeightFormat::kF32;
  if (dtype == "F16") return quant::WeightFormat::kF16;
  if (dtype == "BF16") return quant::WeightFormat::kBF16;
  return std::nullopt;
}

/// The one number of a scale tensor, whatever its float type.
Result<float> ReadScale(const SafetensorsEntry& entry) {
  const auto format = FloatFormat(entry.dtype);
  if (!format || entry.elements != 1) {
    return CorruptTensor(
        fmt::format("one float expected, {} of type {} found", entry.elements, entry.dtype));
  }
  if (*format == quant::WeightFormat::kF32) {
    float value;
    std::memcpy(&value, entry.bytes.data(), sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, entry.bytes.data(), sizeof bits);
  return *format == quant::WeightFormat::kF16 ? HalfToFloat(bits) : BfloatToFloat(bits);
}

/// True for norms that a folder has less one.
bool IsLessOne(const HfConfig& config, const TensorSpec& spec) {
  return config.row->hf_norms_less_one && spec.kind == TensorKind::kNorm &&
         spec.presence != TensorPresence::kInputNorms && spec.id != TensorId::kSsmNorm;
}

/// Builds the list, one entry at a time; scales first, since a weight needs its own.
class Mapper {
 public:
  Mapper(const HfConfig& config, std::span<const SafetensorsEntry> entries, Decisions* decisions)
      : config_(config),
        entries_(entries),
        decisions_(*decisions),
        float_weights_(config.float_weights) {}

  /// Maps every entry. A scale that no weight took at the end is refused: its weight is missing or
  /// not packed.
  Result<HfMapped> Map() {
    for (const SafetensorsEntry& entry : entries_) {
      if (entry.name.ends_with(kScaleSuffix)) scales_.emplace(entry.name, &entry);
    }
    DecideScales();
    DecideMasters();
    for (const SafetensorsEntry& entry : entries_) {
      if (entry.name.ends_with(kScaleSuffix) || IsDerived(entry.name)) continue;
      auto added = Add(entry);
      if (!added) return Within(entry, std::move(added).error());
    }
    for (const auto& [name, entry] : scales_) {
      return Within(*entry, {ErrorCode::kCorruptFile, "belongs to no packed weight"});
    }
    BITTERN_TRY(CheckHead());
    return std::move(mapped_);
  }

 private:
  static tl::unexpected<Error> Within(const SafetensorsEntry& entry, Error error) {
    return tl::unexpected(
        bittern::Within(fmt::format("tensor {}", Quoted(entry.name)), std::move(error)));
  }

  /// Scales that cannot be read are refused later, with the weights they belong to.
  void DecideScales() {
    if (scales_.empty()) return;
    std::vector<float> values;
    for (const auto& [name, entry] : scales_) {
      const auto value = ReadScale(*entry);
      if (value) values.push_back(*value);
    }
    HfScales scales = ChooseHfScales(config_, values);
    scale_multiplies_ = scales.multiplies;
    decisions_.push_back(std::move(scales.decision));
  }

  /// Projections with a norm for their input are trained as BitNet's are, whatever their class is.
  void DecideMasters() {
    if (!config_.row->input_norms || config_.has_quantization) return;
    const bool found = std::ranges::any_of(entries_, [](const SafetensorsEntry& entry) {
      return entry.name.ends_with("_proj.norm.weight");
    });
    if (found) float_weights_ = HfFloatWeights::kEither;
  }

  /// Adds one tensor, its dimensions turned around (GGUF names the innermost first). A head that
  /// config.json calls tied is a copy of the embedding, and is skipped.
  Result<void> Add(const SafetensorsEntry& entry) {
    const HfTarget target = BITTERN_TRY(FindHfTensor(config_, PlainHfName(entry.name)));
    if (target.name == TensorName(TensorId::kOutput) && config_.tied_head.value_or(false))
      return {};
    if (!names_.insert(target.name).second) {
      return CorruptTensor(fmt::format("there are two tensors for {}", target.name));
    }
    constexpr std::size_t kMaxRank = 4;
    if (entry.elements == 0 || entry.shape.size() > kMaxRank) {
      return CorruptTensor(fmt::format("up to {} dimensions of 1 or more expected", kMaxRank));
    }
    Tensor tensor{.name = target.name,
                  .format = {},
                  .rank = static_cast<int>(entry.shape.size()),
                  .shape = {1, 1, 1, 1},
                  .file_offset = entry.file_offset,
                  .bytes = entry.bytes};
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      tensor.shape[i] = entry.shape[entry.shape.size() - 1 - i];
    }
    if (target.projection()) {
      BITTERN_TRY(SetProjection(entry, RowsOf(config_, *target.spec), &tensor));
    } else {
      const auto format = FloatFormat(entry.dtype);
      if (!format) return WrongType(entry, "F32, F16 or BF16");
      tensor.format = *format;
      if (target.is_weight && IsLessOne(config_, *target.spec)) {
        Make(&tensor, [](float value) { return value + 1; });
      }
    }
    mapped_.tensors.push_back(std::move(tensor));
    return {};
  }

  /// Puts floats of our own in place of a tensor's: change(value) of each.
  template <class Change>
  void Make(Tensor* tensor, Change change) {
    std::vector<float> values(tensor->num_elements());
    quant::DequantizeRowFor(tensor->format)(tensor->bytes.data(), values.size(), values.data());
    for (float& value : values) value = change(value);
    const auto bytes = std::as_bytes(std::span(values));
    tensor->bytes = mapped_.memory.emplace_back(bytes.begin(), bytes.end());
    tensor->format = quant::WeightFormat::kF32;
  }

  static tl::unexpected<Error> WrongType(const SafetensorsEntry& entry, std::string_view expected) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("type {} expected, {} found", expected, entry.dtype));
  }

  /// Sets format and scale of a projection: U8 is packed ternary with a scale beside it; floats are
  /// masters, or weights that are ternary already, as the configuration says.
  Result<void> SetProjection(const SafetensorsEntry& entry, std::uint64_t rows, Tensor* tensor) {
    if (entry.shape.size() != 2) {
      return CorruptTensor(fmt::format("two dimensions expected, {} found", entry.shape.size()));
    }
    const auto scale = scales_.find(entry.name + "_scale");
    if (entry.dtype == "U8") {
      if (scale == scales_.end()) return CorruptTensor("its weight_scale is missing");
      auto value = ReadScale(*scale->second);
      if (!value) {
        return tl::unexpected(bittern::Within("weight_scale", std::move(value).error()));
      }
      scales_.erase(scale);
      return SetPacked(entry, rows, scale_multiplies_ ? *value : 1.0f / *value, tensor);
    }
    const auto format = FloatFormat(entry.dtype);
    if (!format) return WrongType(entry, "U8, F32, F16 or BF16");
    if (float_weights_ == HfFloatWeights::kRefused) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("type U8 expected, since quantization_mode is \"offline\", {} found",
                              entry.dtype));
    }
    tensor->format = *format;
    tensor->quantize_absmean = float_weights_ != HfFloatWeights::kAsIs;
    tensor->may_be_ternary = float_weights_ == HfFloatWeights::kEither;
    return {};
  }

  /// Four rows of weights share a row of bytes, so the number of rows comes from config.json.
  static Result<void> SetPacked(const SafetensorsEntry& entry, std::uint64_t rows, float scale,
                                Tensor* tensor) {
    const std::uint64_t expected = quant::HfPackedRows(rows);
    if (entry.shape[0] != expected) {
      return CorruptTensor(fmt::format("{} packed rows expected for {} rows of weights, {} found",
                                       expected, rows, entry.shape[0]));
    }
    tensor->format = quant::WeightFormat::kHfPacked;
    tensor->shape[1] = rows;
    tensor->scale = scale;
    return {};
  }

  /// A head that is missing is a tied one, unless config.json says that it is not tied.
  Result<void> CheckHead() const {
    if (config_.tied_head.value_or(true) || names_.contains(TensorName(TensorId::kOutput)))
      return {};
    return CorruptTensor("tensor \"lm_head.weight\" is missing, but tie_word_embeddings is false");
  }

  const HfConfig& config_;
  std::span<const SafetensorsEntry> entries_;
  Decisions& decisions_;
  HfFloatWeights float_weights_;
  std::unordered_map<std::string, const SafetensorsEntry*> scales_;  // not yet used
  bool scale_multiplies_ = false;
  std::unordered_set<std::string> names_;
  HfMapped mapped_;
};

}  // namespace

Result<HfMapped> MapHfTensors(const HfConfig& config, std::span<const SafetensorsEntry> entries,
                              Decisions* decisions) {
  return Mapper(config, entries, decisions).Map();
}

}  // namespace bittern::formats
