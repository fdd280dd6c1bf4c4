// SPDX-License-Identifier: Apache-2.0
// The file is opened as for a run, but no step stops the report: an error becomes a finding.
#include "report/inspect/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/display.hpp"
#include "formats/network_tensors.hpp"
#include "formats/ternary_source.hpp"
#include "model/config.hpp"
#include "model/load/check_weights.hpp"
#include "quant/i2s.hpp"
#include "quant/weight_format.hpp"
#include "runtime/vocabulary_check.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::report {
namespace {

/// "MESSAGE" or "MESSAGE; HINT".
std::string ErrorText(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; " + error.hint;
}

/// Adds a tensor to the total of its format and to the total of the file.
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
    sum->bytes += tensor.stored_bytes();
  }
}

/// Whether a tensor is one of those that hold ternary weights in some format: a layer's matrix.
bool MayBeTernary(const formats::Tensor& tensor) {
  const formats::TensorSpec* spec = formats::FindWeight(tensor.name);
  if (spec != nullptr && !spec->ternary()) return false;
  const bool stack = spec != nullptr && tensor.rank == 3;  // of experts
  return (tensor.rank == 2 || stack) && tensor.name.starts_with("blk.") &&
         tensor.name.ends_with(".weight") && quant::DefaultCodec(tensor.format) != nullptr;
}

bool HoldsFloats(const formats::TernarySource& source) {
  const auto layout = source.codec().layout;
  return layout == quant::TernaryLayout::kF32 || layout == quant::TernaryLayout::kF16 ||
         layout == quant::TernaryLayout::kBf16;
}

/// Counts row by row, whatever the layout; damage is counted here, and the first is kept in the
/// words of loading.
TernaryTensor CountRows(const formats::TernarySource& source) {
  TernaryTensor counted;
  std::vector<std::uint8_t> codes(source.cols());
  std::vector<float> scales(source.scales_per_row());
  for (std::size_t row = 0; row < source.rows(); ++row) {
    const auto read = source.ReadRows(row, 1, codes.data(), scales.data());
    if (!read) {
      if (counted.damage.empty()) counted.damage = read.error().message;
      source.codec().unpack(source.view(), row, 1, codes.data(), scales.data());
      for (float& scale : scales) scale *= source.multiplier();
    }
    counted.stats += quant::CountCodes(codes);
    for (const float scale : scales) counted.scale = std::max(counted.scale, scale);
  }
  return counted;
}

/// Whole words of the official layout, which is faster.
TernaryTensor CountI2s(const formats::Tensor& tensor, const formats::TernarySource& source) {
  const auto codes = tensor.bytes.first(tensor.bytes.size() - quant::kI2sTailBytes);
  TernaryTensor counted{.stats = quant::CountI2s(codes, tensor.row_elements()),
                        .scale = quant::I2sScale(tensor.bytes) * source.multiplier()};
  const bool needs_scale = counted.stats.zero != counted.stats.weights();
  if (!std::isfinite(counted.scale) || counted.scale < 0 || (needs_scale && counted.scale == 0)) {
    counted.damage = fmt::format("expected a finite positive scale, found {}", counted.scale);
  }
  return counted;
}

void NoteDamage(const formats::Tensor& tensor, const std::string& damage, InspectReport* report) {
  report->findings.push_back(fmt::format("tensor {}: {}", Quoted(tensor.name), damage));
}

std::optional<TernaryTensor> CountCodes(const formats::Tensor& tensor,
                                        formats::TernaryOpener& opener, InspectReport* report) {
  if (!MayBeTernary(tensor)) return std::nullopt;
  const auto source = opener.Open(tensor);
  if (!source) {
    report->findings.push_back(ErrorText(source.error()));
    return std::nullopt;
  }
  if (source->codec().layout == quant::TernaryLayout::kI2sX86) return CountI2s(tensor, *source);
  TernaryTensor counted = CountRows(*source);
  if (!HoldsFloats(*source) || counted.damage.empty()) return counted;
  // Plain floats: of a model that is not ternary at all, one tensor says it.
  if (!report->has_plain_floats) NoteDamage(tensor, counted.damage, report);
  report->has_plain_floats = true;
  return std::nullopt;
}

/// Adds a finding if the codes or scales of a ternary tensor cannot be right.
void Judge(const formats::Tensor& tensor, const TernaryTensor& ternary, InspectReport* report) {
  const std::string name = Quoted(tensor.name);
  if (ternary.stats.invalid != 0) {
    using quant::WeightFormat;
    const bool is_twice =
        tensor.format == WeightFormat::kQ2_0 || tensor.format == WeightFormat::kPQ2_0;
    report->findings.push_back(
        fmt::format("tensor {}: {} of {} weights have code 3, {}", name, ternary.stats.invalid,
                    ternary.stats.weights(),
                    is_twice ? "twice the scale: they are not ternary, and are not run"
                             : "which stands for nothing; the file is damaged"));
  }
  // Without code 3 it is a scale that is damaged.
  if (ternary.stats.invalid == 0 && !ternary.damage.empty()) {
    NoteDamage(tensor, ternary.damage, report);
  }
}

/// The bytes of a tensor in memory: ternary weights are kept in two bits each, whatever the file's
/// format.
std::uint64_t BytesInMemory(const formats::Tensor& tensor) {
  return MayBeTernary(tensor) ? tensor.num_elements() / 4 : tensor.bytes.size();
}

void Summarize(const Result<model::ModelConfig>& config, InspectReport* report) {
  InspectSummary& summary = report->summary;
  const auto text = [&](const char* key) {
    const auto value = report->checkpoint->metadata().GetString(key);
    return value.has_value() && value->has_value() ? std::string(**value) : std::string();
  };
  summary.name = text("general.name");
  summary.architecture = text("general.architecture");
  for (const formats::Tensor& tensor : report->checkpoint->tensors()) {
    summary.weight_bytes += BytesInMemory(tensor);
  }
  if (!config) return;
  summary.context_length = config->context_length;
  summary.experts = config->experts.count;
  summary.experts_used = config->experts.used;
  const auto values = static_cast<std::uint64_t>(config->num_kv_layers()) *
                      static_cast<std::uint64_t>(config->kv_size()) * 2;
  const auto state = static_cast<std::uint64_t>(config->num_delta_layers()) *
                     config->delta.state_size() * sizeof(float);
  summary.context_bytes = values * 2 * static_cast<std::uint64_t>(config->context_length) + state;
}

/// Asks the layers above what they would make of the file.
void Resolve(InspectReport* report) {
  const auto config = model::ReadConfig(*report->checkpoint, &report->decisions);
  Summarize(config, report);
  if (!config) {
    report->findings.push_back("model: " + ErrorText(config.error()));
  } else {
    const auto findings = model::CheckWeights(*report->checkpoint, *config, report->counted_codes,
                                              &report->decisions);
    report->findings.insert(report->findings.end(), findings.begin(), findings.end());
  }
  const auto tokenizer =
      tokenizer::Tokenizer::FromMetadata(report->checkpoint->metadata(), &report->decisions);
  if (!tokenizer) report->findings.push_back("tokenizer: " + ErrorText(tokenizer.error()));
  if (!config || !tokenizer) return;
  const auto same = runtime::CheckVocabulary(*config, *tokenizer);
  if (!same) report->findings.push_back(ErrorText(same.error()));
}

}  // namespace

InspectReport MakeInspectReport(const formats::Checkpoint& checkpoint, bool count_codes) {
  InspectReport report;
  report.checkpoint = &checkpoint;
  report.counted_codes = count_codes;
  report.ternary.resize(checkpoint.tensors().size());
  auto opener = formats::TernaryOpener::Create(checkpoint, &report.decisions);
  if (!opener) report.findings.push_back(ErrorText(opener.error()));
  for (std::size_t i = 0; i < checkpoint.tensors().size(); ++i) {
    const formats::Tensor& tensor = checkpoint.tensors()[i];
    AddTotals(tensor, &report);
    if (!count_codes || !opener) continue;
    report.ternary[i] = CountCodes(tensor, *opener, &report);
    if (!report.ternary[i]) continue;
    report.ternary_total += report.ternary[i]->stats;
    Judge(tensor, *report.ternary[i], &report);
  }
  Resolve(&report);
  report.summary.runs = report.findings.empty() && !checkpoint.tensors().empty();
  return report;
}

}  // namespace bittern::report
