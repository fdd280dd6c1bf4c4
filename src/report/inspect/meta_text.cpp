// SPDX-License-Identifier: Apache-2.0
#include "report/inspect/meta_text.hpp"

#include <fmt/format.h>

#include "base/text/display.hpp"
#include "report/inspect/values.hpp"

namespace bittern::report {

std::string MetaText(const formats::GgufOutline& outline) {
  std::string text;
  for (const auto& entry : outline.entries) {
    text += fmt::format("{}  {}  {}\n", Printable(entry.key), ValueTypeText(entry.value),
                        ValueText(entry.value));
  }
  return text;
}

Json MetaJson(const formats::GgufOutline& outline) {
  Json json = Json::MakeObject();
  for (const auto& entry : outline.entries) {
    json[std::string(entry.key)] = {{"type", ValueTypeText(entry.value)},
                                    {"value", ValueJson(entry.value)}};
  }
  return json;
}

Json MetaEntryJson(const formats::GgufOutline::Entry& entry) {
  return {
      {"key", entry.key}, {"type", ValueTypeText(entry.value)}, {"value", ValueJson(entry.value)}};
}

std::string MetaEditText(std::string_view output, const formats::MetaEdit& edit,
                         const formats::MetaEditReport& report) {
  return fmt::format("{}: {} {}; {} bytes of tensor data\nhash before {}\nhash after  {}\n", output,
                     edit.remove ? "removed" : "set", Printable(edit.key), report.data_bytes,
                     report.hash_before, report.hash_after);
}

Json MetaEditJson(std::string_view output, const formats::MetaEditReport& report) {
  return {{"output", output},
          {"data_bytes", report.data_bytes},
          {"hash_before", report.hash_before},
          {"hash_after", report.hash_after}};
}

}  // namespace bittern::report
