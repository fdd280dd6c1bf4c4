// SPDX-License-Identifier: Apache-2.0
// down_proj without the columns whose input is zero after quantisation
// (docs/design/0005-zero-skipping.md). Of a few tokens the threads share the columns, and those
// that are zero for all of them are not read; of more each panel of rows is gathered into the
// cache, where every token adds its own. The same bits as the dense way, since only terms that are
// zero are left out of sums of integers.
#pragma once

#include "model/forward/context.hpp"
#include "model/forward/linear.hpp"
#include "model/row_failure.hpp"

namespace bittern::model {

/// hidden += down_proj times a few tokens' inputs; projected: what is added. Needs a matrix of
/// kColumns. No barrier at the end.
void AddDownOfFew(const Context& context, const QuantizedRows& in, const TernaryMatrix& matrix,
                  FloatRows projected, FloatRows hidden);

/// Quantises a token's out.cols inputs of down_proj and lists those that are not zero, for
/// DownOfBatch. Any thread may take any token. `input`: as QuantizeToken's.
void QuantizeLive(const Context& context, std::size_t token, const float* x,
                  const ProjectionInput& input, const QuantizedRows& out, LiveInputs* live);

/// projected = down_proj times what QuantizeLive has left of more than a few tokens. A barrier must
/// lie between the two. No barrier at the end.
void DownOfBatch(const Context& context, const QuantizedRows& in, const LiveInputs& live,
                 const TernaryMatrix& matrix, FloatRows projected);

}  // namespace bittern::model
