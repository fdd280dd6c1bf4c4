// SPDX-License-Identifier: Apache-2.0
// The names of fields are an interface: add, never rename.
#include "base/json/json.hpp"

#include "quant/weight_format.hpp"
#include "report/decisions.hpp"
#include "report/inspect/report.hpp"
#include "report/inspect/values.hpp"

namespace bittern::report {
namespace {

Json MetadataJson(const formats::Metadata& metadata) {
  Json object = Json::MakeObject();
  for (const auto& entry : metadata.entries()) {
    Json value = {{"type", ValueTypeText(entry.value)}, {"value", ValueJson(entry.value)}};
    if (entry.overridden) value["overridden"] = true;
    object[entry.key] = std::move(value);
  }
  return object;
}

Json TotalJson(const FormatTotal& total) {
  return {{"tensors", total.tensors}, {"parameters", total.parameters}, {"bytes", total.bytes}};
}

Json StatsJson(const quant::TernaryStats& stats) {
  return {{"minus_one", stats.minus}, {"zero", stats.zero}, {"plus_one", stats.plus},
          {"invalid", stats.invalid}, {"rows", stats.rows}, {"dead_rows", stats.dead_rows}};
}

Json TensorsJson(const InspectReport& report) {
  Json list = Json::MakeArray();
  for (std::size_t i = 0; i < report.ternary.size(); ++i) {
    const formats::Tensor& tensor = report.checkpoint->tensors()[i];
    const std::vector<std::uint64_t> shape(tensor.shape.begin(),
                                           tensor.shape.begin() + tensor.rank);
    Json item = {{"name", tensor.name},
                 {"format", quant::InfoOf(tensor.format).name},
                 {"shape", shape},
                 {"bytes", tensor.stored_bytes()},
                 {"offset", tensor.file_offset}};
    if (const auto& ternary = report.ternary[i]) {
      item["scale"] = ternary->scale;
      item["codes"] = StatsJson(ternary->stats);
    }
    list.push_back(std::move(item));
  }
  return list;
}

Json SummaryJson(const InspectReport& report) {
  Json formats = Json::MakeArray();
  for (const FormatTotal& total : report.totals) formats.push_back(total.format);
  const InspectSummary& summary = report.summary;
  return {{"name", summary.name},
          {"architecture", summary.architecture},
          {"parameters", report.total.parameters},
          {"formats", std::move(formats)},
          {"context_length", summary.context_length},
          {"weight_bytes", summary.weight_bytes},
          {"context_bytes", summary.context_bytes},
          {"experts", summary.experts},
          {"experts_used", summary.experts_used},
          {"runs", summary.runs}};
}

}  // namespace

Json InspectJson(const InspectReport& report) {
  const formats::Checkpoint& checkpoint = *report.checkpoint;
  Json formats_json = Json::MakeObject();
  for (const FormatTotal& total : report.totals) formats_json[total.format] = TotalJson(total);
  Json object = {{"path", checkpoint.path()},
                 {"kind", checkpoint.kind()},
                 {"file_bytes", checkpoint.file_bytes()},
                 {"data_start", checkpoint.data_start()},
                 {"summary", SummaryJson(report)},
                 {"metadata", MetadataJson(checkpoint.metadata())},
                 {"total", TotalJson(report.total)},
                 {"formats", std::move(formats_json)},
                 {"tensors", TensorsJson(report)}};
  if (report.counted_codes) object["codes"] = StatsJson(report.ternary_total);
  object["decisions"] = DecisionsJson(report.decisions);
  object["findings"] = report.findings;
  return object;
}

}  // namespace bittern::report
