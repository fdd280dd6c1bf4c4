// SPDX-License-Identifier: Apache-2.0
#include "cli/cpu_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/registry.hpp"

namespace bittern::cli {
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
                          : fmt::format("chosen: BITTERN_ISA={}", forced);
  }
  if (!kernels::Supports(kernel.isa)) return "not on this CPU";
  if (kernel.isa < chosen.isa) return fmt::format("left out by BITTERN_ISA={}", forced);
  return "slower";
}

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
  const struct {
    const char* name;
    const char* what;
    const KernelInfo* chosen;
    bool (*belongs)(const KernelInfo&);
  } operations[] = {
      {"tile16", "ternary matrices by multiply-adds", chosen.tile16_info,
       [](const KernelInfo& kernel) { return kernel.tile16 != nullptr; }},
      {"tile48", "the same from five bits for three weights", chosen.tile48_info,
       [](const KernelInfo& kernel) { return kernel.tile48 != nullptr; }},
      {"tl1", "ternary matrices by tables of two (--kernel tl1)", chosen.tl1_info,
       [](const KernelInfo& kernel) { return kernel.tl1 != nullptr; }},
      {"tl2", "ternary matrices by tables of three (--kernel tl2)", chosen.tl2_info,
       [](const KernelInfo& kernel) { return kernel.tl2 != nullptr; }},
      {"sparse", "the feed-forward part without its zeros", chosen.sparse_info,
       [](const KernelInfo& kernel) { return kernel.sparse != nullptr; }},
      {"screen", "a coarse look at the output head (--head screened)", chosen.screen_info,
       [](const KernelInfo& kernel) { return kernel.screen != nullptr; }},
      {"float32", "everything else", chosen.float32_info,
       [](const KernelInfo& kernel) { return kernel.float32 != nullptr; }},
  };
  for (const auto& o : operations) {
    report.operations.push_back(OperationOf(o.name, o.what, *o.chosen, o.belongs, report.forced));
  }
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

nlohmann::ordered_json CpuReportJson(const CpuReport& report) {
  using Object = nlohmann::ordered_json;
  Object isas = Object::array(), operations = Object::array();
  for (const auto& isa : report.instruction_sets) {
    isas.push_back({{"name", isa.name}, {"supported", isa.supported}});
  }
  for (const auto& operation : report.operations) {
    Object kernels = Object::array();
    for (const auto& kernel : operation.kernels) {
      kernels.push_back({{"isa", kernel.isa}, {"state", kernel.state}});
    }
    operations.push_back(
        {{"name", operation.name}, {"chosen", operation.chosen}, {"kernels", std::move(kernels)}});
  }
  return {{"architecture", report.architecture},
          {"forced", report.forced.empty() ? Object(nullptr) : Object(report.forced)},
          {"instruction_sets", std::move(isas)},
          {"operations", std::move(operations)}};
}

}  // namespace bittern::cli
