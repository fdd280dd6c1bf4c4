// SPDX-License-Identifier: Apache-2.0
// Nothing is guessed: a number that the forward pass needs must be in the file, and a setting that
// would change it in a way we lack is refused by name.
#include "formats/hf/hf_config.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text/display.hpp"
#include "formats/architecture.hpp"
#include "formats/hf/hf_config_values.hpp"
#include "formats/hf/hf_networks.hpp"
#include "formats/hf/hf_rotation.hpp"

namespace bittern::formats {

using config_json::CorruptConfig;
using config_json::KeyWriter;
using config_json::OptionalBool;
using config_json::OptionalFloat;
using config_json::OptionalSize;
using config_json::OptionalString;
using config_json::Present;
using config_json::Size;
using config_json::Unsupported;
using config_json::WrongType;

namespace {

/// The model class: "BitNetForCausalLM".
Result<std::string> ReadClass(const Json& json) {
  if (IsRotatedPack(json)) return "Qwen3_5ForConditionalGeneration";
  const Json* list = Present(json, "architectures");
  if (list == nullptr) return CorruptConfig("architectures is missing");
  const Json::Array* array = list->AsArray();
  if (array == nullptr || array->size() != 1 || (*array)[0].AsString() == nullptr) {
    return CorruptConfig("architectures: an array of one string expected");
  }
  return *(*array)[0].AsString();
}

/// hidden_act, which Gemma calls hidden_activation, in GGUF's words. It must be stated: it decides
/// between architectures that share a class.
Result<std::string> ReadActivation(const Json& json, bool rotated_pack) {
  auto activation = BITTERN_TRY(OptionalString(json, "hidden_act"));
  if (!activation) activation = BITTERN_TRY(OptionalString(json, "hidden_activation"));
  if (!activation && rotated_pack) return "silu";  // of its base's class
  if (!activation) return CorruptConfig("hidden_act is missing");
  if (*activation == "gelu") {  // with erf, which nothing here computes
    return Unsupported("hidden_act: relu2, silu or gelu_pytorch_tanh expected, gelu found");
  }
  return *activation == "gelu_pytorch_tanh" ? "gelu" : *activation;
}

/// MLX's object, whose members may also name modules that differ: false, or an object of their own,
/// of which those with 4 bits are an embedding or a head.
Result<void> ReadMlxQuantization(const Json& quantization, HfConfig* config) {
  const auto read = [&quantization](const Json& object) -> Result<HfMlxPack> {
    const bool whole = &object == &quantization;
    HfMlxPack pack;
    pack.bits = BITTERN_TRY(Size(object, "bits"));
    const auto mode = BITTERN_TRY(OptionalString(object, "mode")).value_or("affine");
    if ((pack.bits != 2 && (whole || pack.bits != 4)) || mode != "affine") {
      return Unsupported(fmt::format("bits 2{} of mode affine expected, bits {} of mode {} found",
                                     whole ? "" : " or 4", pack.bits, Printable(mode)));
    }
    pack.group_cols = BITTERN_TRY(Size(object, "group_size"));
    if (pack.group_cols == 64 || pack.group_cols == 128) return pack;
    return Unsupported(fmt::format("group_size: 64 or 128 expected, {} found", pack.group_cols));
  };
  const auto within = [](std::string_view name) {
    return [name](Error error) {
      return bittern::Within(fmt::format("quantization{}{}", name.empty() ? "" : ": ", name),
                             std::move(error));
    };
  };
  config->mlx = BITTERN_TRY(read(quantization).map_error(within("")));
  for (const Json::Member& member : quantization.members()) {
    if (!member.value.is_object()) continue;
    const std::string name = Printable(member.key);
    const HfMlxPack pack = BITTERN_TRY(read(member.value).map_error(within(name)));
    config->mlx_modules.emplace(member.key, pack);
  }
  return {};
}

/// MLX's packs of 2 bits; false where config.json speaks of none. MLX writes the object twice.
Result<bool> ReadMlx(const Json& json, HfConfig* config) {
  const Json* quantization = Present(json, "quantization");
  const Json* other = Present(json, "quantization_config");
  if (quantization == nullptr && other != nullptr && Present(*other, "quant_method") == nullptr &&
      Present(*other, "bits") != nullptr) {
    quantization = other;
  }
  if (quantization == nullptr) return false;
  BITTERN_TRY(ReadMlxQuantization(*quantization, config));
  return true;
}

/// quantization_config, and what follows for weights of either kind.
Result<void> ReadQuantization(const Json& json, const ArchitectureSpec& row, HfConfig* config) {
  if (BITTERN_TRY(ReadMlx(json, config))) return {};
  const Json* quantization = Present(json, "quantization_config");
  if (quantization == nullptr) {
    // BitNet's own classes quantise masters in every forward pass; other networks do not. But the
    // weights may have been written out after that, and the mean would shrink their scales.
    config->float_weights = row.bitnet          ? HfFloatWeights::kEither
                            : row.hf_thresholds ? HfFloatWeights::kThresholds
                                                : HfFloatWeights::kAsIs;
    return {};
  }
  if (quantization->AsObject() == nullptr) {
    return WrongType("quantization_config", "an object", *quantization);
  }
  const auto method = BITTERN_TRY(OptionalString(*quantization, "quant_method"));
  if (method != "bitnet") {
    return Unsupported(fmt::format("quant_method {} is not supported; supported: \"bitnet\"",
                                   Quoted(method.value_or(""))));
  }
  if (BITTERN_TRY(OptionalBool(*quantization, "use_rms_norm")).value_or(false) &&
      !row.input_norms) {
    return Unsupported("use_rms_norm (a norm before every projection) is not supported");
  }
  config->has_quantization = true;
  config->linear_class = BITTERN_TRY(OptionalString(*quantization, "linear_class"));
  const auto mode = BITTERN_TRY(OptionalString(*quantization, "quantization_mode"));
  if (mode.value_or("offline") == "offline") {
    config->float_weights = HfFloatWeights::kRefused;
  } else if (mode == "online") {
    config->float_weights = HfFloatWeights::kMasters;
  } else {
    return Unsupported(
        fmt::format("quantization_mode {} is not supported; supported: \"online\", "
                    "\"offline\"",
                    Quoted(*mode)));
  }
  return {};
}

/// Settings that change the network in ways that neither keys nor tensors would show.
Result<void> RefuseUnknownNetworks(const Json& json) {
  for (const char* key : {"use_sliding_window", "use_cla"}) {
    if (!BITTERN_TRY(OptionalBool(json, key)).value_or(false)) continue;
    return Unsupported(fmt::format("{} is not supported", key));
  }
  for (const char* key : {"weight_bits", "input_bits"}) {
    const std::uint64_t expected = std::string_view(key) == "weight_bits" ? 1 : 8;
    const auto bits = BITTERN_TRY(OptionalSize(json, key));
    if (bits.value_or(expected) != expected) {
      return Unsupported(
          fmt::format("{} {} is not supported; supported: {}", key, *bits, expected));
    }
  }
  return {};
}

/// The kind of scaling, empty where none is named. Microsoft's first name of LongRoPE is "su".
Result<std::string> RopeType(const Json& scaling) {
  if (scaling.AsObject() == nullptr) return WrongType("rope_scaling", "an object", scaling);
  auto type = BITTERN_TRY(OptionalString(scaling, "rope_type"));
  if (!type) type = BITTERN_TRY(OptionalString(scaling, "type"));
  return type == "su" ? "longrope" : type.value_or("");
}

/// LongRoPE's lists of factors. GGUF files have them as tensors, so they are kept beside the keys.
Result<void> ReadLongRope(const Json& scaling, HfConfig* config, KeyWriter* keys) {
  for (const auto& [name, factors] : {std::pair{"long_factor", &config->long_factors},
                                      {"short_factor", &config->short_factors}}) {
    const Json* list = Present(scaling, name);
    if (list == nullptr) return CorruptConfig(fmt::format("rope_scaling: {} is missing", name));
    const Json::Array* array = list->AsArray();
    if (array == nullptr) return WrongType(name, "an array of numbers", *list);
    for (const Json& item : *array) {
      const auto number = item.AsNumber();
      const bool good = number && *number > 0 && *number <= std::numeric_limits<float>::max();
      if (!good) return WrongType(name, "an array of numbers above 0", item);
      factors->push_back(static_cast<float>(*number));
    }
    const std::uint64_t half = config->head_dim / 2;
    if (factors->size() == half) continue;
    return CorruptConfig(
        fmt::format("rope_scaling: {}: {} numbers expected, half the size of a head, {} found",
                    name, half, factors->size()));
  }
  const auto magnitude = BITTERN_TRY(OptionalFloat(scaling, "attention_factor"));
  return magnitude ? keys->Float("rope.scaling.attn_factor", *magnitude) : Result<void>();
}

/// rope_scaling of older files: {"rope_type": "llama3", "factor": 8, ...}; newer ones put the same
/// and rope_theta into rope_parameters.
Result<void> WriteRopeScaling(const Json& scaling, HfConfig* config, KeyWriter* keys) {
  const auto type = BITTERN_TRY(RopeType(scaling));
  if (type.empty() || type == "default") return {};
  BITTERN_TRY(keys->String("rope.scaling.type", type));
  struct Number {
    const char *from, *to;
  };
  constexpr Number kFloats[] = {{"factor", "rope.scaling.factor"},
                                {"low_freq_factor", "rope.scaling.low_freq_factor"},
                                {"high_freq_factor", "rope.scaling.high_freq_factor"},
                                {"beta_fast", "rope.scaling.yarn_beta_fast"},
                                {"beta_slow", "rope.scaling.yarn_beta_slow"}};
  for (const Number& number : kFloats) {
    const auto value = BITTERN_TRY(OptionalFloat(scaling, number.from));
    if (value) {
      BITTERN_TRY(keys->Float(number.to, *value));
    } else if (type == "llama3" && std::string_view(number.from).ends_with("factor")) {
      return CorruptConfig(fmt::format("rope_scaling: {} is missing", number.from));
    }
  }
  for (const char* name : {"attention_factor", "mscale", "mscale_all_dim"}) {
    if (type != "yarn" || Present(scaling, name) == nullptr) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("config.json: rope_scaling.{} is not supported", name));
  }
  if (type == "longrope") BITTERN_TRY(ReadLongRope(scaling, config, keys));
  const auto original = BITTERN_TRY(OptionalSize(scaling, "original_max_position_embeddings"));
  if (original) return keys->Uint("rope.scaling.original_context_length", *original);
  if (type == "llama3") {
    return CorruptConfig("rope_scaling: original_max_position_embeddings is missing");
  }
  return {};
}

/// The base of the rotation times alpha^(d / (d - 2)), where d is the size of a head: the file has
/// the two apart. The rest of the object says nothing then.
Result<float> ReadBaseWithAlpha(const Json& scaling, double theta, std::uint64_t head_dim) {
  const auto alpha = BITTERN_TRY(OptionalFloat(scaling, "alpha"));
  if (!alpha || !(*alpha >= 1 && *alpha <= 1e6f) || head_dim <= 2) {
    return CorruptConfig(fmt::format(
        "rope_scaling: alpha: a number of 1 to 1000000 expected for heads of {}, {} found",
        head_dim, alpha ? fmt::format("{}", *alpha) : "none"));
  }
  if (const auto factor = BITTERN_TRY(OptionalFloat(scaling, "factor")); factor.value_or(1) != 1) {
    return Unsupported(
        fmt::format("rope_scaling: factor: 1 expected beside alpha, {} found", *factor));
  }
  return BaseWithAlpha(theta, static_cast<double>(*alpha), head_dim);
}

/// LLaMA's and Qwen's classes take 10000 where rope_theta is missing, as the reader of the keys
/// does. BitNet's classes differ, so nothing is taken for them.
Result<void> WriteRope(const Json& json, const ArchitectureSpec& row, HfConfig* config,
                       KeyWriter* keys) {
  const Json* parameters = Present(json, "rope_parameters");
  if (parameters != nullptr && Present(*parameters, "full_attention") != nullptr) {
    parameters = Present(*parameters, "full_attention");  // each kind of layer has its own
  }
  const Json* scaling = Present(json, "rope_scaling");
  if (scaling == nullptr) scaling = parameters;
  auto theta = BITTERN_TRY(OptionalFloat(json, "rope_theta"));
  if (!theta && parameters != nullptr) {
    theta = BITTERN_TRY(OptionalFloat(*parameters, "rope_theta"));
  }
  std::string type;
  if (scaling != nullptr) type = BITTERN_TRY(RopeType(*scaling));
  if (row.rope_alpha && type == "dynamic") {
    const float base = BITTERN_TRY(
        ReadBaseWithAlpha(*scaling, static_cast<double>(theta.value_or(10000)), config->head_dim));
    return keys->Float("rope.freq_base", base);
  }
  if (row.window_period != 0 && !type.empty() && type != "default") {
    return Unsupported(
        fmt::format("rope_scaling: a network with windows and without scaling expected, {} found",
                    Quoted(type)));
  }
  if (theta) {
    BITTERN_TRY(keys->Float("rope.freq_base", *theta));
  } else if (row.bitnet) {
    return CorruptConfig(
        "rope_theta is missing; add the number that the model was trained with (Microsoft's "
        "500000, 1bitLLM's 10000)");
  }
  return scaling == nullptr ? Result<void>() : WriteRopeScaling(*scaling, config, keys);
}

/// Elements of a head that are rotated. The factor stands beside the other numbers or among those
/// of the rotation; Qwen 3.5's class takes a quarter where it stands nowhere.
Result<std::uint64_t> RotatedDim(const Json& json, const HfConfig& config) {
  auto factor = BITTERN_TRY(OptionalFloat(json, "partial_rotary_factor"));
  const Json* parameters = Present(json, "rope_parameters");
  if (!factor && parameters != nullptr) {
    factor = BITTERN_TRY(OptionalFloat(*parameters, "partial_rotary_factor"));
  }
  const float share = factor.value_or(config.row->delta_layers ? 0.25f : 1.0f);
  const float rotated = share * static_cast<float>(config.head_dim);
  if (rotated >= 1 && rotated <= static_cast<float>(config.head_dim)) {
    return static_cast<std::uint64_t>(rotated);
  }
  return CorruptConfig(fmt::format("partial_rotary_factor: up to 1 expected, {} found", share));
}

/// Reads sizes into `config` and writes them as keys.
Result<void> ReadShape(const Json& json, HfConfig* config, KeyWriter* keys) {
  config->hidden_size = BITTERN_TRY(Size(json, "hidden_size"));
  const char* const kInner = config->row->experts ? "moe_intermediate_size" : "intermediate_size";
  config->intermediate_size = BITTERN_TRY(Size(json, kInner));
  config->num_layers = BITTERN_TRY(Size(json, "num_hidden_layers"));
  const auto heads = BITTERN_TRY(Size(json, "num_attention_heads"));
  const auto kv_heads = BITTERN_TRY(OptionalSize(json, "num_key_value_heads")).value_or(heads);
  const auto stated = BITTERN_TRY(OptionalSize(json, "head_dim"));
  if (!stated && config->hidden_size % heads != 0) {
    return CorruptConfig(fmt::format("hidden_size {} is not a multiple of num_attention_heads {}",
                                     config->hidden_size, heads));
  }
  const std::uint64_t head_dim = stated.value_or(config->hidden_size / heads);
  config->head_dim = head_dim;
  config->q_size = heads * head_dim;
  config->kv_size = kv_heads * head_dim;
  const std::uint64_t rotated = BITTERN_TRY(RotatedDim(json, *config));

  config->vocab_size = BITTERN_TRY(Size(json, "vocab_size"));
  const std::uint64_t context = BITTERN_TRY(Size(json, "max_position_embeddings"));
  BITTERN_TRY(keys->Uint("vocab_size", config->vocab_size));
  BITTERN_TRY(keys->Uint("context_length", context));
  BITTERN_TRY(keys->Uint("embedding_length", config->hidden_size));
  BITTERN_TRY(keys->Uint("block_count", config->num_layers));
  BITTERN_TRY(
      keys->Uint(config->row->experts ? "expert_feed_forward_length" : "feed_forward_length",
                 config->intermediate_size));
  BITTERN_TRY(keys->Uint("rope.dimension_count", rotated));
  if (config->row->delta_layers) {
    // Pairs that turn with time, height and width: alike in a text, but llama.cpp asks for them.
    const auto pairs = static_cast<std::int32_t>(rotated / 2);
    BITTERN_TRY(keys->Ints("rope.dimension_sections",
                           std::array{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0}));
  }
  BITTERN_TRY(keys->Uint("attention.head_count", heads));
  BITTERN_TRY(keys->Uint("attention.head_count_kv", kv_heads));
  if (head_dim * heads == config->hidden_size) return {};
  BITTERN_TRY(keys->Uint("attention.key_length", head_dim));
  return keys->Uint("attention.value_length", head_dim);
}

}  // namespace

const Json& TextConfig(const Json& whole) {
  const Json* text = Present(whole, "text_config");
  return text == nullptr || text->AsObject() == nullptr ? whole : *text;
}

/// The class is looked up twice: first alone, so that an unknown class is the reason for a refusal,
/// then with the activation, which picks the row of the table.
Result<HfConfig> ReadHfConfig(const Json& whole, Metadata* metadata) {
  if (whole.AsObject() == nullptr) return WrongType("config.json", "an object", whole);
  const Json& json = TextConfig(whole);
  const std::string name = BITTERN_TRY(ReadClass(whole));
  BITTERN_TRY(ArchitectureOfClass(name, ""));  // refused before anything about it is missed
  const std::string activation = BITTERN_TRY(ReadActivation(json, IsRotatedPack(whole)));
  HfConfig config;
  const ArchitectureSpec& row = *BITTERN_TRY(ArchitectureOfClass(name, activation));
  config.architecture = row.name;
  config.row = &row;
  BITTERN_TRY(RefuseUnknownNetworks(json));
  BITTERN_TRY(ReadQuantization(whole, row, &config));
  config.tied_head = BITTERN_TRY(OptionalBool(json, "tie_word_embeddings"));
  if (!config.tied_head) config.tied_head = BITTERN_TRY(OptionalBool(whole, "tie_word_embeddings"));
  if (name.find("For") == std::string::npos) config.tied_head.reset();  // a class without a head

  BITTERN_TRY(metadata->AddString("general.architecture", config.architecture));
  KeyWriter keys(config.architecture, metadata);
  BITTERN_TRY(ReadShape(json, &config, &keys));
  const auto epsilon = BITTERN_TRY(OptionalFloat(json, "rms_norm_eps"));
  if (!epsilon) return CorruptConfig("rms_norm_eps is missing");
  BITTERN_TRY(keys.Float("attention.layer_norm_rms_epsilon", *epsilon));
  BITTERN_TRY(WriteRope(json, row, &config, &keys));
  BITTERN_TRY(WriteNetworkKeys(json, row, &config, &keys));
  BITTERN_TRY(keys.String("hidden_activation", activation));
  // Converters to GGUF interleave the rows of q and k of llama models; here they lie as trained.
  BITTERN_TRY(metadata->AddString("bittern.rope_pairing", "neox"));
  return config;
}

}  // namespace bittern::formats
