// SPDX-License-Identifier: Apache-2.0
// A tensor is planned by its kind (ternary, embedding, float) and by the formats of the target.
#include "formats/convert/convert_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/float16.hpp"
#include "base/text/display.hpp"
#include "formats/hf/hf_names.hpp"
#include "formats/network_tensors.hpp"
#include "quant/blocks/dequantize.hpp"
#include "quant/blocks/quantize.hpp"
#include "quant/hf_packed.hpp"
#include "quant/tl_tiling.hpp"

namespace bittern::formats {
namespace {

using quant::WeightFormat;

constexpr std::string_view kSafetensors = "safetensors";

/// A value of the option `embeddings` and the format it stands for; "keep" is in no row.
struct Embedding {
  std::string_view name;
  WeightFormat format;
};
constexpr Embedding kEmbeddings[] = {{"f32", WeightFormat::kF32},
                                     {"f16", WeightFormat::kF16},
                                     {"bf16", WeightFormat::kBF16},
                                     {"q8_0", WeightFormat::kQ8_0},
                                     {"q6_k", WeightFormat::kQ6_K}};

/// True for the token embedding and the head: large plain matrices that `embeddings` is about.
bool IsEmbedding(std::string_view name) {
  const TensorSpec* spec = FindWeight(name);
  return spec != nullptr && spec->kind == TensorKind::kDense;
}

bool IsFloat(WeightFormat format) {
  return format == WeightFormat::kF32 || format == WeightFormat::kF16 ||
         format == WeightFormat::kBF16;
}

/// True for the formats whose bytes depend on a tiling.
bool IsLookupTable(WeightFormat format) {
  return format == WeightFormat::kTL1 || format == WeightFormat::kTL2;
}

/// The two ways a folder can store a scale; each gives the number that is read back.
float AsBfloat(float value) noexcept { return BfloatToFloat(FloatToBfloat(value)); }
float AsFloat(float value) noexcept { return value; }

/// True if BF16 holds every number of a float tensor.
bool FitsBfloat(const Tensor& tensor) {
  std::vector<float> row(tensor.row_elements());
  const std::size_t row_bytes = tensor.bytes.size() / tensor.rows();
  for (std::size_t r = 0; r < tensor.rows(); ++r) {
    quant::DequantizeRowFor(tensor.format)(tensor.bytes.data() + r * row_bytes, row.size(),
                                           row.data());
    for (const float value : row) {
      if (AsBfloat(value) != value) return false;
    }
  }
  return true;
}

/// Goes over the source's tensors once and fills the plan. Nothing is written here, so every
/// refusal comes before the first byte of output.
class Planner {
 public:
  Planner(const Checkpoint& source, const ConvertOptions& options)
      : source_(source), options_(options) {}

  /// Plans every tensor in the source's order; errors name the tensor.
  Result<ConvertPlan> Plan() {
    BITTERN_TRY(ReadOptions());
    plan_.from_order = BITTERN_TRY(RowOrderOf(source_.metadata()));
    const auto architecture = BITTERN_TRY(source_.metadata().GetString("general.architecture"));
    plan_.to_order = plan_.to_folder ? RowOrder::kHalves : GgufRowOrder(architecture.value_or(""));
    opener_ = BITTERN_TRY(TernaryOpener::Create(source_, &plan_.decisions));
    for (const Tensor& tensor : source_.tensors()) {
      auto planned = PlanTensor(tensor);
      if (!planned) {
        return tl::unexpected(
            Within(fmt::format("tensor {}", Quoted(tensor.name)), std::move(planned).error()));
      }
    }
    if (plan_.to_folder) SortForFolder();
    return std::move(plan_);
  }

 private:
  Result<void> ReadOptions();
  Result<void> PlanTensor(const Tensor& tensor);
  Result<void> PlanTernary(const Tensor& tensor);
  Result<void> PlanPlain(const Tensor& tensor);
  WeightFormat PlainFormat(const Tensor& tensor);
  Result<TernaryTarget> Target(const Tensor& tensor, const TernarySource& source) const;
  Result<quant::TlTiling> Tiling(std::size_t rows, std::size_t cols) const;
  Result<std::string> NameOf(const Tensor& tensor) const;
  void SortForFolder();

  const Checkpoint& source_;
  const ConvertOptions& options_;
  std::optional<WeightFormat> embeddings_;
  std::optional<TernaryOpener> opener_;
  ConvertPlan plan_;
};

/// Checks the names among the options. Safetensors have no quantised embeddings, so a folder takes
/// the float formats only.
Result<void> Planner::ReadOptions() {
  plan_.to_folder = options_.to == kSafetensors;
  if (std::ranges::find(ConvertTargets(), options_.to) == ConvertTargets().end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("target {}: one of {} expected", Quoted(options_.to),
                            fmt::join(ConvertTargets(), ", ")));
  }
  plan_.codec = plan_.to_folder ? &quant::CodecOf(quant::TernaryLayout::kHfPacked)
                                : quant::FindCodec(options_.to);
  for (const Embedding& embedding : kEmbeddings) {
    if (embedding.name == options_.embeddings) embeddings_ = embedding.format;
  }
  if (!embeddings_ && options_.embeddings != "keep") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("embeddings {}: one of {} expected", Quoted(options_.embeddings),
                            fmt::join(EmbeddingFormats(), ", ")));
  }
  if (plan_.to_folder && embeddings_ && !IsFloat(*embeddings_)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("embeddings {}: safetensors hold f32, f16 or bf16",
                            Quoted(options_.embeddings)));
  }
  return {};
}

Result<std::string> Planner::NameOf(const Tensor& tensor) const {
  if (!plan_.to_folder) return tensor.name;
  return HfTensorName(tensor.name);
}

/// Sorts one tensor by its kind. A scale beside a projection is dropped, as it becomes part of the
/// projection. A bias of q or k is refused where its rows would have to be permuted with the
/// weight's.
Result<void> Planner::PlanTensor(const Tensor& tensor) {
  if (IsScaleOfProjection(source_, tensor)) return {};
  if (IsProjection(tensor.name)) return PlanTernary(tensor);
  const auto named = ParseTensorName(tensor.name);
  if (plan_.from_order != plan_.to_order && named && named->part == ".bias" &&
      HasRowOrder(TensorName(named->spec->id))) {
    return Fail(ErrorCode::kUnsupported, "biases of permuted rows are not supported");
  }
  return PlanPlain(tensor);
}

/// The tiling of one shape: the one the caller gave, else the kernels' default for the format.
Result<quant::TlTiling> Planner::Tiling(std::size_t rows, std::size_t cols) const {
  for (const ShapeTiling& given : options_.tilings) {
    if (given.rows == rows && given.cols == cols) return given.tiling;
  }
  if (const auto tiling = quant::DefaultTiling(plan_.codec->format, rows, cols)) return *tiling;
  return Fail(ErrorCode::kUnsupported,
              fmt::format("no tiling of {} fits a matrix of {} rows and {} columns",
                          plan_.codec->name, rows, cols));
}

/// The target of one ternary tensor: codec, tiling, the rounding of its scale in a folder, and the
/// new order of rows. The codec's check refuses shapes that do not fit its blocks.
Result<TernaryTarget> Planner::Target(const Tensor& tensor, const TernarySource& source) const {
  TernaryTarget target{.codec = plan_.codec, .row_order = {}};
  if (IsLookupTable(plan_.codec->format)) {
    target.tiling = BITTERN_TRY(Tiling(source.rows(), source.cols()));
  }
  if (plan_.to_folder) target.stored_scale = options_.float_scales ? AsFloat : AsBfloat;
  if (plan_.from_order != plan_.to_order && HasRowOrder(tensor.name)) {
    const std::size_t head_dim = BITTERN_TRY(HeadDimOf(source_.metadata()));
    target.row_order =
        BITTERN_TRY(RowPermutation(plan_.from_order, plan_.to_order, source.rows(), head_dim));
  }
  auto fits = target.codec->check(source.rows(), source.cols(), target.tiling);
  if (!fits) return tl::unexpected(NameFormats(source, std::move(fits).error()));
  return target;
}

/// Plans a projection. A folder gets a second tensor for its scale, "NAME_scale", as transformers'
/// BitLinear has it; its value is known only when the weight has been encoded.
Result<void> Planner::PlanTernary(const Tensor& tensor) {
  TernarySource source = BITTERN_TRY(opener_->Open(tensor));
  std::string name = BITTERN_TRY(NameOf(tensor));
  TernaryTarget target = BITTERN_TRY(Target(tensor, source));
  PlannedTensor planned{.kind = PlannedTensor::Kind::kTernary,
                        .name = std::move(name),
                        .source = &tensor,
                        .format = plan_.codec->format,
                        .ternary = {},
                        .target = std::move(target),
                        .hf_shape = {quant::HfPackedRows(source.rows()), source.cols()}};
  planned.bytes = plan_.codec->bytes(source.rows(), source.cols(), planned.target.tiling);
  planned.ternary = std::move(source);
  PlannedTensor scale{.kind = PlannedTensor::Kind::kScale,
                      .name = planned.name + "_scale",
                      .source = &tensor,
                      .format = options_.float_scales ? WeightFormat::kF32 : WeightFormat::kBF16,
                      .bytes = options_.float_scales ? sizeof(float) : 2,
                      .ternary = {},
                      .target = {},
                      .hf_shape = {1}};
  plan_.tensors.push_back(std::move(planned));
  if (plan_.to_folder) plan_.tensors.push_back(std::move(scale));
  return {};
}

/// The format of a tensor that is not ternary: the option decides for embeddings; norms and biases
/// follow the custom of the target.
WeightFormat Planner::PlainFormat(const Tensor& tensor) {
  if (IsEmbedding(tensor.name)) {
    if (embeddings_) return *embeddings_;
    if (!plan_.to_folder || IsFloat(tensor.format)) return tensor.format;
    plan_.notes.push_back(
        fmt::format("{} is {} in the source, which safetensors cannot hold; it is written as F32",
                    tensor.name, quant::InfoOf(tensor.format).name));
    return WeightFormat::kF32;
  }
  if (!IsFloat(tensor.format)) return plan_.to_folder ? WeightFormat::kF32 : tensor.format;
  // GGUF keeps norms as F32; Hugging Face's models as BF16, which is what they mostly came from.
  return plan_.to_folder && FitsBfloat(tensor) ? WeightFormat::kBF16 : WeightFormat::kF32;
}

/// Plans a copy, or an encoding where the format changes. Safetensors name dimensions from the
/// outermost, GGUF from the innermost, so the shape is turned around.
Result<void> Planner::PlanPlain(const Tensor& tensor) {
  std::string name = BITTERN_TRY(NameOf(tensor));
  PlannedTensor planned{.kind = PlannedTensor::Kind::kCopy,
                        .name = std::move(name),
                        .source = &tensor,
                        .format = PlainFormat(tensor),
                        .bytes = tensor.bytes.size(),
                        .ternary = {},
                        .target = {},
                        .hf_shape = {}};
  for (int i = tensor.rank; i-- > 0;) {
    planned.hf_shape.push_back(tensor.shape[static_cast<std::size_t>(i)]);
  }
  if (planned.format != tensor.format) {
    if (quant::DequantizeRowFor(tensor.format) == nullptr) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("{} cannot be turned into {}", quant::InfoOf(tensor.format).name,
                              quant::InfoOf(planned.format).name));
    }
    planned.kind = PlannedTensor::Kind::kEncode;
    planned.bytes = BITTERN_TRY(
        quant::TensorBytes(quant::InfoOf(planned.format), tensor.row_elements(), tensor.rows()));
  }
  plan_.tensors.push_back(std::move(planned));
  return {};
}

/// Readers of safetensors view numbers in place, so each type should begin at a multiple of its
/// size without gaps: packed weights (mostly large powers of two) first, then F32, then 16 bits.
/// The scales come after the weights, since only these tell them.
void Planner::SortForFolder() {
  const auto rank = [](const PlannedTensor& tensor) {
    if (tensor.kind == PlannedTensor::Kind::kTernary) return tensor.bytes % 4 == 0 ? 0 : 1;
    return tensor.format == WeightFormat::kF32 ? 2 : 3;
  };
  std::vector<PlannedTensor> sorted;
  for (int wanted = 0; wanted <= 3; ++wanted) {
    for (PlannedTensor& tensor : plan_.tensors) {
      if (rank(tensor) == wanted) sorted.push_back(std::move(tensor));
    }
  }
  plan_.tensors = std::move(sorted);
}

}  // namespace

bool IsProjection(std::string_view name) noexcept {
  const TensorSpec* spec = FindWeight(name);
  return spec != nullptr && spec->ternary();
}

bool IsScaleOfProjection(const Checkpoint& file, const Tensor& tensor) {
  constexpr std::string_view kSuffix = ".scale";
  const auto named = ParseTensorName(tensor.name);
  if (!named || named->part != kSuffix || !named->spec->ternary()) return false;
  const std::string stem = tensor.name.substr(0, tensor.name.size() - kSuffix.size());
  return file.Find(stem + ".weight") != nullptr;
}

std::span<const std::string_view> ConvertTargets() {
  static constexpr std::string_view kNames[] = {
      "i2_s",   "i2_s:arm-64", "i2_s:row4", "i2_s:sequential", "tl1",    "tl2",
      "tq1_0",  "tq2_0",       "q2_0",      "pq2_0",           "ptq1_0", "q1_0",
      "stq1_0", "iq1_bn",      "iq2_bn",    "iq2_bn_r4",       "f32",    "f16",
      "bf16",   kSafetensors};
  return kNames;
}

std::span<const std::string_view> EmbeddingFormats() {
  static constexpr std::string_view kNames[] = {"keep", "f32", "f16", "bf16", "q8_0", "q6_k"};
  return kNames;
}

Result<ConvertPlan> PlanConversion(const Checkpoint& source, const ConvertOptions& options) {
  return Planner(source, options).Plan();
}

}  // namespace bittern::formats
