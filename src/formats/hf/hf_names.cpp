// SPDX-License-Identifier: Apache-2.0
#include "formats/hf/hf_names.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

struct Name {
  std::string_view gguf, hf;
};
constexpr Name kOfModel[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr Name kOfLayer[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_sub_norm", "self_attn.attn_sub_norm"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_sub_norm", "mlp.ffn_sub_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

std::optional<std::string_view> Find(std::span<const Name> names, std::string_view gguf) {
  for (const Name& name : names) {
    if (name.gguf == gguf) return name.hf;
  }
  return std::nullopt;
}

/// Takes "blk.N." off the front of `name` and gives N's digits; empty if it is not there.
std::string_view TakeLayer(std::string_view* name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name->starts_with(kPrefix)) return {};
  const std::size_t end = name->find('.', kPrefix.size());
  if (end == std::string_view::npos) return {};
  const std::string_view digits = name->substr(kPrefix.size(), end - kPrefix.size());
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  name->remove_prefix(end + 1);
  return digits;
}

}  // namespace

Result<std::string> HfTensorName(std::string_view gguf_name) {
  std::string_view rest = gguf_name;
  const std::string_view layer = TakeLayer(&rest);
  for (const std::string_view part : {".weight", ".bias"}) {
    if (!rest.ends_with(part)) continue;
    const std::string_view module = rest.substr(0, rest.size() - part.size());
    const auto hf = layer.empty() ? Find(kOfModel, module) : Find(kOfLayer, module);
    if (!hf) break;
    return layer.empty() ? fmt::format("{}{}", *hf, part)
                         : fmt::format("model.layers.{}.{}{}", layer, *hf, part);
  }
  return Fail(ErrorCode::kUnsupported,
              fmt::format("tensor {} has no name in Hugging Face's models", Quoted(gguf_name)));
}

}  // namespace bittern::formats
