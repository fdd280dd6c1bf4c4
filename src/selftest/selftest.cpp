// SPDX-License-Identifier: Apache-2.0
#include "selftest/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/registry.hpp"
#include "selftest/check_list.hpp"
#include "selftest/kernel_results.hpp"

namespace bittern::selftest {
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
std::string_view OperationOf(const KernelInfo& kernel) {
  const std::string_view name = kernel.name;
  return name.substr(0, name.find('_'));
}

Outcome CompareWithTwin(const KernelInfo& kernel, const KernelResults& expected) {
  const KernelResults found = ResultsOf(kernel);
  if (found.parts.empty()) return {State::kFailed, "this operation is not checked"};
  if (auto difference = CompareResults(expected, found); !difference.empty()) {
    return {State::kFailed, difference};
  }
  return {State::kOk, fmt::format("{} calls give the bits of the scalar twin", found.parts.size())};
}

}  // namespace

void CheckKernels(CheckList* list) {
  for (const KernelInfo* twin : kernels::AllKernels()) {
    if (twin->isa != kernels::Isa::scalar) continue;
    const KernelResults expected = ResultsOf(*twin);
    for (const KernelInfo* kernel : kernels::AllKernels()) {
      if (kernel == twin || OperationOf(*kernel) != OperationOf(*twin)) continue;
      if (!kernels::Supports(kernel->isa)) continue;
      list->Run("kernels", kernel->name, [&] { return CompareWithTwin(*kernel, expected); });
    }
  }
}

std::string_view StateName(State state) noexcept {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kSlow:
      return "slow";
    case State::kFailed:
      return "failed";
    case State::kSkipped:
      return "skipped";
  }
  return "";
}

bool Report::ok() const noexcept {
  return std::ranges::none_of(rows, [](const Row& row) { return row.state == State::kFailed; });
}

bool Report::complete() const noexcept {
  return std::ranges::none_of(rows, [](const Row& row) { return row.missed; });
}

Report RunSelftest(const SelftestOptions& options) {
  Report report;
  CheckList list(options, &report);
  CheckMachine(&list);
  CheckKernels(&list);
  if (options.shipped) CheckModel(&list, "shipped model", options.shipped);
  if (options.given) CheckModel(&list, "given model", options.given);
  report.seconds = list.seconds();
  return report;
}

}  // namespace bittern::selftest
