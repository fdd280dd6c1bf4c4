// SPDX-License-Identifier: Apache-2.0
#include "formats/hf/hf_names.hpp"

#include <fmt/format.h>

#include "base/text/display.hpp"
#include "formats/network_tensors.hpp"

namespace bittern::formats {

/// "blk.3.attn_q.weight" gives "model.layers.3.self_attn.q_proj.weight". The names are a table's.
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

}  // namespace bittern::formats
