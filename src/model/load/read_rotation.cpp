// SPDX-License-Identifier: Apache-2.0
// The keys are those of Bonsai-2's files. A wrong value makes fluent nonsense, so nothing is taken
// on trust. The rotated matrices must be those of the network. Every width of an input needs its
// signs. A sign is 1 or -1. A key that is not known is refused.
#include "model/load/read_rotation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "model/load/weight_binding.hpp"

namespace bittern::model {
namespace {

using formats::TensorId;

constexpr std::string_view kRotationKeys = "prism.hadamard.";
constexpr std::array<std::string_view, 11> kKeys = {
    "version",     "block_size",    "transform",           "axis",
    "sign_mode",   "sign_widths",   "sign_values",         "weight_names",
    "tied_output", "gdn_v_grouped", "inverse_weight_names"};

std::string KeyOf(std::string_view name) { return std::string(kRotationKeys) + std::string(name); }

tl::unexpected<Error> Wrong(ErrorCode code, std::string_view name, std::string_view what) {
  return Fail(code, fmt::format("metadata key {}{}: {}", kRotationKeys, name, what));
}

/// Keys in the order in which they depend on each other: the version says which head there is, the
/// network says which matrices and widths, the widths say how many signs.
class RotationReader {
 public:
  RotationReader(const formats::Checkpoint& checkpoint, const ModelConfig& config)
      : checkpoint_(checkpoint), metadata_(checkpoint.metadata()), config_(config) {}

  Result<HadamardRotation> Read() {
    BITTERN_TRY(CheckKeys());
    if (config_.traits->experts) {
      return Wrong(
          ErrorCode::kUnsupported, "version",
          fmt::format("rotated weights of experts (architecture {}) are not supported; use "
                      "the model's plain files",
                      config_.architecture));
    }
    HadamardRotation rotation;
    const auto version = BITTERN_TRY(Uint("version"));
    if (version != 1 && version != 2) {
      return Wrong(ErrorCode::kUnsupported, "version",
                   fmt::format("expected 1 or 2, found {}", version));
    }
    BITTERN_TRY(Expect("transform", "normalized-sylvester-walsh-hadamard"));
    BITTERN_TRY(Expect("axis", "input-last-dimension"));
    BITTERN_TRY(CheckTied(version == 2));
    rotation.values_by_key = BITTERN_TRY(metadata_.GetBool(KeyOf("gdn_v_grouped"))).value_or(false);
    if (rotation.values_by_key && !config_.traits->delta_layers) {
      return Wrong(ErrorCode::kCorruptFile, "gdn_v_grouped",
                   fmt::format("architecture {} has no delta layers", config_.architecture));
    }
    BITTERN_TRY(CheckRotated(version == 2));
    rotation.block = BITTERN_TRY(ReadBlock());
    BITTERN_TRY(ReadSigns(&rotation));
    return rotation;
  }

 private:
  /// A key that is not known may change what all others mean.
  Result<void> CheckKeys() const {
    for (const auto& entry : metadata_.entries()) {
      if (!entry.key.starts_with(kRotationKeys)) continue;
      const std::string_view name = std::string_view(entry.key).substr(kRotationKeys.size());
      if (std::ranges::find(kKeys, name) != kKeys.end()) continue;
      return Wrong(ErrorCode::kUnsupported, name,
                   "this way to rotate weights is not known; use the model's plain files, or a "
                   "newer Bittern");
    }
    return {};
  }

  Result<std::uint64_t> Uint(std::string_view name) const {
    const auto value = BITTERN_TRY(metadata_.GetUint(KeyOf(name)));
    if (!value) return Missing(name);
    return *value;
  }

  static tl::unexpected<Error> Missing(std::string_view name) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {} is missing; {}version says that weights are rotated",
                            KeyOf(name), kRotationKeys));
  }

  Result<void> Expect(std::string_view name, std::string_view expected) const {
    const auto value = BITTERN_TRY(metadata_.GetString(KeyOf(name)));
    if (!value) return Missing(name);
    if (*value == expected) return {};
    return Wrong(ErrorCode::kUnsupported, name,
                 fmt::format("expected \"{}\", found \"{}\"", expected, *value));
  }

  /// A model of version 2 has no head of its own: it uses the embedding.
  Result<void> CheckTied(bool expected) const {
    const bool tied = BITTERN_TRY(metadata_.GetBool(KeyOf("tied_output"))).value_or(false);
    if (tied != expected) {
      return Wrong(ErrorCode::kUnsupported, "tied_output",
                   fmt::format("expected {} of this version, found {}", expected, tied));
    }
    const bool has_head = checkpoint_.Find(formats::TensorName(TensorId::kOutput)) != nullptr;
    if (has_head != tied) return {};
    return Fail(
        ErrorCode::kCorruptFile,
        fmt::format("{}tied_output is {}, but the file {} the tensor {}", kRotationKeys, tied,
                    has_head ? "has" : "lacks", formats::TensorName(TensorId::kOutput)));
  }

  Result<void> CheckRotated(bool tied) {
    std::set<std::string> expected;
    for (const formats::TensorSpec& spec : formats::kNetworkTensors) {
      for (int layer = 0; spec.ternary() && layer < config_.num_layers; ++layer) {
        if (!HasTensor(config_, spec, layer)) continue;
        expected.insert(formats::TensorName(spec.id, layer));
        widths_.insert(SizeOf(config_, spec.cols));
      }
    }
    if (!tied) expected.insert(formats::TensorName(TensorId::kOutput));
    widths_.insert(static_cast<std::size_t>(config_.hidden_size));
    BITTERN_TRY(CheckNames("weight_names", std::move(expected)));
    return CheckNames("inverse_weight_names", {formats::TensorName(TensorId::kTokenEmbd)});
  }

  /// The names of a list are those expected, in any order.
  Result<void> CheckNames(std::string_view key, std::set<std::string> expected) const {
    const auto names = BITTERN_TRY(metadata_.GetStrings(KeyOf(key)));
    if (!names) return Missing(key);
    const std::size_t count = expected.size();
    for (const std::string_view name : *names) {
      if (expected.erase(std::string(name)) != 0) continue;
      return Wrong(ErrorCode::kUnsupported, key,
                   fmt::format("\"{}\" is no matrix of {} that can be rotated, or stands there "
                               "twice",
                               name, config_.architecture));
    }
    if (expected.empty()) return {};
    return Wrong(ErrorCode::kUnsupported, key,
                 fmt::format("expected {} names, found {}; \"{}\" is missing", count, names->size(),
                             *expected.begin()));
  }

  Result<std::size_t> ReadBlock() const {
    constexpr std::uint64_t kLeast = 16;
    const auto block = BITTERN_TRY(Uint("block_size"));
    if (block < kLeast || !std::has_single_bit(block)) {
      return Wrong(ErrorCode::kUnsupported, "block_size",
                   fmt::format("expected a power of two from {} on, found {}", kLeast, block));
    }
    for (const std::size_t cols : widths_) {
      if (cols % block == 0) continue;
      return Wrong(ErrorCode::kCorruptFile, "block_size",
                   fmt::format("{} does not divide an input of {}", block, cols));
    }
    return static_cast<std::size_t>(block);
  }

  /// Fills in widths, with signs as the file has them.
  Result<void> ReadSigns(HadamardRotation* rotation) const {
    const auto mode = BITTERN_TRY(metadata_.GetString(KeyOf("sign_mode")));
    if (!mode) return Missing("sign_mode");
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(rotation->block)));
    if (*mode == "identity") {
      for (const std::size_t cols : widths_) {
        rotation->widths.push_back({cols, std::vector<float>(cols, scale)});
      }
      return {};
    }
    if (*mode != "explicit") {
      return Wrong(ErrorCode::kUnsupported, "sign_mode",
                   fmt::format("expected \"identity\" or \"explicit\", found \"{}\"", *mode));
    }
    const auto widths = BITTERN_TRY(metadata_.GetInts(KeyOf("sign_widths")));
    if (!widths) return Missing("sign_widths");
    const auto signs = BITTERN_TRY(metadata_.GetInts(KeyOf("sign_values")));
    if (!signs) return Missing("sign_values");
    return SplitSigns(*widths, *signs, scale, rotation);
  }

  Result<void> SplitSigns(const std::vector<std::int32_t>& widths,
                          const std::vector<std::int32_t>& signs, float scale,
                          HadamardRotation* rotation) const {
    const std::set<std::int32_t> listed(widths.begin(), widths.end());
    const bool has_all = std::ranges::all_of(widths_, [&](std::size_t cols) {
      return listed.contains(static_cast<std::int32_t>(cols));
    });
    if (!has_all || listed.size() != widths.size() || *listed.begin() < 1) {
      return Wrong(ErrorCode::kCorruptFile, "sign_widths",
                   fmt::format("expected {} among them, each once, found {}",
                               fmt::join(widths_, ", "), fmt::join(widths, ", ")));
    }
    std::size_t all = 0;
    for (const std::int32_t cols : widths) all += static_cast<std::size_t>(cols);
    if (all != signs.size()) {
      return Wrong(ErrorCode::kCorruptFile, "sign_values",
                   fmt::format("expected {} signs, found {}", all, signs.size()));
    }
    std::size_t at = 0;
    for (const std::int32_t cols : widths) {
      HadamardRotation::Width width{static_cast<std::size_t>(cols), {}};
      for (const std::size_t end = at + width.cols; at < end; ++at) {
        if (signs[at] != 1 && signs[at] != -1) {
          return Wrong(ErrorCode::kCorruptFile, "sign_values",
                       fmt::format("element {} is {}, expected 1 or -1", at, signs[at]));
        }
        width.weights.push_back(signs[at] < 0 ? -scale : scale);
      }
      rotation->widths.push_back(std::move(width));
    }
    return {};
  }

  const formats::Checkpoint& checkpoint_;
  const formats::Metadata& metadata_;
  const ModelConfig& config_;
  std::set<std::size_t> widths_;  // of inputs that are rotated
};

}  // namespace

Result<HadamardRotation> ReadRotation(const formats::Checkpoint& checkpoint, const ModelConfig& c,
                                      Decisions* decisions) {
  const auto is_key = [](const auto& entry) { return entry.key.starts_with(kRotationKeys); };
  if (std::ranges::none_of(checkpoint.metadata().entries(), is_key)) return HadamardRotation{};
  auto rotation = BITTERN_TRY(RotationReader(checkpoint, c).Read());
  decisions->push_back({"rotated weights",
                        fmt::format("Walsh-Hadamard, blocks of {}", rotation.block),
                        "the file says so; inputs are rotated alike", false});
  return rotation;
}

}  // namespace bittern::model
