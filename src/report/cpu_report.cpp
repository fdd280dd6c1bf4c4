// SPDX-License-Identifier: Apache-2.0
#include "report/cpu_report.hpp"

#include <fmt/format.h>

#include "base/json/json.hpp"
#include "kernels/registry.hpp"

namespace bittern::report {
namespace {

using kernels::KernelInfo;

constexpr const char* kArchitecture =
#if defined(__x86_64__)
    "x86-64";
#elif defined(__aarch64__)
    "arm64";
#else
    "other";
#endif

/// Why `kernel` is used or not, where `chosen` is.
std::string StateOf(const KernelInfo& kernel, const KernelInfo& chosen, std::string_view forced) {
  if (&kernel == &chosen) {
    return forced.empty() ? "chosen: the best that this CPU has"
                          : fmt::format("chosen: isa={}", forced);
  }
  if (!kernels::Supports(kernel.isa)) return "not on this CPU";
  if (kernel.isa < chosen.isa) return fmt::format("left out by isa={}", forced);
  return "slower";
}

/// The kernels of one operation, each with the reason why it is used or not.
CpuReport::Operation OperationOf(std::string name, std::string what, const KernelInfo& chosen,
                                 bool (*belongs)(const KernelInfo&), std::string_view forced) {
  CpuReport::Operation operation{
      std::move(name), std::move(what), std::string(kernels::IsaName(chosen.isa)), {}};
  for (const KernelInfo* kernel : kernels::AllKernels()) {
    if (!belongs(*kernel)) continue;
    operation.kernels.push_back(
        {std::string(kernels::IsaName(kernel->isa)), StateOf(*kernel, chosen, forced)});
  }
  return operation;
}

}  // namespace

Result<CpuReport> MakeCpuReport() {
  const auto chosen = BITTERN_TRY(kernels::SelectKernelsForced());
  const std::string& forced = kernels::ForcedIsa();
  CpuReport report{kArchitecture, forced, {}, {}};
  for (const kernels::Isa isa : kernels::AllIsas()) {
    report.instruction_sets.push_back({std::string(kernels::IsaName(isa)), kernels::Supports(isa)});
  }
#define OPERATION(operation, Table, what)         \
  report.operations.push_back(OperationOf(        \
      #operation, what, *chosen.operation##_info, \
      [](const KernelInfo& kernel) { return kernel.operation != nullptr; }, report.forced));
#include "kernels/operations.def"
#undef OPERATION
  return report;
}

std::string CpuReportText(const CpuReport& report) {
  std::string text = fmt::format("{:<14} {}\n", "architecture", report.architecture);
  for (const auto& isa : report.instruction_sets) {
    text += fmt::format("{:<14} {:<11} {}\n",
                        &isa == report.instruction_sets.data() ? "instructions" : "", isa.name,
                        isa.supported ? "yes" : "no");
  }
  for (const auto& operation : report.operations) {
    text += fmt::format("\n{:<14} {}: {}\n", operation.name, operation.what, operation.chosen);
    for (const auto& kernel : operation.kernels) {
      text += fmt::format("{:<14} {:<11} {}\n", "", kernel.isa, kernel.state);
    }
  }
  return text;
}

Json CpuReportJson(const CpuReport& report) {
  Json isas = Json::MakeArray(), operations = isas;
  for (const auto& isa : report.instruction_sets) {
    isas.push_back({{"name", isa.name}, {"supported", isa.supported}});
  }
  for (const auto& operation : report.operations) {
    Json kernels = Json::MakeArray();
    for (const auto& kernel : operation.kernels) {
      kernels.push_back({{"isa", kernel.isa}, {"state", kernel.state}});
    }
    operations.push_back(
        {{"name", operation.name}, {"chosen", operation.chosen}, {"kernels", std::move(kernels)}});
  }
  return {{"architecture", report.architecture},
          {"forced", report.forced.empty() ? Json(nullptr) : Json(report.forced)},
          {"instruction_sets", std::move(isas)},
          {"operations", std::move(operations)}};
}

}  // namespace bittern::report
