// SPDX-License-Identifier: Apache-2.0
#include "selftest/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"

namespace bittern::selftest {
namespace {

/// "given model: loading, texts; kernels: tile16_avx2"
std::string NamesOfSkipped(const Report& report, bool missed) {
  std::string text, group;
  for (const Row& row : report.rows) {
    if (row.state != State::kSkipped || row.missed != missed) continue;
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

const char* ColourOf(State state) {
  switch (state) {
    case State::kOk:
      return "\x1b[32m";
    case State::kFailed:
      return "\x1b[31m";
    case State::kSlow:
      return "\x1b[33m";
    case State::kSkipped:
      break;
  }
  return "\x1b[2m";
}

}  // namespace

std::string SummaryLine(const Report& report) {
  const auto failed = std::ranges::count(report.rows, State::kFailed, &Row::state);
  const auto missed = std::ranges::count(report.rows, true, &Row::missed);
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

Json SelftestJson(const Report& report) {
  Json tests = Json::MakeArray();
  for (const Row& row : report.rows) {
    tests.push_back({{"group", row.group},
                     {"name", row.name},
                     {"state", StateName(row.state)},
                     {"detail", row.detail},
                     {"missed", row.missed},
                     {"seconds", row.seconds}});
  }
  return {{"ok", report.ok()},
          {"complete", report.complete()},
          {"tests", std::move(tests)},
          {"seconds", report.seconds}};
}

std::string ReportText(const Report& report, bool colour) {
  std::string text, group;
  for (const Row& row : report.rows) {
    if (row.group != group) text += fmt::format("{}{}\n", group.empty() ? "" : "\n", row.group);
    group = row.group;
    text += fmt::format("  {}{:<8}{} {:<26} {}\n", colour ? ColourOf(row.state) : "",
                        StateName(row.state), colour ? "\x1b[0m" : "", row.name, row.detail);
  }
  text += "\n" + SummaryLine(report) + "\n";
  return text;
}

}  // namespace bittern::selftest
