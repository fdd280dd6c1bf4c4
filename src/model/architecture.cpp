// SPDX-License-Identifier: Apache-2.0
#include "model/architecture.hpp"

#include <fmt/format.h>

#include <string>

namespace bittern::model {
namespace {

constexpr Architecture kArchitectures[] = {
    {.name = "bitnet-b1.58",
     .activation = Activation::kRelu2,
     .sub_norms = true,
     .head_norms = false,
     .permuted_qk = false,
     .grouped_activations = false},
    {.name = "bitnet-25",  // the first name of the same
     .activation = Activation::kRelu2,
     .sub_norms = true,
     .head_norms = false,
     .permuted_qk = false,
     .grouped_activations = false},
    {.name = "bitnet",  // 1bitLLM's models, and what other converters call all of these
     .activation = Activation::kSilu,
     .sub_norms = true,
     .head_norms = false,
     .permuted_qk = false,
     .grouped_activations = false},
    {.name = "llama",  // Llama3-8B-1.58, Falcon3-1.58bit, Falcon-E
     .activation = Activation::kSilu,
     .sub_norms = false,
     .head_norms = false,
     .permuted_qk = true,
     .grouped_activations = false},
    {.name = "qwen3",  // Ternary Bonsai
     .activation = Activation::kSilu,
     .sub_norms = false,
     .head_norms = true,
     .permuted_qk = false,
     .grouped_activations = true},
};

}  // namespace

std::string_view ActivationName(Activation activation) noexcept {
  return activation == Activation::kRelu2 ? "relu2" : "silu";
}

std::span<const Architecture> Architectures() noexcept { return kArchitectures; }

Result<const Architecture*> FindArchitecture(const formats::Metadata& metadata) {
  const auto value = BITTERN_TRY(metadata.GetString("general.architecture"));
  if (!value) {
    return Fail(ErrorCode::kCorruptFile, "metadata key general.architecture is missing");
  }
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == *value) return &architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  return Fail(ErrorCode::kUnsupported,
              fmt::format("architecture \"{}\" is not supported; supported: {}", *value, known));
}

}  // namespace bittern::model
