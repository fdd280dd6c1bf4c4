// SPDX-License-Identifier: Apache-2.0
// Names are parsed, not matched against patterns: "model.layers.N." then a row of the table. What
// is in no row is refused, since a tensor that is left out can be a different network.
#include "formats/hf/hf_tensors.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/float16.hpp"
#include "base/text/display.hpp"
#include "formats/hf/hf_scales.hpp"
#include "formats/network_tensors.hpp"
#include "quant/hf_packed.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kScaleSuffix = ".weight_scale";

tl::unexpected<Error> CorruptTensor(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

/// Names of modules, without the layer in front.
struct Module {
  TensorId id;
  std::string_view hf;
};
constexpr Module kModules[] = {
#define TENSOR(id, gguf, hf, ...) {TensorId::id, hf},
#define HF_ALIAS(id, hf) {TensorId::id, hf},
#include "formats/network_tensors.def"
#undef TENSOR
#undef HF_ALIAS
};

/// The suffix of a module's name, and GGUF's word for it.
struct Part {
  std::string_view hf, gguf;
};
constexpr Part kParts[] = {
    {".weight", ".weight"},
    {".bias", ".bias"},
    {".norm.weight", "_norm_in.weight"},
    {".rms_norm.weight", "_norm_in.weight"},
};

/// The name in GGUF's words of a tensor of the folder.
struct Target {
  std::string name;
  const TensorSpec* projection = nullptr;  ///< set for the weight of one
};

/// Finds `name` among the modules of a layer or of the model: module and part must fill the name.
std::optional<Target> FindIn(TensorPlace place, std::string_view name, const std::string& prefix) {
  for (const Module& module : kModules) {
    const TensorSpec& spec = SpecOf(module.id);
    if (spec.place != place || !name.starts_with(module.hf)) continue;
    for (const Part& part : kParts) {
      if (name.substr(module.hf.size()) != part.hf) continue;
      const bool is_weight = part.hf == kParts[0].hf;
      return Target{fmt::format("{}{}{}", prefix, spec.gguf, part.gguf),
                    is_weight && spec.ternary() ? &spec : nullptr};
    }
  }
  return std::nullopt;
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

/// The layer's number at the front of `rest`, which then continues after it and a dot.
std::optional<std::uint64_t> TakeLayerNumber(std::string_view* rest) {
  std::uint64_t layer = 0;
  const char* last = rest->data() + rest->size();
  const auto [end, error] = std::from_chars(rest->data(), last, layer);
  if (error != std::errc() || end == last || *end != '.') return std::nullopt;
  rest->remove_prefix(static_cast<std::size_t>(end - rest->data()) + 1);
  return layer;
}

/// Maps a whole name. A layer beyond num_hidden_layers is an error of the file; a name in no table
/// is a network that is not supported.
Result<Target> MapName(const HfConfig& config, std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  std::optional<Target> target;
  if (name.starts_with(kLayers)) {
    std::string_view rest = name.substr(kLayers.size());
    const auto layer = TakeLayerNumber(&rest);
    if (layer && *layer >= config.num_layers) {
      return CorruptTensor(fmt::format("layers 0 to {} expected (num_hidden_layers), {} found",
                                       config.num_layers - 1, *layer));
    }
    if (layer) target = FindIn(TensorPlace::kLayer, rest, fmt::format("blk.{}.", *layer));
  } else {
    target = FindIn(TensorPlace::kModel, name, "");
  }
  if (!target) {
    return Fail(ErrorCode::kUnsupported, "is part of no network that is supported");
  }
  return *std::move(target);
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

/// Builds the list, one entry at a time; scales first, since a weight needs its own.
class Mapper {
 public:
  Mapper(const HfConfig& config, std::span<const SafetensorsEntry> entries, Decisions* decisions)
      : config_(config), entries_(entries), decisions_(*decisions) {}

  /// Maps every entry. A scale that no weight took at the end is refused: its weight is missing or
  /// not packed.
  Result<std::vector<Tensor>> Map() {
    for (const SafetensorsEntry& entry : entries_) {
      if (entry.name.ends_with(kScaleSuffix)) scales_.emplace(entry.name, &entry);
    }
    DecideScales();
    for (const SafetensorsEntry& entry : entries_) {
      if (entry.name.ends_with(kScaleSuffix) || IsDerived(entry.name)) continue;
      auto added = Add(entry);
      if (!added) return Within(entry, std::move(added).error());
    }
    for (const auto& [name, entry] : scales_) {
      return Within(*entry, {ErrorCode::kCorruptFile, "belongs to no packed weight"});
    }
    BITTERN_TRY(CheckHead());
    return std::move(tensors_);
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

  /// Adds one tensor, its dimensions turned around (GGUF names the innermost first). A head that
  /// config.json calls tied is a copy of the embedding, and is skipped.
  Result<void> Add(const SafetensorsEntry& entry) {
    const Target target = BITTERN_TRY(MapName(config_, entry.name));
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
    if (target.projection != nullptr) {
      BITTERN_TRY(SetProjection(entry, RowsOf(config_, *target.projection), &tensor));
    } else {
      const auto format = FloatFormat(entry.dtype);
      if (!format) return WrongType(entry, "F32, F16 or BF16");
      tensor.format = *format;
    }
    tensors_.push_back(std::move(tensor));
    return {};
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
    if (config_.float_weights == HfFloatWeights::kRefused) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("type U8 expected, since quantization_mode is \"offline\", {} found",
                              entry.dtype));
    }
    tensor->format = *format;
    tensor->quantize_absmean = config_.float_weights != HfFloatWeights::kAsIs;
    tensor->may_be_ternary = config_.float_weights == HfFloatWeights::kEither;
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
  std::unordered_map<std::string, const SafetensorsEntry*> scales_;  // not yet used
  bool scale_multiplies_ = false;
  std::unordered_set<std::string> names_;
  std::vector<Tensor> tensors_;
};

}  // namespace

Result<std::vector<Tensor>> MapHfTensors(const HfConfig& config,
                                         std::span<const SafetensorsEntry> entries,
                                         Decisions* decisions) {
  return Mapper(config, entries, decisions).Map();
}

}  // namespace bittern::formats
