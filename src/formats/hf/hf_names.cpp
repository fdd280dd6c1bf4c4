// SPDX-License-Identifier: Apache-2.0
// Names are parsed, not matched against patterns: "model.layers.N." then a row of the table.
#include "formats/hf/hf_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

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

/// The part of a module that fills the rest of a name; null: none.
const Part* FindPart(const TensorSpec& spec, std::string_view rest) {
  static constexpr Part kWhole = {"", ""};
  if (spec.kind == TensorKind::kValues) return rest.empty() ? &kWhole : nullptr;
  const auto* const part = std::ranges::find(kParts, rest, &Part::hf);
  return part == std::end(kParts) ? nullptr : part;
}

/// Finds `name` among the modules of a layer or of the model: module and part must fill the name.
/// Two rows may have one name; a later one counts only where the network has it.
std::optional<HfTarget> FindIn(TensorPlace place, std::string_view name, const std::string& prefix,
                               const ArchitectureSpec& row) {
  std::optional<HfTarget> found;
  for (const Module& module : kModules) {
    const TensorSpec& spec = SpecOf(module.id);
    if (spec.place != place || !name.starts_with(module.hf)) continue;
    const Part* part = FindPart(spec, name.substr(module.hf.size()));
    if (part == nullptr || (found && !spec.IsOf(row))) continue;
    std::string gguf = fmt::format("{}{}{}", prefix, spec.gguf, part->gguf);
    const TensorSpec* whole = FindWeight(gguf);  // of a projection's norm: a row of its own
    found = HfTarget{std::move(gguf), whole == nullptr ? &spec : whole, whole != nullptr};
  }
  return found;
}

/// The number at the front of `rest`, which then continues after it and a dot.
std::optional<std::uint64_t> TakeNumber(std::string_view* rest) {
  std::uint64_t layer = 0;
  const char* last = rest->data() + rest->size();
  const auto [end, error] = std::from_chars(rest->data(), last, layer);
  if (error != std::errc() || end == last || *end != '.') return std::nullopt;
  rest->remove_prefix(static_cast<std::size_t>(end - rest->data()) + 1);
  return layer;
}

constexpr std::string_view kModel = "model.", kHead = "lm_head.", kExperts = "mlp.experts.";

/// A tensor of a layer. An expert's own tensor is named like the stack, with its number inserted.
std::optional<HfTarget> FindInLayer(std::string_view name, const std::string& prefix,
                                    const ArchitectureSpec& row) {
  std::string_view rest = name;
  std::optional<std::uint64_t> expert;
  if (row.experts && name.starts_with(kExperts)) {
    rest.remove_prefix(kExperts.size());
    expert = TakeNumber(&rest);
  }
  const std::string stack = fmt::format("{}{}", kExperts, rest);
  auto found = FindIn(TensorPlace::kLayer, expert ? stack : name, prefix, row);
  if (found) found->expert = expert;
  return found;
}

/// Takes `prefix` off the front of `name`.
bool TakePrefix(std::string_view prefix, std::string_view* name) {
  if (!name->starts_with(prefix)) return false;
  name->remove_prefix(prefix.size());
  return true;
}

}  // namespace

Result<std::string> HfTensorName(std::string_view gguf_name) {
  const auto named = ParseTensorName(gguf_name);
  if (!named || (named->part != ".weight" && named->part != ".bias")) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("tensor {} has no name in Hugging Face's models", Quoted(gguf_name)));
  }
  return named->spec->of_layer()
             ? fmt::format("model.layers.{}.{}{}", named->layer, named->spec->hf, named->part)
             : fmt::format("{}{}", named->spec->hf, named->part);
}

std::string PlainHfName(std::string_view name) {
  if (TakePrefix("model.language_model.", &name)) return fmt::format("{}{}", kModel, name);
  TakePrefix("language_model.", &name);
  const bool is_plain = name.starts_with(kModel) || name.starts_with(kHead);
  return fmt::format("{}{}", is_plain ? "" : kModel, name);
}

bool IsBesideTheText(std::string_view name) noexcept {
  TakePrefix("language_model.", &name);
  TakePrefix(kModel, &name);
  constexpr std::array<std::string_view, 3> kOtherParts = {"visual.", "vision_tower.", "mtp."};
  return std::ranges::any_of(kOtherParts, [&](auto part) { return name.starts_with(part); });
}

Result<HfTarget> FindHfTensor(const HfConfig& config, std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  const ArchitectureSpec& row = *config.row;
  std::optional<HfTarget> target;
  if (name.starts_with(kLayers)) {
    std::string_view rest = name.substr(kLayers.size());
    const auto layer = TakeNumber(&rest);
    if (layer && *layer >= config.num_layers) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("layers 0 to {} expected (num_hidden_layers), {} found",
                              config.num_layers - 1, *layer));
    }
    if (layer) target = FindInLayer(rest, fmt::format("blk.{}.", *layer), row);
  } else {
    target = FindIn(TensorPlace::kModel, name, "", row);
  }
  if (!target) return Fail(ErrorCode::kUnsupported, "is part of no network that is supported");
  return *std::move(target);
}

}  // namespace bittern::formats
