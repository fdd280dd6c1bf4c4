// SPDX-License-Identifier: Apache-2.0
// The subject of a measurement: the model, the processor and the kernels, in words and numbers.
#pragma once

#include "bench/report.hpp"
#include "runtime/session.hpp"

namespace bittern::bench {

/// Error kInvalidArgument: a forced instruction set that is none.
[[nodiscard]] Result<BenchSubject> DescribeSubject(const runtime::LoadedModel& loaded,
                                                   model::KvType kv_type);

}  // namespace bittern::bench
