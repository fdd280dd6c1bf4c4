// SPDX-License-Identifier: Apache-2.0
// A report as one HTML page that needs nothing else: page.html holds the style and the helpers, a
// script of each kind draws the report's JSON, which stands in the page. Any thread.
#pragma once

#include <string>

#include "base/json/json.hpp"

namespace bittern::report {

enum class PageKind {
  kBench,   ///< bench::PageJson
  kDoctor,  ///< doctor::PageJson
  kTrace,   ///< proof::PageJson
};

/// The page. No text of the data can become markup or script: the data is ASCII without "<", and
/// the scripts make text nodes only.
[[nodiscard]] std::string HtmlPage(PageKind kind, const Json& data);

}  // namespace bittern::report
