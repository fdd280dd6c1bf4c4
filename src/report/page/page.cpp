// SPDX-License-Identifier: Apache-2.0
#include "report/page/page.hpp"

#include <string_view>

extern "C" {
extern const char bittern_report_page[];
extern const char bittern_report_bench[];
extern const char bittern_report_doctor[];
extern const char bittern_report_trace[];
}

namespace bittern::report {
namespace {

const char* ScriptOf(PageKind kind) noexcept {
  if (kind == PageKind::kBench) return bittern_report_bench;
  return kind == PageKind::kDoctor ? bittern_report_doctor : bittern_report_trace;
}

/// JSON in which no "</script" and no "<!--" can stand; U+2028 is escaped as all that is not ASCII.
std::string TextForScript(const Json& data) {
  std::string text;
  for (const char c : data.DumpAscii()) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string HtmlPage(PageKind kind, const Json& data) {
  constexpr std::string_view kData = "@DATA@", kScript = "@SCRIPT@";
  const std::string_view page = bittern_report_page;
  const std::size_t at = page.find(kData), behind = at + kData.size();
  const std::size_t script = page.find(kScript, behind);
  std::string html(page.substr(0, at));
  html += TextForScript(data);
  html += page.substr(behind, script - behind);
  html += ScriptOf(kind);
  return html.append(page.substr(script + kScript.size()));
}

}  // namespace bittern::report
