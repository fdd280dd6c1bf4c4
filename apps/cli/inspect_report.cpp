// SPDX-License-Identifier: Apache-2.0
// Collects what `bittern inspect` prints.
#include "cli/inspect_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "formats/display.hpp"
#include "model/config.hpp"
#include "quant/i2s.hpp"
#include "quant/weight_format.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::cli {
namespace {

void AddTotals(const formats::Tensor& tensor, InspectReport* report) {
  const std::string_view name = quant::InfoOf(tensor.format).name;
  auto total = report->totals.begin();
  while (total != report->totals.end() && total->format != name) ++total;
  if (total == report->totals.end()) {
    total = report->totals.insert(total, {.format = std::string(name)});
  }
  for (FormatTotal* sum : {&*total, &report->total}) {
    ++sum->tensors;
    sum->parameters += tensor.num_elements();
    sum->bytes += tensor.bytes.size();
  }
}

std::optional<TernaryTensor> CountCodes(const formats::Tensor& tensor) {
  if (tensor.format != quant::WeightFormat::kI2_S) return std::nullopt;
  const auto codes = tensor.bytes.first(tensor.bytes.size() - quant::kI2sTailBytes);
  return TernaryTensor{.stats = quant::CountI2s(codes, tensor.row_elements()),
                       .scale = quant::I2sScale(tensor.bytes)};
}

void Judge(const formats::Tensor& tensor, const TernaryTensor& ternary, InspectReport* report) {
  const std::string name = formats::Quoted(tensor.name);
  if (ternary.stats.invalid != 0) {
    report->findings.push_back(
        fmt::format("tensor {}: {} of {} weights have code 3, which stands "
                    "for nothing; the file is damaged",
                    name, ternary.stats.invalid, ternary.stats.weights()));
  }
  if (!std::isfinite(ternary.scale) || ternary.scale <= 0) {
    report->findings.push_back(
        fmt::format("tensor {}: scale {}; a positive number expected", name, ternary.scale));
  }
}

/// What the layers above would make of the file.
void Resolve(InspectReport* report) {
  const auto config = model::ReadConfig(*report->checkpoint, &report->decisions);
  if (!config) report->findings.push_back("model: " + config.error().message);
  const auto tokenizer =
      tokenizer::Tokenizer::FromMetadata(report->checkpoint->metadata(), &report->decisions);
  if (!tokenizer) report->findings.push_back("tokenizer: " + tokenizer.error().message);
}

}  // namespace

InspectReport MakeReport(const formats::Checkpoint& checkpoint, bool count_codes) {
  InspectReport report;
  report.checkpoint = &checkpoint;
  report.counted_codes = count_codes;
  report.ternary.resize(checkpoint.tensors().size());
  for (std::size_t i = 0; i < checkpoint.tensors().size(); ++i) {
    const formats::Tensor& tensor = checkpoint.tensors()[i];
    AddTotals(tensor, &report);
    if (!count_codes) continue;
    report.ternary[i] = CountCodes(tensor);
    if (!report.ternary[i]) continue;
    report.ternary_total += report.ternary[i]->stats;
    Judge(tensor, *report.ternary[i], &report);
  }
  Resolve(&report);
  return report;
}

}  // namespace bittern::cli
