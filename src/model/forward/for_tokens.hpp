// SPDX-License-Identifier: Apache-2.0
// Steps that take a whole token each, between steps whose work is shared out by rows.
#pragma once

#include <cstddef>

#include "model/forward/context.hpp"

namespace bittern::model {

/// Waits for what the other threads have written, calls step(token) for [0, count), shared out, and
/// waits for that. A single token is taken by the thread that comes last: no thread waits twice.
template <class Step>
void ForTokens(const Context& context, std::size_t count, const Step& step) {
  if (count == 1) return context.team.BarrierThen([&] { step(std::size_t{0}); });
  context.team.Barrier();
  const Range tokens = context.team.Share(count);
  for (std::size_t token = tokens.begin; token < tokens.end; ++token) step(token);
  context.team.Barrier();
}

}  // namespace bittern::model
