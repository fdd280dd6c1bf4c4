// SPDX-License-Identifier: Apache-2.0
#include "serve/api/shared/telemetry.hpp"

#include <cmath>
#include <cstdint>

#include "base/json/json.hpp"

namespace bittern::serve {

/// The fields are those of llama-server's "prompt_progress": counts of tokens and milliseconds.
std::optional<Json> Telemetry::Note(std::size_t choice, const runtime::SequenceTimings& so_far) {
  so_far_[choice] = so_far;
  if (!wanted_.progress || so_far.read_tokens <= told_[choice]) return std::nullopt;
  told_[choice] = so_far.read_tokens;
  return Json{{"total", so_far.prompt_tokens},
              {"cache", so_far.cached_tokens},
              {"processed", so_far.read_tokens},
              {"time_ms", static_cast<std::int64_t>(std::round(1e3 * so_far.prompt_s))}};
}

void Telemetry::AddTimings(std::size_t choice, Json* chunk) const {
  const runtime::SequenceTimings& so_far = so_far_[choice];
  if (wanted_.timings && so_far.prompt_tokens > 0) (*chunk)["timings"] = TimingsJson(so_far);
}

}  // namespace bittern::serve
