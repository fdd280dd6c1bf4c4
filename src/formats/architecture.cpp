// SPDX-License-Identifier: Apache-2.0
// The table of architectures. To add one: a row here, its tensors in network_tensors.def if they
// are new, and its arithmetic in model/forward/block.cpp if that is new (CONTRIBUTING.md).
// Constant data; any thread.
#include "formats/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/portable_math.hpp"
#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

/// Microsoft's and 1bitLLM's classes differ by one letter's case, and files do not keep to it.
constexpr std::array<std::string_view, 2> kBitNetClasses = {"BitNetForCausalLM",
                                                            "BitnetForCausalLM"};

constexpr ArchitectureSpec kArchitectures[] = {
    {.name = "bitnet-b1.58",
     .hf_classes = kBitNetClasses,
     .hf_model_type = "bitnet",
     .activation = Activation::kRelu2,
     .other_activation = "bitnet",
     .bitnet = true,
     .sub_norms = true},
    {.name = "bitnet-25",  // the first name of the same
     .hf_classes = kBitNetClasses,
     .hf_model_type = "bitnet",
     .activation = Activation::kRelu2,
     .other_activation = "bitnet",
     .bitnet = true,
     .sub_norms = true},
    {.name = "bitnet",  // 1bitLLM's models, and what other converters call all of these
     .hf_classes = kBitNetClasses,
     .hf_model_type = "bitnet",
     .activation = Activation::kSilu,
     .other_activation = "bitnet-b1.58",
     .bitnet = true,
     .sub_norms = true},
    {.name = "llama",  // Llama3-8B-1.58, Falcon3-1.58bit, Falcon-E
     .hf_classes = {"LlamaForCausalLM"},
     .hf_model_type = "llama",
     .activation = Activation::kSilu,
     .permuted_qk = true},
    {.name = "qwen3",  // Ternary Bonsai
     .hf_classes = {"Qwen3ForCausalLM", "Qwen3Model"},
     .hf_model_type = "qwen3",
     .activation = Activation::kSilu,
     .head_norms = true,
     .grouped_activations = true,
     .input_norms = true,  // BitNet-embedding-0.6B
     .pre = "qwen2"},
    {.name = "gemma3",  // BitNet-embedding-270M
     .hf_classes = {"Gemma3TextModel", "Gemma3ForCausalLM"},
     .hf_model_type = "gemma3_text",
     .hf_written = false,
     .activation = Activation::kGelu,
     .head_norms = true,
     .grouped_activations = true,
     .window_period = 6,
     .input_norms = true,
     .post_norms = true,
     .scaled_embedding = true,
     .hf_norms_less_one = true},
    {.name = "qwen35",  // Ternary Bonsai 27B
     .hf_classes = {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"},
     .hf_model_type = "qwen3_5",
     .hf_written = false,
     .activation = Activation::kSilu,
     .head_norms = true,
     .grouped_activations = true,
     .delta_layers = true,
     .hf_norms_less_one = true,
     .pre = "qwen35"},
    {.name = "maple",  // Maple 20B-A1B
     .hf_classes = {"MapleForCausalLM"},
     .hf_model_type = "maple",
     .hf_written = false,
     .activation = Activation::kSilu,
     .head_norms = true,
     .grouped_activations = true,
     .experts = true,
     .expert_clamp = 7,
     .windows = true,
     .hf_thresholds = true,
     .pre = "qwen2"},
    {.name = "qwen3moe",  // Qwen3's mixtures of experts
     .hf_classes = {"Qwen3MoeForCausalLM"},
     .hf_model_type = "qwen3_moe",
     .hf_written = false,
     .activation = Activation::kSilu,
     .head_norms = true,
     .grouped_activations = true,
     .experts = true,
     .pre = "qwen2"},
    {.name = "hunyuan-dense",  // Hy-MT 1.8B
     .hf_classes = {"HunYuanDenseV1ForCausalLM"},
     .hf_model_type = "hunyuan_v1_dense",
     .hf_written = false,
     .activation = Activation::kSilu,
     .head_norms = true,
     .rotates_first = true,
     .rope_alpha = true,
     .grouped_activations = true,
     .pre = "hunyuan-dense"},
    {.name = "minicpm",  // MiniCPM4, BitCPM4
     .hf_classes = {"MiniCPMForCausalLM"},
     .hf_model_type = "minicpm",
     .hf_written = false,
     .activation = Activation::kSilu,
     .scaled_stream = true,
     .permuted_qk = true,
     .grouped_activations = true},
};

/// Each once, in the order of the table.
std::string KnownClasses() {
  std::string known;
  std::set<std::string_view> seen;
  for (const ArchitectureSpec& row : kArchitectures) {
    for (const std::string_view name : row.hf_classes) {
      if (name.empty() || !seen.insert(name).second) continue;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
  }
  return known;
}

}  // namespace

std::string_view ActivationName(Activation activation) noexcept {
  switch (activation) {
    case Activation::kRelu2:
      return "relu2";
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      break;
  }
  return "gelu";
}

float BaseWithAlpha(double base, double alpha, std::uint64_t head_dim) noexcept {
  const double d = static_cast<double>(head_dim);
  return static_cast<float>(base * Exp(Log(alpha) * d / (d - 2)));
}

std::span<const ArchitectureSpec> Architectures() noexcept { return kArchitectures; }

const ArchitectureSpec* FindArchitecture(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(kArchitectures, name, &ArchitectureSpec::name);
  return row == std::end(kArchitectures) ? nullptr : row;
}

Result<const ArchitectureSpec*> ArchitectureOf(const Metadata& metadata) {
  const auto value = BITTERN_TRY(metadata.GetString("general.architecture"));
  if (!value) {
    return Fail(ErrorCode::kCorruptFile, "metadata key general.architecture is missing");
  }
  if (const ArchitectureSpec* row = FindArchitecture(*value)) return row;
  std::string known;
  for (const ArchitectureSpec& row : kArchitectures) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return Fail(ErrorCode::kUnsupported,
              fmt::format("architecture \"{}\" is not supported; supported: {}", *value, known));
}

Result<const ArchitectureSpec*> ArchitectureOfClass(std::string_view hf_class,
                                                    std::string_view hidden_act) {
  const ArchitectureSpec* found = nullptr;
  for (const ArchitectureSpec& row : kArchitectures) {
    if (hf_class.empty() || std::ranges::find(row.hf_classes, hf_class) == row.hf_classes.end())
      continue;
    if (ActivationName(row.activation) == hidden_act) return &row;
    if (found == nullptr) found = &row;
  }
  if (found != nullptr) return found;
  return Fail(ErrorCode::kUnsupported,
              fmt::format("architecture {} is not supported; supported: {}", Quoted(hf_class),
                          KnownClasses()));
}

}  // namespace bittern::formats
