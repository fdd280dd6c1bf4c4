// SPDX-License-Identifier: Apache-2.0
#include "proof/selftest/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/registry.hpp"
#include "proof/selftest/check_list.hpp"
#include "proof/selftest/kernel_results.hpp"

namespace bittern::proof {
namespace {

using kernels::KernelInfo;

/// Runs the one operation that the kernel has.
KernelResults ResultsOf(const KernelInfo& kernel) {
  KernelResults results;
  if (kernel.tile16 != nullptr) RunTile16(*kernel.tile16, &results);
  if (kernel.tile48 != nullptr) RunTile48(*kernel.tile48, &results);
  if (kernel.vlut != nullptr) RunVlut(*kernel.vlut, &results);
  if (kernel.tl1 != nullptr) RunTl1(*kernel.tl1, &results);
  if (kernel.tl2 != nullptr) RunTl2(*kernel.tl2, &results);
  if (kernel.sparse != nullptr) RunSparse(*kernel.sparse, &results);
  if (kernel.screen != nullptr) RunScreen(*kernel.screen, &results);
  if (kernel.float32 != nullptr) RunFloat32(*kernel.float32, &results);
  return results;
}

/// The operation of kernels.def: "tile16" of "tile16_avx2".
std::string_view KernelOperationOf(const KernelInfo& kernel) {
  const std::string_view name = kernel.name;
  return name.substr(0, name.find('_'));
}

CheckOutcome CompareWithTwin(const KernelInfo& kernel, const KernelResults& expected) {
  const KernelResults found = ResultsOf(kernel);
  if (found.parts.empty()) return {CheckState::kFailed, "this operation is not checked"};
  if (auto difference = CompareResults(expected, found); !difference.empty()) {
    return {CheckState::kFailed, difference};
  }
  return {CheckState::kOk,
          fmt::format("{} calls give the bits of the scalar twin", found.parts.size())};
}

}  // namespace

void CheckKernels(CheckList* list) {
  for (const KernelInfo* twin : kernels::AllKernels()) {
    if (twin->isa != kernels::Isa::scalar) continue;
    const KernelResults expected = ResultsOf(*twin);
    for (const KernelInfo* kernel : kernels::AllKernels()) {
      if (kernel == twin || KernelOperationOf(*kernel) != KernelOperationOf(*twin)) continue;
      if (!kernels::Supports(kernel->isa)) continue;
      list->Run("kernels", kernel->name, [&] { return CompareWithTwin(*kernel, expected); });
    }
  }
}

std::string_view CheckStateName(CheckState state) noexcept {
  switch (state) {
    case CheckState::kOk:
      return "ok";
    case CheckState::kSlow:
      return "slow";
    case CheckState::kFailed:
      return "failed";
    case CheckState::kSkipped:
      return "skipped";
  }
  return "";
}

bool SelftestReport::ok() const noexcept {
  return std::ranges::none_of(rows,
                              [](const CheckRow& row) { return row.state == CheckState::kFailed; });
}

bool SelftestReport::complete() const noexcept {
  return std::ranges::none_of(rows, [](const CheckRow& row) { return row.missed; });
}

SelftestReport RunSelftest(const SelftestOptions& options) {
  SelftestReport report;
  CheckList list(options, &report);
  CheckMachine(&list);
  CheckKernels(&list);
  if (options.shipped) CheckModel(&list, "shipped model", options.shipped);
  if (options.given) CheckModel(&list, "given model", options.given);
  report.seconds = list.seconds();
  return report;
}

}  // namespace bittern::proof
