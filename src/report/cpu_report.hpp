// SPDX-License-Identifier: Apache-2.0
// The kernels of this CPU as text and as JSON: the instruction sets of this build, which of them
// this CPU has, and which kernel each operation uses, with the reason.
#pragma once

#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::report {

struct CpuReport {
  struct InstructionSet {
    std::string name;
    bool supported;
  };
  struct Kernel {
    std::string isa;
    std::string state;  ///< "chosen", or why not
  };
  struct Operation {
    std::string name, what;
    std::string chosen;
    std::vector<Kernel> kernels;  ///< best first
  };
  std::string architecture;
  std::string forced;  ///< the instruction set that was asked for; empty: none
  std::vector<InstructionSet> instruction_sets;  ///< best first
  std::vector<Operation> operations;
};

/// Error kInvalidArgument: a forced instruction set is unknown or this CPU lacks it.
[[nodiscard]] Result<CpuReport> MakeCpuReport();

[[nodiscard]] std::string CpuReportText(const CpuReport& report);
[[nodiscard]] Json CpuReportJson(const CpuReport& report);

}  // namespace bittern::report
