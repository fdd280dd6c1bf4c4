// SPDX-License-Identifier: Apache-2.0
#include "model/trace.hpp"

#include <array>

namespace bittern::model {
namespace {

constexpr std::array<std::string_view, kNumTracePoints> kNames = {
    "embedding", "attn_norm",     "qkv_proj",   "rope", "attention", "attn_sub_norm",
    "o_proj",    "attn_residual", "ffn_norm",   "gate", "act",       "ffn_sub_norm",
    "down_proj", "ffn_residual",  "final_norm", "head"};

}  // namespace

std::string_view TracePointName(TracePoint point) noexcept {
  return kNames[static_cast<std::size_t>(point)];
}

void Tracer::Change(const TracePlace& /*place*/, std::span<float> /*values*/) noexcept {}

}  // namespace bittern::model
