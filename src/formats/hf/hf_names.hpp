// SPDX-License-Identifier: Apache-2.0
// Names of tensors as Hugging Face has them, from GGUF's: the other direction is hf_tensors.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern::formats {

/// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight". Error kUnsupported: a tensor
/// that these architectures do not have.
[[nodiscard]] Result<std::string> HfTensorName(std::string_view gguf_name);

}  // namespace bittern::formats
