// SPDX-License-Identifier: Apache-2.0
// A reader asks for keys by their GGUF names under the file's architecture. Each value is
// checked as it is read; relations between them at the end.
#include "model/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/portable_math.hpp"
#include "formats/convert/row_order.hpp"
#include "formats/network_tensors.hpp"
#include "model/activation.hpp"

namespace bittern::model {
namespace {

constexpr std::uint64_t kMaxSize = 1 << 20;  // hidden, intermediate, heads: sane upper limits
constexpr std::uint64_t kMaxLayers = 1024;
constexpr std::uint64_t kMaxContext = 1 << 20;  // SinCos is exact enough up to 2^20 radians
constexpr std::uint64_t kMaxVocab = 1 << 24;
constexpr int kRowsOfTile = 16;  // quant::kTileRows: an expert begins at a whole tile

/// Reads "<architecture>.<key>" values with a range; every error names the key.
class KeyReader {
 public:
  KeyReader(const formats::Metadata& metadata, std::string architecture)
      : metadata_(metadata), prefix_(std::move(architecture) + ".") {}

  Result<std::optional<int>> OptionalInt(std::string_view key, std::uint64_t max) const {
    const std::string name = prefix_ + std::string(key);
    const auto value = BITTERN_TRY(metadata_.GetUint(name));
    if (!value) return std::nullopt;
    if (*value < 1 || *value > max) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("metadata key {}: expected 1 to {}, found {}", name, max, *value));
    }
    return static_cast<int>(*value);
  }

  Result<int> Int(std::string_view key, std::uint64_t max) const {
    const auto value = BITTERN_TRY(OptionalInt(key, max));
    if (!value) return Missing(key, "int:N");
    return *value;
  }

  Result<double> Float(std::string_view key, double min, double max) const {
    const std::string name = prefix_ + std::string(key);
    const auto value = BITTERN_TRY(metadata_.GetFloat(name));
    if (!value) return Missing(key, "float:X");
    if (!(*value >= min && *value <= max)) {  // false for NaN
      return Fail(
          ErrorCode::kCorruptFile,
          fmt::format("metadata key {}: expected {} to {}, found {}", name, min, max, *value));
    }
    return *value;
  }

 private:
  tl::unexpected<Error> Missing(std::string_view key, std::string_view value) const {
    return Fail(ErrorCode::kCorruptFile, fmt::format("metadata key {}{} is missing", prefix_, key),
                fmt::format("override_kv={}{}={} gives it", prefix_, key, value));
  }
  const formats::Metadata& metadata_;
  std::string prefix_;
};

/// RoPE's base; where a file is silent, what llama.cpp takes. windows: the layers that rotate are
/// those with a window, for which a file may have a base of their own.
Result<double> ReadRopeTheta(const formats::Metadata& metadata, const KeyReader& keys,
                             const std::string& architecture, bool windows, Decisions* decisions) {
  constexpr double kDefault = 10000;
  const std::string key = architecture + ".rope.freq_base";
  if (windows && metadata.Find(key + "_swa") != nullptr) {
    return keys.Float("rope.freq_base_swa", 1, 1e12);
  }
  if (metadata.Find(key) != nullptr) return keys.Float("rope.freq_base", 1, 1e12);
  decisions->push_back({key, "10000", "the file does not say", true,
                        fmt::format("override_kv={}=float:X sets it", key)});
  return kDefault;
}

constexpr double kMaxFactor = 1e6;  // of a context, and of what YaRN has besides

/// The rest of YaRN's numbers (arXiv:2309.00071, sec. 3.4). Keys whose meaning differs from program
/// to program are refused where they ask for something.
Result<void> ReadYarn(const formats::Metadata& metadata, const KeyReader& keys,
                      const std::string& prefix, RopeScaling* scaling) {
  scaling->original_context =
      BITTERN_TRY(keys.Int("rope.scaling.original_context_length", kMaxContext));
  const auto number = [&](const char* name, double usual) -> Result<double> {
    if (metadata.Find(prefix + name) == nullptr) return usual;
    return keys.Float(name, 0, kMaxFactor);
  };
  scaling->beta_fast = BITTERN_TRY(number("rope.scaling.yarn_beta_fast", 32));
  scaling->beta_slow = BITTERN_TRY(number("rope.scaling.yarn_beta_slow", 1));
  if (!(scaling->beta_slow > 0 && scaling->beta_fast >= scaling->beta_slow)) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}rope.scaling.yarn_beta_fast and yarn_beta_slow: expected the first "
                            "not below the second, and both above 0, found {} and {}",
                            prefix, scaling->beta_fast, scaling->beta_slow));
  }
  scaling->magnitude =
      BITTERN_TRY(number("rope.scaling.attn_factor", 1)) * (1 + 0.1 * Log(scaling->factor));
  constexpr std::pair<const char*, double> kUsual[] = {{"rope.scaling.yarn_ext_factor", 1},
                                                       {"rope.scaling.yarn_attn_factor", 1},
                                                       {"rope.scaling.yarn_log_multiplier", 0}};
  for (const auto& [name, usual] : kUsual) {
    const double value = BITTERN_TRY(number(name, usual));
    if (value == usual) continue;
    return Fail(ErrorCode::kUnsupported, fmt::format("metadata key {}{}: expected {}, found {}",
                                                     prefix, name, usual, value));
  }
  return {};
}

/// LongRoPE (arXiv:2402.13753): the original context, which is the file's own where it names none,
/// and the magnitude, which is that of the model's own code where the file names none.
Result<void> ReadLongRope(const formats::Metadata& metadata, const KeyReader& keys,
                          const std::string& prefix, int context, RopeScaling* scaling) {
  constexpr const char* kOriginal = "rope.scaling.original_context_length";
  const int original = BITTERN_TRY(keys.OptionalInt(kOriginal, kMaxContext)).value_or(context);
  if (original < 2) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {}{}: expected 2 or more, found {}", prefix, kOriginal,
                            original));
  }
  scaling->original_context = original;
  if (metadata.Find(prefix + "rope.scaling.attn_factor") != nullptr) {
    scaling->magnitude = BITTERN_TRY(keys.Float("rope.scaling.attn_factor", 1e-3, 1e3));
  } else if (context > original) {
    scaling->magnitude =
        std::sqrt(1 + Log(static_cast<double>(context) / original) / Log(original));
  }
  return {};
}

/// Types by llama.cpp's names. Each reads the keys that its formula needs and no others, so that a
/// key left over from another type does no harm.
Result<RopeScaling> ReadRopeScaling(const formats::Metadata& metadata, const KeyReader& keys,
                                    const std::string& prefix, int context) {
  const auto type = BITTERN_TRY(metadata.GetString(prefix + "rope.scaling.type"));
  if (!type || *type == "none") return RopeScaling{};
  RopeScaling scaling;
  if (*type == "linear") {
    scaling.kind = RopeScaling::Kind::kLinear;
  } else if (*type == "llama3") {
    scaling.kind = RopeScaling::Kind::kLlama3;
  } else if (*type == "yarn") {
    scaling.kind = RopeScaling::Kind::kYarn;
  } else if (*type == "longrope") {
    scaling.kind = RopeScaling::Kind::kLong;
    BITTERN_TRY(ReadLongRope(metadata, keys, prefix, context, &scaling));
    return scaling;
  } else {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}rope.scaling.type \"{}\" is not supported; supported: none, linear, "
                            "llama3, yarn, longrope",
                            prefix, *type));
  }
  scaling.factor = BITTERN_TRY(keys.Float("rope.scaling.factor", 1, kMaxFactor));
  if (scaling.kind == RopeScaling::Kind::kLinear) return scaling;
  if (scaling.kind == RopeScaling::Kind::kYarn) {
    BITTERN_TRY(ReadYarn(metadata, keys, prefix, &scaling));
    return scaling;
  }
  scaling.low_freq_factor =
      BITTERN_TRY(keys.Float("rope.scaling.low_freq_factor", 1e-3, kMaxFactor));
  scaling.high_freq_factor =
      BITTERN_TRY(keys.Float("rope.scaling.high_freq_factor", scaling.low_freq_factor, kMaxFactor));
  scaling.original_context =
      BITTERN_TRY(keys.Int("rope.scaling.original_context_length", kMaxContext));
  return scaling;
}

/// Files that name an alpha have the base without it; 0 and 1 stand for none.
Result<void> ReadRopeAlpha(const formats::Metadata& metadata, const KeyReader& keys,
                           Decisions* decisions, ModelConfig* c) {
  constexpr std::string_view kKey = "rope.scaling.alpha";
  const std::string name = fmt::format("{}.{}", c->architecture, kKey);
  if (metadata.Find(name) == nullptr) return {};
  const double alpha = BITTERN_TRY(keys.Float(kKey, 0, 1e6));
  if (alpha == 0 || alpha == 1) return {};
  if (alpha < 1 || c->head_dim <= 2) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {}: expected 1 or more, and heads of more than 2, found "
                            "{} and heads of {}",
                            name, alpha, c->head_dim));
  }
  c->rope_theta = static_cast<double>(
      formats::BaseWithAlpha(c->rope_theta, alpha, static_cast<std::uint64_t>(c->head_dim)));
  decisions->push_back({"base of the rotation", fmt::format("{}", c->rope_theta),
                        fmt::format("{} is {}", name, alpha), true,
                        fmt::format("override_kv={}=float:0 if the base has it already", name)});
  return {};
}

/// None of them is taken for granted: models of one architecture differ in them.
Result<StreamScales> ReadStreamScales(const KeyReader& keys) {
  constexpr double kLeast = 1e-6, kMost = 1e6;
  StreamScales scales;
  const std::pair<const char*, float*> kScales[] = {{"embedding_scale", &scales.embedding},
                                                    {"residual_scale", &scales.residual},
                                                    {"logit_scale", &scales.logits}};
  for (const auto& [key, scale] : kScales) {
    *scale = static_cast<float>(BITTERN_TRY(keys.Float(key, kLeast, kMost)));
  }
  return scales;
}

/// Relations that the kernels rely on: queries share keys in whole groups, RoPE turns pairs, and no
/// size of a row exceeds what was allowed for the hidden one.
Result<void> CheckHeads(const ModelConfig& c) {
  const std::string prefix = c.architecture + ".";
  if (c.num_heads % c.num_kv_heads != 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}attention.head_count {} is not a multiple of head_count_kv {}",
                            prefix, c.num_heads, c.num_kv_heads));
  }
  if (c.head_dim % 2 != 0) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("head size {} is odd", c.head_dim));
  }
  // num_kv_heads divides num_heads, so that its product is smaller; both fit q_size() and
  // kv_size().
  const std::uint64_t q_size =
      static_cast<std::uint64_t>(c.num_heads) * static_cast<std::uint64_t>(c.head_dim);
  if (q_size > kMaxSize) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}attention.head_count {} times the head size {} "
                            "(attention.key_length): expected up to {}, found {}",
                            prefix, c.num_heads, c.head_dim, kMaxSize, q_size));
  }
  return {};
}

/// The elements of a head that are rotated: all, but where the architecture leaves some as they
/// are. Where only layers with a window rotate, a file may have a key of theirs.
Result<int> ReadRotatedDim(const formats::Metadata& metadata, const ModelConfig& c) {
  std::string key = c.architecture + ".rope.dimension_count";
  if (c.traits->windows && metadata.Find(key + "_swa") != nullptr) key += "_swa";
  const auto rotated = BITTERN_TRY(metadata.GetUint(key));
  const auto whole = static_cast<std::uint64_t>(c.head_dim);
  if (!rotated || *rotated == whole) return c.head_dim;
  if (!c.traits->rotates_parts()) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} {} differs from the head size {}: partial rotation is not "
                            "supported",
                            key, *rotated, c.head_dim));
  }
  if (*rotated < 2 || *rotated > whole || *rotated % 2 != 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {}: expected an even number up to the head size {}, "
                            "found {}",
                            key, c.head_dim, *rotated));
  }
  return static_cast<int>(*rotated);
}

/// Every how many layers one has attention, of a file that says so as a number, as a list of the
/// others or not at all.
Result<int> ReadAttentionInterval(const formats::Metadata& metadata, const KeyReader& keys,
                                  const ModelConfig& c) {
  constexpr int kUsual = 4;
  const auto said = BITTERN_TRY(keys.OptionalInt("full_attention_interval", kMaxLayers));
  const std::string key = c.architecture + ".attention.recurrent_layers";
  const auto recurrent = BITTERN_TRY(metadata.GetBools(key));
  if (!recurrent) return said.value_or(kUsual);
  const auto layers = static_cast<std::size_t>(c.num_layers);
  if (recurrent->size() < layers) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: expected {} elements, found {}", key, layers, recurrent->size()));
  }
  const auto first = std::find(recurrent->begin(), recurrent->end(), false) - recurrent->begin();
  const int interval = said.value_or(static_cast<int>(first) + 1);
  for (std::size_t i = 0; i < layers; ++i) {
    const bool expected = (i + 1) % static_cast<std::size_t>(interval) != 0;
    if ((*recurrent)[i] == expected) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: element {}: expected {}, since one layer of {} has attention, "
                            "found {}",
                            key, i, expected, interval, !expected));
  }
  return interval;
}

/// The places of delta layers, and their shape. Layers that only guess further tokens are counted
/// in block_count and left out.
Result<void> ReadDelta(const formats::Metadata& metadata, const KeyReader& keys,
                       Decisions* decisions, ModelConfig* c) {
  constexpr int kLanes = 16;
  constexpr std::uint64_t kMaxTaps = 64, kMaxHeadDim = 4096;
  c->num_draft_layers =
      BITTERN_TRY(keys.OptionalInt("nextn_predict_layers", kMaxLayers)).value_or(0);
  if (c->num_draft_layers >= c->num_layers) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{0}.nextn_predict_layers: expected less than {0}.block_count {1}, "
                            "found {2}",
                            c->architecture, c->num_layers, c->num_draft_layers));
  }
  // All that is read below counts the layers that run.
  c->num_layers -= c->num_draft_layers;
  if (c->num_draft_layers > 0) {
    decisions->push_back({c->architecture + ".nextn_predict_layers",
                          fmt::format("{} left out", c->num_draft_layers),
                          "such layers only guess tokens ahead; the answers are the same", false});
  }
  c->attention_interval = BITTERN_TRY(ReadAttentionInterval(metadata, keys, *c));
  DeltaShape& delta = c->delta;
  delta.taps = BITTERN_TRY(keys.Int("ssm.conv_kernel", kMaxTaps));
  delta.head_dim = BITTERN_TRY(keys.Int("ssm.state_size", kMaxHeadDim));
  delta.key_heads = BITTERN_TRY(keys.Int("ssm.group_count", kMaxSize));
  delta.value_heads = BITTERN_TRY(keys.Int("ssm.time_step_rank", kMaxSize));
  const auto fail = [&](std::string_view what) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("{}.ssm.{}", c->architecture, what));
  };
  if (delta.head_dim % kLanes != 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}.ssm.state_size: expected a multiple of {}, found {}",
                            c->architecture, kLanes, delta.head_dim));
  }
  if (delta.value_heads % delta.key_heads != 0) {
    return fail(fmt::format("time_step_rank: expected a multiple of group_count {}, found {}",
                            delta.key_heads, delta.value_heads));
  }
  const std::uint64_t values =
      static_cast<std::uint64_t>(delta.value_heads) * static_cast<std::uint64_t>(delta.head_dim);
  const int inner = BITTERN_TRY(keys.Int("ssm.inner_size", kMaxSize));
  if (values != static_cast<std::uint64_t>(inner)) {
    return fail(fmt::format("inner_size: expected time_step_rank {} times state_size {}, found {}",
                            delta.value_heads, delta.head_dim, inner));
  }
  return {};
}

/// A key of networks with windows or experts that has a value for each layer.
Result<void> CheckCount(const ModelConfig& c, std::string_view key, std::size_t found) {
  if (found == static_cast<std::size_t>(c.num_layers)) return {};
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("metadata key {0}.{1}: expected a value for each of the {2} layers "
                          "({0}.block_count), found {3}",
                          c.architecture, key, c.num_layers, found));
}

/// The layers that see the last positions alone.
Result<void> ReadWindows(const formats::Metadata& metadata, const KeyReader& keys, ModelConfig* c) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  c->window = BITTERN_TRY(keys.Int("attention.sliding_window", kMaxContext));
  auto windowed = BITTERN_TRY(metadata.GetBools(fmt::format("{}.{}", c->architecture, kPattern)));
  BITTERN_TRY(CheckCount(*c, kPattern, windowed ? windowed->size() : 0));
  c->windowed = *std::move(windowed);
  return {};
}

/// The windows that a file of such an architecture may have, and the base of their rotation.
Result<void> ReadOptionalWindows(const formats::Metadata& metadata, const KeyReader& keys,
                                 ModelConfig* c) {
  constexpr double kTheta = 10000;
  const std::string prefix = c->architecture + ".";
  const auto window = BITTERN_TRY(keys.OptionalInt("attention.sliding_window", kMaxContext));
  if (!window) return {};
  const std::string pattern = prefix + "attention.sliding_window_pattern";
  const formats::MetaValue* value = metadata.Find(pattern);
  if (value != nullptr && value->type == formats::MetaType::kArray) {
    BITTERN_TRY(ReadWindows(metadata, keys, c));
  } else {
    // Gemma's files say the pattern as a number: every such layer sees all positions.
    const int period = BITTERN_TRY(keys.OptionalInt("attention.sliding_window_pattern", kMaxLayers))
                           .value_or(c->traits->window_period);
    c->window = *window;
    for (int i = 0; i < c->num_layers; ++i) c->windowed.push_back((i + 1) % period != 0);
  }
  c->window_theta = kTheta;
  if (metadata.Find(prefix + "rope.freq_base_swa") != nullptr) {
    c->window_theta = BITTERN_TRY(keys.Float("rope.freq_base_swa", 1, 1e12));
  }
  return {};
}

/// Refuses a file that asks for another kind of mixture than the one that is known.
Result<void> RefuseOtherExperts(const formats::Metadata& metadata, const ModelConfig& c) {
  constexpr struct {
    std::string_view key;
    double expected;
    std::string_view meaning;
  } kKnown[] = {{"expert_shared_count", 0, "no expert that all tokens share"},
                {"expert_group_count", 0, "no groups of experts"},
                {"leading_dense_block_count", 0, "experts in every layer"},
                {"expert_gating_func", 1, "softmax"},
                {"expert_weights_scale", 1, "no further factor"}};
  for (const auto& [name, expected, meaning] : kKnown) {
    const std::string key = fmt::format("{}.{}", c.architecture, name);
    const auto found = BITTERN_TRY(metadata.GetFloat(key));
    if (found.value_or(expected) == expected) continue;
    return Fail(ErrorCode::kUnsupported, fmt::format("metadata key {}: expected {} ({}), found {}",
                                                     key, expected, meaning, *found));
  }
  const std::string norm = c.architecture + ".expert_weights_norm";
  if (BITTERN_TRY(metadata.GetBool(norm)).value_or(true)) return {};
  return Fail(ErrorCode::kUnsupported,
              fmt::format("metadata key {}: expected true (the weights of the chosen experts have "
                          "the sum 1), found false",
                          norm));
}

/// The limits of gates and ups; where the file is silent, the one that the network was made with.
Result<std::vector<float>> ReadClamps(const formats::Metadata& metadata, const ModelConfig& c,
                                      Decisions* decisions) {
  constexpr std::string_view kKey = "swiglu_clamp_exp";
  const std::string key = fmt::format("{}.{}", c.architecture, kKey);
  auto clamps = BITTERN_TRY(metadata.GetFloats(key));
  const auto layers = static_cast<std::size_t>(c.num_layers);
  const float usual = c.traits->expert_clamp;
  if (!clamps && usual == 0) {
    return std::vector<float>(layers, std::numeric_limits<float>::infinity());
  }
  if (!clamps) {
    decisions->push_back({key, fmt::format("{}", usual), "the file does not say", false});
    return std::vector<float>(layers, usual);
  }
  BITTERN_TRY(CheckCount(c, kKey, clamps->size()));
  for (std::size_t i = 0; i < clamps->size(); ++i) {
    if ((*clamps)[i] > 0) continue;  // infinity is no limit; false for NaN
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {}: element {} is {}, expected more than 0", key, i,
                            (*clamps)[i]));
  }
  return *std::move(clamps);
}

/// The chosen experts' neurons lie one behind the other, as one wide layer, so `intermediate_size`
/// is their number. The kernels want whole blocks of columns and whole tiles of rows.
Result<void> ReadExperts(const formats::Metadata& metadata, const KeyReader& keys,
                         Decisions* decisions, ModelConfig* c) {
  constexpr int kBlock = 128;  // of columns of down_proj, as the kernels take them
  constexpr std::uint64_t kMaxExperts = 4096;
  BITTERN_TRY(RefuseOtherExperts(metadata, *c));
  ExpertShape& experts = c->experts;
  experts.count = BITTERN_TRY(keys.Int("expert_count", kMaxExperts));
  experts.used = BITTERN_TRY(keys.Int("expert_used_count", kMaxExperts));
  experts.neurons = BITTERN_TRY(keys.Int("expert_feed_forward_length", kMaxSize));
  if (experts.used > experts.count) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {0}.expert_used_count: expected up to {0}.expert_count "
                            "{1}, found {2}",
                            c->architecture, experts.count, experts.used));
  }
  if (experts.neurons % kBlock != 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("metadata key {}.expert_feed_forward_length: expected a multiple of "
                            "{}, found {}",
                            c->architecture, kBlock, experts.neurons));
  }
  const std::uint64_t together =
      static_cast<std::uint64_t>(experts.used) * static_cast<std::uint64_t>(experts.neurons);
  if (together > kMaxSize) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("metadata keys {0}.expert_used_count {1} times "
                            "{0}.expert_feed_forward_length {2}: expected up to {3}, found {4}",
                            c->architecture, experts.used, experts.neurons, kMaxSize, together));
  }
  c->intermediate_size = static_cast<int>(together);
  if (c->hidden_size % kRowsOfTile != 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("metadata key {}.embedding_length: expected a multiple of {} in a "
                            "network with experts, found {}",
                            c->architecture, kRowsOfTile, c->hidden_size));
  }
  experts.clamps = BITTERN_TRY(ReadClamps(metadata, *c, decisions));
  return {};
}

}  // namespace

/// Each key is read after those that it depends on. The architecture comes first, since it says
/// which keys there are. The number of layers comes before lists with an element for each layer,
/// and the heads before parts of a head. The vocabulary comes last, from the embedding's own shape.
Result<ModelConfig> ReadConfig(const formats::Checkpoint& checkpoint, Decisions* decisions) {
  const formats::Metadata& metadata = checkpoint.metadata();
  ModelConfig c;
  c.traits = BITTERN_TRY(formats::ArchitectureOf(metadata));
  c.architecture = c.traits->name;
  // A Hugging Face folder says that its rows are in order; a GGUF file is as its architecture has
  // it.
  c.permuted_qk = BITTERN_TRY(formats::RowOrderOf(metadata)) == formats::RowOrder::kNeighbours;
  c.name = std::string(BITTERN_TRY(metadata.GetString("general.name")).value_or(""));
  const KeyReader keys(metadata, c.architecture);
  c.hidden_size = BITTERN_TRY(keys.Int("embedding_length", kMaxSize));
  c.num_layers = BITTERN_TRY(keys.Int("block_count", kMaxLayers));
  if (c.traits->experts) {
    BITTERN_TRY(ReadExperts(metadata, keys, decisions, &c));
  } else {
    c.intermediate_size = BITTERN_TRY(keys.Int("feed_forward_length", kMaxSize));
  }
  if (c.traits->windows) BITTERN_TRY(ReadWindows(metadata, keys, &c));
  if (c.traits->window_period != 0) BITTERN_TRY(ReadOptionalWindows(metadata, keys, &c));
  c.num_heads = BITTERN_TRY(keys.Int("attention.head_count", kMaxSize));
  c.num_kv_heads =
      BITTERN_TRY(keys.OptionalInt("attention.head_count_kv", kMaxSize)).value_or(c.num_heads);
  c.context_length = BITTERN_TRY(keys.Int("context_length", kMaxContext));
  c.rms_norm_eps =
      static_cast<float>(BITTERN_TRY(keys.Float("attention.layer_norm_rms_epsilon", 0, 1)));
  c.rope_theta =
      BITTERN_TRY(ReadRopeTheta(metadata, keys, c.architecture, c.traits->windows, decisions));

  const auto key_length = BITTERN_TRY(keys.OptionalInt("attention.key_length", kMaxSize));
  if (!key_length && c.hidden_size % c.num_heads != 0) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}.embedding_length {} is not a multiple of attention.head_count {}",
                            c.architecture, c.hidden_size, c.num_heads));
  }
  c.head_dim = key_length.value_or(c.hidden_size / c.num_heads);
  const auto value_length = BITTERN_TRY(keys.OptionalInt("attention.value_length", kMaxSize));
  if (value_length.value_or(c.head_dim) != c.head_dim) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("attention.value_length {} differs from the key length {}",
                            *value_length, c.head_dim));
  }
  BITTERN_TRY(CheckHeads(c));
  c.rotated_dim = BITTERN_TRY(ReadRotatedDim(metadata, c));
  if (c.traits->delta_layers) BITTERN_TRY(ReadDelta(metadata, keys, decisions, &c));
  if (c.traits->rope_alpha) BITTERN_TRY(ReadRopeAlpha(metadata, keys, decisions, &c));
  c.rope_scaling =
      BITTERN_TRY(ReadRopeScaling(metadata, keys, c.architecture + ".", c.context_length));
  if (c.traits->scaled_stream) c.scales = BITTERN_TRY(ReadStreamScales(keys));

  // The embedding's shape is the truth about the vocabulary; the key, if present, must agree.
  const formats::Tensor* embedding =
      checkpoint.Find(formats::TensorName(formats::TensorId::kTokenEmbd));
  if (embedding == nullptr) {
    return Fail(ErrorCode::kCorruptFile, "tensor \"token_embd.weight\" is missing");
  }
  if (embedding->rows() < 1 || embedding->rows() > kMaxVocab) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("tensor \"token_embd.weight\": expected 1 to {} rows, found {}",
                            kMaxVocab, embedding->rows()));
  }
  c.vocab_size = static_cast<int>(embedding->rows());
  const auto declared = BITTERN_TRY(keys.OptionalInt("vocab_size", kMaxVocab));
  if (declared.value_or(c.vocab_size) != c.vocab_size) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}.vocab_size is {}, but token_embd.weight has {} rows",
                            c.architecture, *declared, c.vocab_size));
  }
  c.input_norms = c.traits->input_norms &&
                  checkpoint.Find(formats::TensorName(formats::TensorId::kAttnQNormIn)) != nullptr;
  c.grouped_activations = c.traits->grouped_activations && !c.input_norms;
  if (c.traits->scaled_embedding) c.scales.embedding = std::sqrt(static_cast<float>(c.hidden_size));
  c.activation = BITTERN_TRY(ResolveActivation(metadata, c, decisions));
  return c;
}

DeltaShape ModelConfig::DeltaHere() const noexcept {
  if (delta_keys_here == std::pair(0, 0)) return delta;
  DeltaShape here = delta;
  here.key_heads = delta_keys_here.second - delta_keys_here.first;
  here.value_heads = delta.value_heads / delta.key_heads * here.key_heads;
  return here;
}

HeadShare ModelConfig::HeadsHere() const noexcept {
  const int of_kv = num_heads / num_kv_heads;
  const bool all = heads_here == std::pair(0, 0);
  const int first = heads_here.first, end = all ? num_heads : heads_here.second;
  const int first_kv = first / of_kv;
  return {.first = first,
          .heads = end - first,
          .first_kv = first_kv,
          .kv_heads = (end + of_kv - 1) / of_kv - first_kv,
          .group = std::gcd(of_kv, std::gcd(first, end)),
          .heads_of_kv = of_kv};
}

}  // namespace bittern::model
