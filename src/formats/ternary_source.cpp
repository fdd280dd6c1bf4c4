// SPDX-License-Identifier: Apache-2.0
// The meaning of a ternary tensor's bytes. The type id of a tensor is not enough: id 36 has four
// byte layouts, TL1 and TL2 depend on a tiling, scales may stand in a tensor of their own.
// TernaryOpener settles this once for a file (by its keys, the user's override, or the detectors)
// and writes down how; TernarySource then reads rows as codes and scales, checked. Threads may read
// one source.
#include "formats/ternary_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text/display.hpp"
#include "formats/i2s_detector.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kLayoutKey = "ternary.layout", kTilingKey = "ternary.tl.tiling";

/// A value of the key ternary.layout, and the layout of I2_S that it names.
struct LayoutName {
  std::string_view name;
  quant::TernaryLayout layout;
};
constexpr LayoutName kLayoutNames[] = {{"x86-128", quant::TernaryLayout::kI2sX86},
                                       {"arm-64", quant::TernaryLayout::kI2sArm},
                                       {"row4", quant::TernaryLayout::kI2sRow4},
                                       {"sequential", quant::TernaryLayout::kI2sSequential}};

std::string_view LayoutNameOf(quant::TernaryLayout layout) {
  for (const auto& [name, of] : kLayoutNames) {
    if (of == layout) return name;
  }
  return "?";
}

/// The key of `tilings_`: a tiling belongs to a format and a shape.
std::string ShapeKey(quant::WeightFormat format, std::size_t rows, std::size_t cols) {
  return fmt::format("{} {}x{}", quant::InfoOf(format).name, rows, cols);
}

std::string Describe(const quant::TlTiling& t) {
  return fmt::format("BM {}, BK {}, bm {}", t.bm_rows, t.bk_cols, t.group_rows);
}

/// True for formats whose bytes depend on a tiling.
bool HasLookupTable(quant::WeightFormat format) {
  return format == quant::WeightFormat::kTL1 || format == quant::WeightFormat::kTL2;
}

/// True where every row of floats holds only -s, 0 and s for an s of its own. The largest s goes to
/// `largest`.
bool IsTernary(const quant::TernaryCodec& codec, const quant::TernaryView& view,
               float* largest = nullptr) {
  std::vector<std::uint8_t> codes(view.cols);
  for (std::size_t row = 0; row < view.rows; ++row) {
    float scale;
    codec.unpack(view, row, 1, codes.data(), &scale);
    if (std::ranges::find(codes, 3) != codes.end()) return false;
    if (largest != nullptr) *largest = std::max(*largest, scale);
  }
  return true;
}

/// So, and some s is not 0.
bool HoldsTernary(const quant::TernaryCodec& codec, const quant::TernaryView& view) {
  float largest = 0;
  return IsTernary(codec, view, &largest) && largest > 0;
}

/// The scale of a whole matrix of master weights.
Result<quant::AbsmeanScale> MasterScale(const Tensor& tensor) {
  const std::size_t row_bytes = tensor.bytes.size() / tensor.rows();
  double sum = 0;
  for (std::size_t row = 0; row < tensor.rows(); ++row) {
    sum += quant::AbsSumOfRow(tensor.format, tensor.bytes.subspan(row * row_bytes, row_bytes),
                              tensor.row_elements());
  }
  return quant::AbsmeanFromSum(sum, tensor.num_elements());
}

}  // namespace

std::size_t TernarySource::group_cols() const noexcept {
  if (places_ && places_->group_cols != 0) return places_->group_cols;
  if (float_group_ != 0) return float_group_;
  return !is_master() && codec_->grain == quant::ScaleGrain::kGroup ? codec_->group_cols : cols();
}

std::size_t TernarySource::scales_per_row() const noexcept {
  const std::size_t group = group_cols();
  return (cols() + group - 1) / group;
}

/// Rows that lie as GGUF has them. Masters are quantised as they are read. Other scales are
/// multiplied by the tensor's factor; a product that is no positive number is refused here, before
/// it spoils a forward pass.
Result<void> TernarySource::ReadRows(std::size_t first, std::size_t count, std::uint8_t* codes,
                                     float* scales) const {
  const auto row_bytes = [this] { return view_.bytes.size() / rows(); };
  if (places_ || row_masters_ || float_group_ != 0) {
    for (std::size_t r = 0; r < count; ++r) {
      std::uint8_t* to = codes + r * cols();
      float* its_scales = scales + r * scales_per_row();
      const bool moved = places_ && !places_->rows.empty();
      const std::size_t row = moved ? places_->rows[first + r] : first + r;
      BITTERN_TRY(ReadStoredRow(row, to, its_scales));
      if (places_ && !places_->columns.empty()) OrderColumns(to, its_scales);
    }
    return {};
  }
  if (master_) {
    for (std::size_t r = 0; r < count; ++r) {
      quant::AbsmeanCodes(codec_->format,
                          view_.bytes.subspan((first + r) * row_bytes(), row_bytes()),
                          master_->reciprocal, {codes + r * cols(), cols()});
      scales[r] = master_->scale;
    }
    return {};
  }
  BITTERN_TRY(quant::UnpackRowsChecked(*codec_, view_, first, count, codes, scales));
  return Multiply(first, count, scales);
}

Result<void> TernarySource::Multiply(std::size_t first, std::size_t count, float* scales) const {
  for (std::size_t i = 0; i < count * scales_per_row(); ++i) {
    const float stored = scales[i];
    scales[i] *= multiplier_;
    if (stored == 0 || (std::isfinite(scales[i]) && scales[i] > 0)) continue;
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("row {}: expected a finite positive scale, found {} times {}, which is "
                            "{} in a float",
                            first + i / scales_per_row(), stored, multiplier_, scales[i]));
  }
  return {};
}

Result<void> TernarySource::ReadStoredRow(std::size_t row, std::uint8_t* codes,
                                          float* scales) const {
  quant::TernaryView view = view_;
  std::size_t row_of_part = row;
  if (places_ && !places_->parts.empty()) {
    view.rows = rows() / places_->parts.size();
    view.bytes = places_->parts[row / view.rows];
    row_of_part = row % view.rows;
  }
  const std::size_t row_bytes = view.bytes.size() / view.rows;
  const auto bytes = view.bytes.subspan(row_of_part * row_bytes, row_bytes);
  if (master_) {
    quant::AbsmeanCodes(codec_->format, bytes, master_->reciprocal, {codes, cols()});
    *scales = master_->scale;
    return {};
  }
  if (row_masters_) {
    *scales = quant::ThresholdCodes(codec_->format, bytes, {codes, cols()});
    if (std::isfinite(*scales)) return {};
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("row {}: expected finite weights, found a NaN or an infinity", row));
  }
  // Groups of floats are read as rows of as many columns.
  const std::size_t group = float_group_ != 0 ? float_group_ : cols();
  view = {bytes, cols() / group, group, view.tiling};
  auto read = quant::UnpackRowsChecked(*codec_, view, 0, view.rows, codes, scales);
  if (!read) {
    Error error = std::move(read).error();
    return tl::unexpected(Within(fmt::format("row {}, in groups of {}", row, group), error));
  }
  if (places_ && places_->group_cols != 0) return ReadScalesApart(row, codes, scales);
  return Multiply(row, 1, scales);
}

/// A negative scale turns every sign around, as MLX's own quantiser has it for some groups.
Result<void> TernarySource::ReadScalesApart(std::size_t row, std::uint8_t* codes,
                                            float* scales) const {
  const TensorPlaces& places = *places_;
  const std::size_t group = places.group_cols, per_row = scales_per_row();
  for (std::size_t g = 0; g < per_row; ++g) {
    auto [scale, bias] = places.ScaleAndBias(row * per_row + g);
    const std::span<std::uint8_t> part(codes + g * group, group);
    if (!(bias == -scale && std::isfinite(scale))) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("row {}, column {}: expected ternary weights (a finite scale, and "
                              "minus the scale as bias), found scale {} and bias {}",
                              row, g * group, scale, bias));
    }
    if (scale < 0) {
      for (std::uint8_t& code : part) code = static_cast<std::uint8_t>(2 - code);
      scale = -scale;
    }
    const bool zero = scale == 0 || std::ranges::all_of(part, [](auto code) { return code == 1; });
    if (zero) std::ranges::fill(part, std::uint8_t{1});
    scales[g] = zero ? 0 : scale;
  }
  return {};
}

void TernarySource::OrderColumns(std::uint8_t* codes, float* scales) const {
  const std::vector<std::uint32_t>& columns = places_->columns;
  const std::vector<std::uint8_t> stored(codes, codes + cols());
  for (std::size_t c = 0; c < cols(); ++c) codes[c] = stored[columns[c]];
  const std::size_t group = group_cols(), per_row = scales_per_row();
  const std::vector<float> stored_scales(scales, scales + per_row);
  for (std::size_t g = 0; g < per_row; ++g) scales[g] = stored_scales[columns[g * group] / group];
}

Result<TernaryOpener> TernaryOpener::Create(const Checkpoint& checkpoint, Decisions* decisions) {
  TernaryOpener opener(checkpoint, decisions);
  decisions->insert(decisions->end(), checkpoint.decisions().begin(), checkpoint.decisions().end());
  BITTERN_TRY(opener.ReadLayoutKey());
  BITTERN_TRY(opener.ReadTilingKey());
  return opener;
}

/// Reads ternary.layout, which the file, the user's override or this program's converter has set.
Result<void> TernaryOpener::ReadLayoutKey() {
  const auto value = BITTERN_TRY(checkpoint_->metadata().GetString(kLayoutKey));
  if (!value) return {};
  std::string known;
  for (const auto& [name, layout] : kLayoutNames) {
    if (name == *value) i2s_ = &quant::CodecOf(layout);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  // A file in another format may say so under the same key; that is no layout of I2_S.
  if (i2s_ != nullptr || quant::FindCodec(*value) != nullptr) return {};
  return Fail(ErrorCode::kCorruptFile, fmt::format("metadata key {}: expected one of {}, found {}",
                                                   kLayoutKey, known, Quoted(*value)));
}

namespace {

/// "640,2560,160,96,32,...": how a command line writes the key.
Result<std::vector<std::int32_t>> ParseNumbers(std::string_view text) {
  std::vector<std::int32_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (next != end && (*next != ',' || next + 1 == end))) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected numbers with commas between them, found {}", kTilingKey,
                              Quoted(text)));
    }
    numbers.push_back(number);
    at = next == end ? end : next + 1;
  }
  return numbers;
}

}  // namespace

/// Reads ternary.tl.tiling: five numbers a shape, as an array or as a text. They serve TL1 and TL2.
Result<void> TernaryOpener::ReadTilingKey() {
  const MetaValue* value = checkpoint_->metadata().Find(kTilingKey);
  if (value == nullptr) return {};
  std::vector<std::int32_t> values;
  if (value->type == MetaType::kString) {
    values = BITTERN_TRY(ParseNumbers(std::get<std::string_view>(value->value)));
  } else {
    values = BITTERN_TRY(checkpoint_->metadata().GetInts(kTilingKey)).value();
  }
  const bool positive = std::all_of(values.begin(), values.end(), [](int v) { return v > 0; });
  if (values.size() % 5 != 0 || !positive) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("metadata key {}: expected five positive numbers for each shape (rows, "
                            "cols, BM, BK, bm), found {}",
                            kTilingKey, fmt::join(values, ",")));
  }
  for (std::size_t i = 0; i < values.size(); i += 5) {
    const auto number = [&](std::size_t n) { return static_cast<std::size_t>(values[i + n]); };
    for (const auto format : {quant::WeightFormat::kTL1, quant::WeightFormat::kTL2}) {
      tilings_[ShapeKey(format, number(0), number(1))] = {number(2), number(3), number(4)};
    }
  }
  return {};
}

/// Runs once, at the first I2_S tensor, since weighing the layouts reads some layers. What is said
/// is obeyed; the weights come next; the official file's layout is the last resort.
void TernaryOpener::DecideI2sLayout() {
  if (i2s_decided_) return;
  i2s_decided_ = true;
  const I2sEvidence evidence = WeighI2sLayouts(*checkpoint_);
  const auto seen = evidence.Layout();
  const auto decide = [this](quant::TernaryLayout layout, std::string reason, bool notable,
                             std::string hint = {}) {
    i2s_ = &quant::CodecOf(layout);
    decisions_->push_back({"I2_S layout", std::string(LayoutNameOf(layout)), std::move(reason),
                           notable, std::move(hint)});
  };
  if (i2s_ != nullptr) {  // said by the file or the user: obeyed
    if (!seen || *seen == i2s_->layout) return;
    decide(i2s_->layout,
           fmt::format("as {} says, but zeros of gate and up go with those of down under {} alone",
                       kLayoutKey, LayoutNameOf(*seen)),
           true, fmt::format("if the text is garbage, try i2s_layout={}", LayoutNameOf(*seen)));
  } else if (seen) {
    const bool odd = *seen != quant::TernaryLayout::kI2sX86;
    decide(*seen,
           "only in this layout do the zero rows of gate and up match the zero columns of down",
           odd, odd ? "i2s_layout=NAME says otherwise" : "");
  } else if (evidence.LooksTrained()) {
    decide(quant::TernaryLayout::kI2sX86,
           "the official file's; neither the file nor its weights say which", true,
           "if the text is garbage, try i2s_layout=arm-64, row4 or sequential");
  } else {
    decide(quant::TernaryLayout::kI2sX86, "the official file's; nothing in the file says which",
           false);
  }
}

/// Whether groups of columns stay whole in another order of columns.
bool KeepsGroups(const TensorPlaces* places, std::size_t group) {
  if (places == nullptr) return true;
  for (std::size_t c = 0; c < places->columns.size(); ++c) {
    if (places->columns[c] % group != c % group) return false;
    if (c % group != 0 && places->columns[c] != places->columns[c - 1] + 1) return false;
  }
  return true;
}

/// Sampled rows are enough: a wrong choice is met, and refused, where a row does not fit it.
std::size_t TernaryOpener::GroupOfFloats(const Tensor& tensor, const TernarySource& source) {
  constexpr std::size_t kSample = 32, kGroups[] = {256, 128, 64};
  const std::size_t rows = tensor.rows(), cols = tensor.row_elements();
  const std::size_t step = std::max<std::size_t>(1, rows / kSample);
  const auto fits = [&](std::size_t group) {
    for (std::size_t row = 0; row < rows; row += step) {
      quant::TernaryView view = source.view();
      const std::size_t row_bytes = view.bytes.size() / rows;
      view = {view.bytes.subspan(row * row_bytes, row_bytes), cols / group, group, {}};
      if (!IsTernary(source.codec(), view)) return false;
    }
    return true;
  };
  if (fits(cols)) return 0;
  for (const std::size_t group : kGroups) {
    if (cols % group != 0 || !KeepsGroups(tensor.places.get(), group) || !fits(group)) continue;
    if (!groups_told_) {
      groups_told_ = true;
      decisions_->push_back(
          {"weights in floats", fmt::format("groups of {} columns", group),
           fmt::format("each group of {} holds only -s, 0 and s of its own", Quoted(tensor.name)),
           false});
    }
    return group;
  }
  return 0;  // refused, by row and column, when it is read
}

/// True if a tensor of floats is quantised by its mean when it is read. Floats that are ternary
/// already are kept where the configuration leaves it open.
bool TernaryOpener::IsMaster(const Tensor& tensor, const TernarySource& source) {
  if (!tensor.quantize_absmean) return false;
  if (!HoldsTernary(source.codec(), source.view())) return true;
  if (!ternary_floats_told_) {
    ternary_floats_told_ = true;
    const std::string found =
        fmt::format("every row of {} holds only -s, 0 and s already", Quoted(tensor.name));
    decisions_->push_back(
        tensor.may_be_ternary
            ? Decision{"weights in floats", "as they are", found + "; scales are kept", true}
            : Decision{"weights in floats", "quantised by absmean",
                       "quantization_mode is \"online\", though " + found +
                           ": its scale becomes the mean, as in transformers; without "
                           "quantization_config the scales are kept",
                       true});
  }
  return !tensor.may_be_ternary;
}

/// The tiling of a shape: stated, found in the bytes, or bitnet.cpp's own. Found ones are kept, as
/// all matrices of one shape share it.
Result<quant::TlTiling> TernaryOpener::TilingOf(const Tensor& tensor) {
  const std::size_t rows = tensor.rows(), cols = tensor.row_elements();
  const std::string shape = ShapeKey(tensor.format, rows, cols);
  if (const auto known = tilings_.find(shape); known != tilings_.end()) return known->second;
  // Preset tilings are what bitnet.cpp used for its own models; a search also finds home-made
  // ones, and where it finds one it knows more than the table.
  std::optional<quant::TlTiling> tiling =
      quant::FindTiling(tensor.format, tensor.bytes, rows, cols);
  std::string reason = "found: under it alone the rows differ as rows of a model do";
  if (!tiling) {
    tiling = quant::PresetTiling(tensor.format, rows, cols);
    reason = "bitnet.cpp's for this shape; the file does not say";
  }
  if (!tiling) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("the tiling of a {} matrix is not in the file and could not be found", shape),
        fmt::format("give BM, BK and bm of its converter's kernel_config.ini, as in "
                    "tl_tiling={},{},BM,BK,bm",
                    rows, cols));
  }
  tilings_[shape] = *tiling;
  decisions_->push_back({"tiling of " + shape, Describe(*tiling), reason, true});
  return *tiling;
}

std::string TernaryOpener::ScaleTensorName(const std::string& weight_name) {
  constexpr std::string_view kSuffix = ".weight";
  if (!weight_name.ends_with(kSuffix)) return weight_name + ".scale";
  return weight_name.substr(0, weight_name.size() - kSuffix.size()) + ".scale";
}

/// The factor of all scales of a tensor: the one from its folder, times that of a tensor beside it.
Result<float> TernaryOpener::MultiplierOf(const Tensor& tensor) const {
  float multiplier = tensor.scale;
  if (const Tensor* separate = checkpoint_->Find(ScaleTensorName(tensor.name))) {
    if (separate->num_elements() != 1 || separate->format != quant::WeightFormat::kF32) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("tensor {}: expected one F32 number", Quoted(separate->name)));
    }
    float scale;
    quant::DequantizeRowFor(separate->format)(separate->bytes.data(), 1, &scale);
    multiplier *= scale;
  }
  if (std::isfinite(multiplier) && multiplier > 0) return multiplier;
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("its scale: expected a finite positive number, found {}", multiplier));
}

Result<TernarySource> TernaryOpener::Open(const Tensor& tensor) {
  const auto open = [&]() -> Result<TernarySource> {
    const quant::TernaryCodec* codec = quant::DefaultCodec(tensor.format);
    if (codec == nullptr) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("expected ternary weights, found {}, which holds none",
                              quant::InfoOf(tensor.format).name));
    }
    if (tensor.format == quant::WeightFormat::kI2_S) {
      DecideI2sLayout();
      codec = i2s_;
    }
    quant::TernaryView view{tensor.bytes, tensor.rows(), tensor.row_elements(), {}};
    if (HasLookupTable(tensor.format)) view.tiling = BITTERN_TRY(TilingOf(tensor));
    BITTERN_TRY(codec->check(view.rows, view.cols, view.tiling));
    TernarySource source(codec, view);
    source.places_ = tensor.places;
    source.row_masters_ = tensor.quantize_rows;
    source.multiplier_ = BITTERN_TRY(MultiplierOf(tensor));
    const bool floats = quant::DequantizeRowFor(tensor.format) != nullptr &&
                        codec->grain == quant::ScaleGrain::kRow && !tensor.quantize_absmean;
    if (floats && !source.row_masters_) source.float_group_ = GroupOfFloats(tensor, source);
    if (IsMaster(tensor, source)) source.master_ = BITTERN_TRY(MasterScale(tensor));
    return source;
  };
  return open().map_error([&](Error error) {
    return Within(fmt::format("tensor {}", Quoted(tensor.name)), std::move(error));
  });
}

}  // namespace bittern::formats
