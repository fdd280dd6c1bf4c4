// SPDX-License-Identifier: Apache-2.0
// Nothing is wider than it must be.
#include "report/inspect/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text/display.hpp"
#include "quant/weight_format.hpp"
#include "report/decisions.hpp"
#include "report/inspect/values.hpp"

namespace bittern::report {
namespace {

/// 1234567 as "1,234,567".
std::string Grouped(std::uint64_t number) {
  std::string digits = fmt::to_string(number);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

/// "1.11 GiB"
std::string SizeText(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", size, kUnits[unit]);
}

double Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string ShapeText(const formats::Tensor& tensor) {
  if (tensor.rank == 0) return "scalar";
  std::string text;
  for (int i = 0; i < tensor.rank; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " x ", tensor.shape[static_cast<std::size_t>(i)]);
  }
  return text;
}

/// Appends sections to a text.
class Writer {
 public:
  explicit Writer(bool colour) : colour_(colour) {}

  template <class... Arguments>
  void Line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void Heading(std::string_view title) {
    Line("\n{}{}{}", colour_ ? "\x1b[1m" : "", title, colour_ ? "\x1b[0m" : "");
  }
  void Warning(std::string_view warning) {
    Line("  {}{}{}", colour_ ? "\x1b[31m" : "", warning, colour_ ? "\x1b[0m" : "");
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  bool colour_;
  std::string text_;
};

void WriteMetadata(const formats::Metadata& metadata, Writer* out) {
  out->Heading(fmt::format("metadata: {} keys", metadata.entries().size()));
  std::size_t key_width = 0, type_width = 0;
  for (const auto& entry : metadata.entries()) {
    key_width = std::max(key_width, Printable(entry.key).size());
    type_width = std::max(type_width, ValueTypeText(entry.value).size());
  }
  for (const auto& entry : metadata.entries()) {
    out->Line("  {:<{}}  {:<{}}  {}{}", Printable(entry.key), key_width, ValueTypeText(entry.value),
              type_width, ValueText(entry.value), entry.overridden ? "  (overridden)" : "");
  }
}

void WriteTotals(const InspectReport& report, Writer* out) {
  out->Heading("totals");
  out->Line("  {:<8}{:>8}{:>18}{:>18}", "format", "tensors", "parameters", "bytes");
  const auto line = [out](const FormatTotal& total, std::string_view name) {
    out->Line("  {:<8}{:>8}{:>18}{:>18}", name, total.tensors, Grouped(total.parameters),
              Grouped(total.bytes));
  };
  for (const FormatTotal& total : report.totals) line(total, total.format);
  line(report.total, "all");
}

std::string CodesText(const TernaryTensor& ternary) {
  const quant::TernaryStats& stats = ternary.stats;
  const auto share = [&stats](std::uint64_t part) { return Percent(part, stats.weights()); };
  return fmt::format("  {:>10.6g}{:>8.2f}{:>8.2f}{:>8.2f}{:>8}{:>8}", ternary.scale,
                     share(stats.minus), share(stats.zero), share(stats.plus), stats.dead_rows,
                     stats.invalid);
}

void WriteTensors(const InspectReport& report, Writer* out) {
  out->Heading(fmt::format("tensors: {}", report.ternary.size()));
  std::size_t name_width = 4, shape_width = 5;
  for (const formats::Tensor& tensor : report.checkpoint->tensors()) {
    name_width = std::max(name_width, Printable(tensor.name).size());
    shape_width = std::max(shape_width, ShapeText(tensor).size());
  }
  const bool codes = report.ternary_total.rows != 0;
  out->Line("  {:<{}}  {:<6}  {:<{}}  {:>14}  {:>14}{}", "name", name_width, "format", "shape",
            shape_width, "bytes", "offset",
            codes ? fmt::format("  {:>10}{:>8}{:>8}{:>8}{:>8}{:>8}", "scale", "-1 %", "0 %", "+1 %",
                                "dead", "code 3")
                  : "");
  for (std::size_t i = 0; i < report.ternary.size(); ++i) {
    const formats::Tensor& tensor = report.checkpoint->tensors()[i];
    out->Line("  {:<{}}  {:<6}  {:<{}}  {:>14}  {:>14}{}", Printable(tensor.name), name_width,
              quant::InfoOf(tensor.format).name, ShapeText(tensor), shape_width,
              Grouped(tensor.stored_bytes()), Grouped(tensor.file_offset),
              report.ternary[i] ? CodesText(*report.ternary[i]) : "");
  }
}

void WriteCodes(const InspectReport& report, Writer* out) {
  const quant::TernaryStats& stats = report.ternary_total;
  if (stats.rows == 0) return;
  out->Heading("ternary weights");
  const auto line = [&](std::string_view name, std::uint64_t count) {
    out->Line("  {:<8}{:>18}{:>10.4f} %", name, Grouped(count), Percent(count, stats.weights()));
  };
  line("-1", stats.minus);
  line("0", stats.zero);
  line("+1", stats.plus);
  line("code 3", stats.invalid);
  out->Line("  rows of zeros only: {} of {} ({:.4f} %)", Grouped(stats.dead_rows),
            Grouped(stats.rows), Percent(stats.dead_rows, stats.rows));
  float low = 0, high = 0;
  bool first = true;
  for (const auto& ternary : report.ternary) {
    if (!ternary) continue;
    low = first ? ternary->scale : std::min(low, ternary->scale);
    high = first ? ternary->scale : std::max(high, ternary->scale);
    first = false;
  }
  out->Line("  scales: {:.6g} to {:.6g}", low, high);
}

void WriteVerdict(const InspectReport& report, Writer* out) {
  out->Heading("decisions where the file leaves room");
  for (const Decision& decision : report.decisions) {
    out->Line("  {} = {} ({}){}", Printable(decision.subject), Printable(decision.choice),
              Printable(ReasonText(decision), 300), decision.notable ? "  <-" : "");
  }
  if (report.decisions.empty()) out->Line("  none");
  out->Heading("findings");
  for (const std::string& finding : report.findings) {
    out->Warning(Printable(finding, 1000));
  }
  if (report.findings.empty()) out->Line("  none");
}

/// "5.78 million", "2.41 billion".
std::string InWords(std::uint64_t number) {
  const auto value = static_cast<double>(number);
  if (value >= 1e9) return fmt::format("{:.2f} billion", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f} million", value / 1e6);
  return Grouped(number);
}

/// "1.19 GB", as sizes of downloads are told.
std::string Decimal(std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size >= 1e9 ? fmt::format("{:.2f} GB", size / 1e9) : fmt::format("{:.1f} MB", size / 1e6);
}

/// The answers that one wants first.
void WriteSummary(const InspectReport& report, Writer* out) {
  const InspectSummary& summary = report.summary;
  std::string formats;
  for (const FormatTotal& total : report.totals) {
    formats +=
        fmt::format("{}{} ({})", formats.empty() ? "" : ", ", total.format, Decimal(total.bytes));
  }
  if (!summary.name.empty()) out->Line("name        {}", Printable(summary.name));
  const std::string experts = summary.experts == 0
                                  ? ""
                                  : fmt::format(", {} of {} experts in each layer for each token",
                                                summary.experts_used, summary.experts);
  out->Line("model       {}, {} parameters{}", Printable(summary.architecture),
            InWords(report.total.parameters), experts);
  out->Line("format      {}", formats);
  if (summary.context_length > 0) {
    out->Line("context     {} tokens", summary.context_length);
    out->Line("memory      {} of weights, and {} for a full context", Decimal(summary.weight_bytes),
              Decimal(summary.context_bytes));
  }
  out->Line("runs here   {}\n", summary.runs
                                    ? std::string("yes")
                                    : "no, or not rightly: see the findings at the end; `bittern "
                                      "doctor FILE` says what mends it");
}

}  // namespace

std::string InspectText(const InspectReport& report, bool list_tensors, bool colour) {
  const formats::Checkpoint& checkpoint = *report.checkpoint;
  Writer out(colour);
  WriteSummary(report, &out);
  out.Line("file  {}", Printable(checkpoint.path(), 4096));
  out.Line("kind  {}", checkpoint.kind());
  out.Line("size  {} ({} bytes)", SizeText(checkpoint.file_bytes()),
           Grouped(checkpoint.file_bytes()));
  if (!checkpoint.tensors().empty()) {
    out.Line("data  from offset {}", Grouped(checkpoint.data_start()));
  }
  WriteMetadata(checkpoint.metadata(), &out);
  if (list_tensors) WriteTensors(report, &out);
  WriteTotals(report, &out);
  WriteCodes(report, &out);
  WriteVerdict(report, &out);
  return out.Take();
}

}  // namespace bittern::report
