// SPDX-License-Identifier: Apache-2.0
// config.json and generation_config.json.
#include "formats/hf/hf_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "formats/architecture.hpp"

namespace bittern::formats {
namespace {

/// An f32 as the shortest decimal that means it: 1e-5, not 9.9999997e-06.
double Shortest(double value) {
  return std::strtod(fmt::format("{}", static_cast<float>(value)).c_str(), nullptr);
}

/// Turns the keys below "<architecture>." into config.json. Members come in the order of Config.
class ConfigWriter {
 public:
  ConfigWriter(const MetadataDraft& metadata, const ArchitectureSpec& row)
      : metadata_(metadata), row_(row), prefix_(std::string(row.name) + ".") {}

  /// The whole object. Scales multiply ("autobitlinear") because that is how the converter writes
  /// them; torch_dtype is that of norms and embeddings.
  Result<Json> Config(bool tied) {
    config_["architectures"] = Json::MakeArray({row_.hf_classes[0]});
    config_["model_type"] = row_.hf_model_type;
    const std::string_view activation = metadata_.Text(prefix_ + "hidden_activation");
    config_["hidden_act"] = activation.empty() ? ActivationName(row_.activation) : activation;
    BITTERN_TRY(AddUint("hidden_size", "embedding_length"));
    BITTERN_TRY(AddUint("intermediate_size", "feed_forward_length"));
    BITTERN_TRY(AddUint("num_hidden_layers", "block_count"));
    BITTERN_TRY(AddUint("num_attention_heads", "attention.head_count"));
    const auto kv_heads = metadata_.Uint(prefix_ + "attention.head_count_kv");
    config_["num_key_value_heads"] = kv_heads ? Json(*kv_heads) : config_["num_attention_heads"];
    if (const auto head = metadata_.Uint(prefix_ + "attention.key_length")) {
      config_["head_dim"] = *head;
    }
    BITTERN_TRY(AddFloat("rms_norm_eps", "attention.layer_norm_rms_epsilon"));
    BITTERN_TRY(AddFloat("rope_theta", "rope.freq_base"));
    AddRopeScaling();
    BITTERN_TRY(AddUint("max_position_embeddings", "context_length"));
    AddVocabulary();
    config_["tie_word_embeddings"] = tied;
    config_["torch_dtype"] = "bfloat16";
    config_["use_cache"] = true;
    config_["quantization_config"] = {{"quant_method", "bitnet"},
                                      {"linear_class", "autobitlinear"},
                                      {"quantization_mode", "offline"}};
    return std::move(config_);
  }

 private:
  Result<void> AddUint(std::string_view name, std::string_view key) {
    const auto value = metadata_.Uint(prefix_ + std::string(key));
    if (!value) return Missing(key);
    config_[std::string(name)] = *value;
    return {};
  }
  Result<void> AddFloat(std::string_view name, std::string_view key) {
    const auto value = metadata_.Number(prefix_ + std::string(key));
    if (!value) return Missing(key);
    config_[std::string(name)] = Shortest(*value);
    return {};
  }
  tl::unexpected<Error> Missing(std::string_view key) const {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("metadata key {}{} is missing or no number", prefix_, key));
  }
  /// rope_scaling in transformers' form, with the members that the keys have.
  void AddRopeScaling() {
    const std::string_view type = metadata_.Text(prefix_ + "rope.scaling.type");
    if (type.empty() || type == "none") return;
    Json scaling = {{"rope_type", type}};
    for (const std::string name : {"factor", "low_freq_factor", "high_freq_factor"}) {
      if (const auto value = metadata_.Number(prefix_ + "rope.scaling." + name)) {
        scaling[name] = Shortest(*value);
      }
    }
    for (const std::string name : {"beta_fast", "beta_slow"}) {
      if (const auto value = metadata_.Number(prefix_ + "rope.scaling.yarn_" + name)) {
        scaling[name] = Shortest(*value);
      }
    }
    if (const auto length = metadata_.Uint(prefix_ + "rope.scaling.original_context_length")) {
      scaling["original_max_position_embeddings"] = *length;
    }
    config_["rope_scaling"] = std::move(scaling);
  }
  /// vocab_size and the ids of BOS and EOS, where they are known.
  void AddVocabulary() {
    const MetaValue* tokens = metadata_.Find("tokenizer.ggml.tokens");
    const auto* array = tokens == nullptr ? nullptr : std::get_if<MetaArray>(&tokens->value);
    const auto size = metadata_.Uint(prefix_ + "vocab_size");
    if (size || array != nullptr) config_["vocab_size"] = size ? *size : array->count;
    if (const auto id = metadata_.Uint("tokenizer.ggml.bos_token_id"))
      config_["bos_token_id"] = *id;
    if (const auto id = metadata_.Uint("tokenizer.ggml.eos_token_id"))
      config_["eos_token_id"] = *id;
  }

  const MetadataDraft& metadata_;
  const ArchitectureSpec& row_;
  std::string prefix_;
  Json config_ = Json::MakeObject();
};

/// generation_config.json: BOS, and every id that ends a text, each once. One id stands alone,
/// several make an array, as generate() takes both.
Json GenerationConfig(const MetadataDraft& metadata) {
  Json config = Json::MakeObject();
  if (const auto bos = metadata.Uint("tokenizer.ggml.bos_token_id")) config["bos_token_id"] = *bos;
  Json ends = Json::MakeArray();
  const auto add = [&](std::uint64_t id) {
    if (std::ranges::find(ends.elements(), Json(id)) == ends.elements().end()) ends.push_back(id);
  };
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    if (const auto id = metadata.Uint(key)) add(*id);
  }
  for (const std::int32_t id : metadata.Ints("bittern.end_token_ids")) {
    if (id >= 0) add(static_cast<std::uint64_t>(id));
  }
  if (ends.size() == 1) {
    config["eos_token_id"] = ends[0];
  } else if (!ends.empty()) {
    config["eos_token_id"] = std::move(ends);
  }
  return config;
}

std::string Text(const Json& json) { return json.Dump(2) + "\n"; }

}  // namespace

/// Refuses models that no class of transformers runs: rotated weights, and architectures without a
/// class.
Result<std::vector<TextFile>> HfConfigFiles(const MetadataDraft& metadata, bool tied) {
  for (const auto& entry : metadata.entries()) {
    if (!entry.key.starts_with("prism.hadamard.")) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("metadata key {}: the weights were rotated, which no model class of "
                            "Hugging Face undoes",
                            entry.key));
  }
  const std::string_view architecture = metadata.Text("general.architecture");
  const ArchitectureSpec* row = FindArchitecture(architecture);
  if (row == nullptr || row->hf_classes[0].empty()) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("architecture {} has no model class in Hugging Face's library",
                            Quoted(architecture)));
  }
  if (!row->hf_written) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("architecture {}: Hugging Face folders of it are read, not written",
                            Quoted(architecture)));
  }
  const Json config = BITTERN_TRY(ConfigWriter(metadata, *row).Config(tied));
  return std::vector<TextFile>{{"config.json", Text(config)},
                               {"generation_config.json", Text(GenerationConfig(metadata))}};
}

}  // namespace bittern::formats
