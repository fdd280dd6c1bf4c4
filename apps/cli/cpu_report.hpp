// SPDX-License-Identifier: Apache-2.0
// What `bittern inspect --cpu` says: the instruction sets of this build, which of them this CPU
// has, and which kernel each operation uses, with the reason.
#pragma once

#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::cli {

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
  std::string forced;                            ///< BITTERN_ISA; empty if unset
  std::vector<InstructionSet> instruction_sets;  ///< best first
  std::vector<Operation> operations;
};

/// Error kInvalidArgument: BITTERN_ISA is unknown or this CPU lacks it.
[[nodiscard]] Result<CpuReport> MakeCpuReport();

[[nodiscard]] std::string CpuReportText(const CpuReport& report);
[[nodiscard]] Json CpuReportJson(const CpuReport& report);

}  // namespace bittern::cli
