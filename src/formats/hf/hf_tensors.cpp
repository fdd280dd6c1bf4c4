// SPDX-License-Identifier: Apache-2.0
// A tensor that is in no row of the table is refused, since leaving one out can be a different
// network. Small tensors that GGUF files have otherwise are made anew, in memory.
#include "formats/hf/hf_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/float16.hpp"
#include "base/portable_math.hpp"
#include "base/text/display.hpp"
#include "formats/hf/hf_delta.hpp"
#include "formats/hf/hf_mlx.hpp"
#include "formats/hf/hf_names.hpp"
#include "formats/hf/hf_rotation.hpp"
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

/// True for norms that a folder of such a network has less one.
bool IsLessOne(const TensorSpec& spec) {
  return spec.kind == TensorKind::kNorm && spec.presence != TensorPresence::kInputNorms &&
         spec.id != TensorId::kSsmNorm;
}

/// The experts of one matrix of a layer, each with a tensor of its own.
struct ExpertParts {
  std::map<std::uint64_t, const SafetensorsEntry*> entries;
};

/// Builds the list, one entry at a time; scales first, since a weight needs its own.
class Mapper {
 public:
  Mapper(const HfConfig& config, std::span<const SafetensorsEntry> entries, Decisions* decisions)
      : config_(config),
        entries_(entries),
        decisions_(*decisions),
        float_weights_(config.float_weights),
        mlx_(entries, config) {}

  /// Maps every entry. A scale that no weight took at the end is refused: its weight is missing or
  /// not packed.
  Result<HfMapped> Map() {
    for (const SafetensorsEntry& entry : entries_) {
      if (entry.name.ends_with(kScaleSuffix)) scales_.emplace(entry.name, &entry);
    }
    DecideScales();
    LookAround();
    for (const SafetensorsEntry& entry : entries_) {
      if (entry.name.ends_with(kScaleSuffix) || IsDerived(entry.name) || IsLeftOut(entry)) continue;
      auto added = IsSigns(config_, entry.name) ? CheckHfSigns(config_, entry) : Add(entry);
      if (!added) return Within(entry, std::move(added).error());
    }
    for (const auto& [name, entry] : scales_) {
      return Within(*entry, {ErrorCode::kCorruptFile, "belongs to no packed weight"});
    }
    for (const auto& [name, parts] : experts_) BITTERN_TRY(StackExperts(name, parts));
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

  /// Facts that one tensor says of others. Projections with a norm for their input are trained as
  /// BitNet's are, whatever their class is. MLX's converter turns the convolution around and adds
  /// one to norms, both or neither.
  void LookAround() {
    const auto any = [this](auto is) { return std::ranges::any_of(entries_, is); };
    if (config_.row->input_norms && !config_.has_quantization &&
        any([](const auto& entry) { return entry.name.ends_with("_proj.norm.weight"); })) {
      float_weights_ = HfFloatWeights::kEither;
    }
    norms_less_one_ = config_.row->hf_norms_less_one && !any([](const auto& entry) {
                        return entry.name.ends_with("conv1d.weight") && !entry.shape.empty() &&
                               entry.shape.back() == 1;
                      });
  }

  /// Sides of packs, and what stands beside the text in a model with more senses.
  bool IsLeftOut(const SafetensorsEntry& entry) {
    if (mlx_.IsSide(entry)) return true;
    if (config_.row->experts && entry.name.starts_with("lm_head_flash.")) {
      if (!flash_told_) {
        decisions_.push_back({"tensors beside the head", "left out",
                              fmt::format("{} and others guess the best tokens; here all logits "
                                          "are computed",
                                          Quoted(entry.name)),
                              false});
      }
      return flash_told_ = true;
    }
    if (!config_.row->delta_layers || !IsBesideTheText(entry.name)) return false;
    if (!left_out_) {
      decisions_.push_back(
          {"tensors beside the text", "left out",
           fmt::format("{} and others: pictures and guesses of tokens ahead", Quoted(entry.name)),
           false});
    }
    left_out_ = true;
    return true;
  }

  /// Adds one tensor, its dimensions turned around (GGUF names the innermost first). A head that
  /// config.json calls tied is a copy of the embedding, and is skipped.
  Result<void> Add(const SafetensorsEntry& entry) {
    const HfTarget target = BITTERN_TRY(FindHfTensor(config_, PlainHfName(entry.name)));
    if (target.name == TensorName(TensorId::kOutput) && config_.tied_head.value_or(false))
      return {};
    constexpr std::size_t kMaxRank = 4;
    if (entry.elements == 0 || entry.shape.size() > kMaxRank) {
      return CorruptTensor(fmt::format("up to {} dimensions of 1 or more expected", kMaxRank));
    }
    if (target.expert) {
      if (experts_[target.name].entries.emplace(*target.expert, &entry).second) return {};
    } else if (names_.insert(target.name).second) {
      return AddNamed(entry, target);
    }
    return CorruptTensor(fmt::format("there are two tensors for {}", target.name));
  }

  Result<void> AddNamed(const SafetensorsEntry& entry, const HfTarget& target) {
    Tensor tensor{.name = target.name,
                  .format = {},
                  .rank = static_cast<int>(entry.shape.size()),
                  .shape = {1, 1, 1, 1},
                  .file_offset = entry.file_offset,
                  .bytes = entry.bytes};
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      tensor.shape[i] = entry.shape[entry.shape.size() - 1 - i];
    }
    TensorPlaces places;
    if (target.projection()) {
      BITTERN_TRY(SetProjection(entry, *target.spec, &places, &tensor));
    } else {
      BITTERN_TRY(SetPlain(entry, target, &tensor));
    }
    if (target.spec->presence == TensorPresence::kDelta) {
      BITTERN_TRY(OrderHeads(*target.spec, &places, &tensor));
    }
    const bool moved = !places.rows.empty() || !places.columns.empty() || places.group_cols != 0;
    if (moved) tensor.places = std::make_shared<const TensorPlaces>(std::move(places));
    mapped_.tensors.push_back(std::move(tensor));
    return {};
  }

  /// Sets format and bytes of a tensor that is no projection.
  Result<void> SetPlain(const SafetensorsEntry& entry, const HfTarget& target, Tensor* tensor) {
    if (entry.dtype == "U32") {
      const bool dense = target.spec->kind == TensorKind::kDense;
      auto bytes =
          BITTERN_TRY(dense ? mlx_.MakeBlocks(entry, tensor) : mlx_.MakeFloats(entry, tensor));
      tensor->bytes = mapped_.memory.emplace_back(std::move(bytes));
      return {};
    }
    const auto format = FloatFormat(entry.dtype);
    if (!format) return WrongType(entry, "F32, F16 or BF16");
    tensor->format = *format;
    if (target.is_weight && norms_less_one_ && IsLessOne(*target.spec)) {
      Make(tensor, [](float value) { return value + 1; });
    }
    if (target.spec->id == TensorId::kSsmA) {
      Make(tensor,
           [](float value) { return -static_cast<float>(Exp(static_cast<double>(value))); });
    }
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

  /// The order of value heads (hf_delta.hpp): large matrices are read in it, small tensors are
  /// copied.
  Result<void> OrderHeads(const TensorSpec& spec, TensorPlaces* places, Tensor* tensor) {
    if (spec.id == TensorId::kSsmConv) {  // one of its three dimensions is 1
      const std::uint64_t taps = config_.delta.taps;
      if (tensor->num_elements() % taps == 0) {
        tensor->shape = {taps, tensor->num_elements() / taps, 1, 1};
        tensor->rank = 2;
      }
    }
    DeltaOrder order = OrderOfDelta(config_.delta, spec.id);
    // Columns were mixed by the rotation, which the network does in the folder's order.
    if (order.places.empty() || (order.columns && config_.rotated)) return {};
    const bool vector = spec.kind == TensorKind::kValues;
    const std::uint64_t found = order.columns || vector ? tensor->row_elements() : tensor->rows();
    if (found != order.places.size()) {
      return CorruptTensor(fmt::format("{} {} expected, {} found", order.places.size(),
                                       vector          ? "numbers"
                                       : order.columns ? "columns"
                                                       : "rows",
                                       found));
    }
    if (spec.ternary()) {
      if (order.columns) BITTERN_TRY(CheckGroups(*places));
      (order.columns ? places->columns : places->rows) = std::move(order.places);
      return {};
    }
    const std::size_t row_bytes = tensor->bytes.size() / found;
    auto& copy = mapped_.memory.emplace_back(tensor->bytes.size());
    for (std::size_t row = 0; row < found; ++row) {
      std::memcpy(copy.data() + row * row_bytes,
                  tensor->bytes.data() + order.places[row] * row_bytes, row_bytes);
    }
    tensor->bytes = copy;
    return {};
  }

  /// Scales of groups move with their columns.
  [[nodiscard]] Result<void> CheckGroups(const TensorPlaces& places) const {
    if (places.group_cols == 0 || config_.delta.head_dim % places.group_cols == 0) return {};
    return Fail(ErrorCode::kUnsupported,
                fmt::format("heads of a multiple of group_size {} columns expected, of {} found",
                            places.group_cols, config_.delta.head_dim));
  }

  static tl::unexpected<Error> WrongType(const SafetensorsEntry& entry, std::string_view expected) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("type {} expected, {} found", expected, entry.dtype));
  }

  /// Sets format and scale of a projection: U8 is packed ternary with a scale beside it, U32 is
  /// MLX's pack; floats are masters, or weights that are ternary already, as the configuration
  /// says.
  Result<void> SetProjection(const SafetensorsEntry& entry, const TensorSpec& spec,
                             TensorPlaces* places, Tensor* tensor) {
    const std::size_t rank = spec.presence == TensorPresence::kMixture ? 3 : 2;
    if (entry.shape.size() != rank) {
      return CorruptTensor(fmt::format("{} dimensions expected, {} found",
                                       rank == 2 ? "two" : "three", entry.shape.size()));
    }
    if (entry.dtype == "U32") return mlx_.SetMatrix(entry, places, tensor);
    const auto scale = scales_.find(entry.name + "_scale");
    if (entry.dtype == "U8") {
      if (scale == scales_.end()) return CorruptTensor("its weight_scale is missing");
      auto value = ReadScale(*scale->second);
      if (!value) {
        return tl::unexpected(bittern::Within("weight_scale", std::move(value).error()));
      }
      scales_.erase(scale);
      return SetPacked(entry, RowsOf(config_, spec), scale_multiplies_ ? *value : 1.0f / *value,
                       tensor);
    }
    const auto format = FloatFormat(entry.dtype);
    if (!format) return WrongType(entry, "U8, F32, F16 or BF16");
    if (float_weights_ == HfFloatWeights::kRefused) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("type U8 expected, since quantization_mode is \"offline\", {} found",
                              entry.dtype));
    }
    tensor->format = *format;
    tensor->quantize_rows = float_weights_ == HfFloatWeights::kThresholds;
    tensor->quantize_absmean = float_weights_ != HfFloatWeights::kAsIs && !tensor->quantize_rows;
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

  /// One tensor of all experts, whose matrices stay where they are.
  Result<void> StackExperts(const std::string& name, const ExpertParts& parts) {
    const auto fail = [&](std::string what) {
      return CorruptTensor(fmt::format("tensor {}: {}", Quoted(name), what));
    };
    if (names_.contains(name)) return fail("experts stacked or apart expected, both found");
    const SafetensorsEntry& first = *parts.entries.begin()->second;
    TensorPlaces places;
    for (std::uint64_t e = 0; e < config_.num_experts; ++e) {
      const auto found = parts.entries.find(e);
      if (found == parts.entries.end()) {
        return fail(fmt::format("{} experts expected (num_experts), expert {} is missing",
                                config_.num_experts, e));
      }
      const SafetensorsEntry& entry = *found->second;
      if (entry.shape.size() != 2 || entry.shape != first.shape || entry.dtype != first.dtype) {
        return Within(entry, {ErrorCode::kCorruptFile,
                              "two dimensions and a type as those of expert 0 expected"});
      }
      places.parts.push_back(entry.bytes);
    }
    if (parts.entries.size() != config_.num_experts) {
      return fail(fmt::format("{} experts expected (num_experts), {} found", config_.num_experts,
                              parts.entries.size()));
    }
    Tensor tensor{.name = name,
                  .format = {},
                  .rank = 3,
                  .shape = {first.shape[1], first.shape[0], config_.num_experts, 1},
                  .file_offset = first.file_offset,
                  .bytes = first.bytes};
    if (first.dtype == "U32") {
      BITTERN_TRY(StackPacks(parts, &places, &tensor));
    } else {
      const auto format = FloatFormat(first.dtype);
      if (!format)
        return Within(first, std::move(WrongType(first, "F32, F16, BF16 or U32")).value());
      tensor.format = *format;
      tensor.quantize_rows = float_weights_ == HfFloatWeights::kThresholds;
    }
    tensor.places = std::make_shared<const TensorPlaces>(std::move(places));
    mapped_.tensors.push_back(std::move(tensor));
    return {};
  }

  /// The scales of all experts, copied one behind the other.
  Result<void> StackPacks(const ExpertParts& parts, TensorPlaces* places, Tensor* tensor) {
    std::vector<std::byte> scales, biases;
    for (const auto& [expert, entry] : parts.entries) {
      TensorPlaces its;
      auto set = mlx_.SetMatrix(*entry, &its, tensor);
      if (!set) return Within(*entry, std::move(set).error());
      if (expert == 0) {
        places->group_cols = its.group_cols;
        places->scale_format = its.scale_format;
      } else if (its.group_cols != places->group_cols || its.biases.empty() != biases.empty() ||
                 its.scale_format != places->scale_format) {
        return Within(*entry, {ErrorCode::kCorruptFile, "scales as those of expert 0 expected"});
      }
      scales.insert(scales.end(), its.scales.begin(), its.scales.end());
      biases.insert(biases.end(), its.biases.begin(), its.biases.end());
    }
    places->scales = mapped_.memory.emplace_back(std::move(scales));
    if (!biases.empty()) places->biases = mapped_.memory.emplace_back(std::move(biases));
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
  MlxSides mlx_;
  std::unordered_map<std::string, const SafetensorsEntry*> scales_;  // not yet used
  bool scale_multiplies_ = false, norms_less_one_ = false, left_out_ = false, flash_told_ = false;
  std::unordered_set<std::string> names_;
  std::map<std::string, ExpertParts> experts_;
  HfMapped mapped_;
};

}  // namespace

Result<HfMapped> MapHfTensors(const HfConfig& config, std::span<const SafetensorsEntry> entries,
                              Decisions* decisions) {
  return Mapper(config, entries, decisions).Map();
}

}  // namespace bittern::formats
