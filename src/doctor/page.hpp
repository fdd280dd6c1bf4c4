// SPDX-License-Identifier: Apache-2.0
// A diagnosis as one HTML page that needs nothing else: the verdict, what is wrong, how much sense
// the text makes, the scales layer by layer, and the comparison with another file.
#pragma once

#include <string>

#include "doctor/diagnose.hpp"
#include "doctor/likeness.hpp"

namespace bittern::doctor {

struct PageInput {
  std::string path;  ///< any bytes
  const Diagnosis* diagnosis = nullptr;
  const Likeness* likeness = nullptr;         ///< null: not compared
  const formats::Checkpoint* file = nullptr;  ///< null: it cannot be opened
  std::string advice;                         ///< how to get a mended file; may be empty
  std::string fixed;                          ///< where the mended file lies, if it was written
};

/// Well-formed XHTML in UTF-8 without a script.
[[nodiscard]] std::string HtmlPage(const PageInput& input);

}  // namespace bittern::doctor
