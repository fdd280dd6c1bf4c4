// SPDX-License-Identifier: Apache-2.0
// Sentences for the listener of bittern_set_log. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/decision.hpp"
#include "bittern/bittern.h"

namespace bittern::capi {

/// Hands a sentence to the listener; without one it is dropped. `level`: BITTERN_LOG_...
void Log(std::int32_t level, const std::string& text) noexcept;

/// A sentence for each decision. Notable ones are warnings.
void LogDecisions(const Decisions& decisions);

}  // namespace bittern::capi
