// SPDX-License-Identifier: Apache-2.0
#include "proof/selftest/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"

namespace bittern::proof {
namespace {

/// "given model: loading, texts; kernels: tile16_avx2"
std::string NamesOfSkipped(const SelftestReport& report, bool missed) {
  std::string text, group;
  for (const CheckRow& row : report.rows) {
    if (row.state != CheckState::kSkipped || row.missed != missed) continue;
    if (row.group != group) {
      text += fmt::format("{}{}: ", group.empty() ? "" : "; ", row.group);
    } else {
      text += ", ";
    }
    text += row.name;
    group = row.group;
  }
  return text;
}

const char* ColourOf(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "\x1b[32m";
    case CheckState::kFailed:
      return "\x1b[31m";
    case CheckState::kSlow:
      return "\x1b[33m";
    case CheckState::kSkipped:
      break;
  }
  return "\x1b[2m";
}

}  // namespace

std::string SummaryLine(const SelftestReport& report) {
  const auto failed = std::ranges::count(report.rows, CheckState::kFailed, &CheckRow::state);
  const auto missed = std::ranges::count(report.rows, true, &CheckRow::missed);
  const std::string other = NamesOfSkipped(report, false);
  std::string line;
  if (failed != 0) {
    line = fmt::format("{} of {} checks failed ({:.1f} s).", failed, report.rows.size(),
                       report.seconds);
  } else if (missed != 0) {
    line = fmt::format("Nothing has failed, but not all was checked ({:.1f} s).", report.seconds);
  } else {
    line = fmt::format("Nothing is wrong ({:.1f} s).", report.seconds);
  }
  if (missed != 0) {
    line += fmt::format(" Skipped because the time was up, {} of {}: {}.", missed,
                        report.rows.size(), NamesOfSkipped(report, true));
  }
  if (!other.empty()) line += fmt::format(" Skipped because it does not apply: {}.", other);
  return line;
}

Json SelftestJson(const SelftestReport& report) {
  Json tests = Json::MakeArray();
  for (const CheckRow& row : report.rows) {
    tests.push_back({{"group", row.group},
                     {"name", row.name},
                     {"state", CheckStateName(row.state)},
                     {"detail", row.detail},
                     {"missed", row.missed},
                     {"seconds", row.seconds}});
  }
  return {{"ok", report.ok()},
          {"complete", report.complete()},
          {"tests", std::move(tests)},
          {"seconds", report.seconds}};
}

std::string SelftestText(const SelftestReport& report, bool colour) {
  std::string text, group;
  for (const CheckRow& row : report.rows) {
    if (row.group != group) text += fmt::format("{}{}\n", group.empty() ? "" : "\n", row.group);
    group = row.group;
    text += fmt::format("  {}{:<8}{} {:<26} {}\n", colour ? ColourOf(row.state) : "",
                        CheckStateName(row.state), colour ? "\x1b[0m" : "", row.name, row.detail);
  }
  text += "\n" + SummaryLine(report) + "\n";
  return text;
}

}  // namespace bittern::proof
