// SPDX-License-Identifier: Apache-2.0
#include "formats/hf/hf_scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

/// Mean magnitudes of known models are 0.005 to 3.1, the largest of them in BitNet b1.58 2B-4T.
constexpr float kLargestWeight = 4;

/// Judges by the size of the scales: nullopt if both readings give weights of a usual size.
std::optional<bool> MultipliesBySize(std::span<const float> scales) {
  if (scales.empty()) return std::nullopt;
  const auto large = [](float scale) { return scale > kLargestWeight; };
  const auto small = [](float scale) { return scale > 0 && scale < 1 / kLargestWeight; };
  if (std::ranges::all_of(scales, large)) return false;
  if (std::ranges::all_of(scales, small)) return true;
  return std::nullopt;
}

/// The one packed model of a BitNet class that is known; its scales are 1.2 to 3.0.
bool HasShapeOf2B4T(const HfConfig& c) {
  return c.architecture == "bitnet-b1.58" && c.num_layers == 30 && c.hidden_size == 2560 &&
         c.intermediate_size == 6912 && c.vocab_size == 128256;
}

/// A choice and its line for the list of decisions. `notable`: the user should see it unasked.
HfScales Choice(bool multiplies, std::string reason, bool notable) {
  return {multiplies,
          {"weight_scale", multiplies ? "multiplies" : "divides", std::move(reason), notable}};
}

}  // namespace

/// transformers has two classes with the same tensors: "autobitlinear" multiplies by weight_scale,
/// "bitlinear" divides by it. The stated class is followed even where the sizes of the scales speak
/// against it; then the decision says so.
HfScales ChooseHfScales(const HfConfig& config, std::span<const float> scales) {
  const auto by_size = MultipliesBySize(scales);
  if (config.linear_class) {
    const bool multiplies = *config.linear_class == "autobitlinear";
    std::string reason =
        fmt::format("linear_class {} in config.json", Quoted(*config.linear_class));
    const bool odd = by_size.value_or(multiplies) != multiplies;
    if (odd) {
      reason += fmt::format(
          ", but every weight is larger than {} then; if the text is garbage, correct it (\"{}\")",
          kLargestWeight, multiplies ? "bitlinear" : "autobitlinear");
    }
    return Choice(multiplies, std::move(reason), odd);
  }
  const std::string_view missing = config.has_quantization ? "linear_class" : "quantization_config";
  const std::string cure = fmt::format(
      "config.json has no {}; \"linear_class\" in its quantization_config says otherwise", missing);
  // Without a linear_class transformers takes "bitlinear", which divides.
  if (by_size) {
    return Choice(
        *by_size,
        fmt::format("every weight would be larger than {} otherwise; {}", kLargestWeight, cure),
        *by_size || !config.has_quantization);
  }
  if (!config.has_quantization && HasShapeOf2B4T(config)) {
    return Choice(true, fmt::format("the shape of BitNet b1.58 2B-4T; {}", cure), true);
  }
  return Choice(false, fmt::format("as in transformers; {}", cure), true);
}

}  // namespace bittern::formats
