// SPDX-License-Identifier: Apache-2.0
// What `bittern bench` measures: the model, the processor and the kernels, in words and numbers.
#pragma once

#include "cli/bench/bench_report.hpp"
#include "runtime/session.hpp"

namespace bittern::cli {

/// Error kInvalidArgument: a wrong BITTERN_ISA.
[[nodiscard]] Result<BenchSubject> DescribeSubject(const runtime::LoadedModel& loaded,
                                                   model::KvType kv_type);

}  // namespace bittern::cli
