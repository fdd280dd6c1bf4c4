// SPDX-License-Identifier: Apache-2.0
// A conversion as text and as JSON: how much of what, which scales were rounded, what was proved.
#pragma once

#include <cstdint>
#include <string>

#include "formats/convert/convert.hpp"

namespace bittern::report {

struct ConvertSummary {
  formats::ConvertReport report;
  std::string input, input_kind, output, target;
  std::uint64_t input_bytes = 0;
  double seconds = 0;
};

/// A few lines for people.
[[nodiscard]] std::string ConvertText(const ConvertSummary& summary);

/// One object on one line. The names of fields are an interface: add, never rename.
[[nodiscard]] std::string ConvertJson(const ConvertSummary& summary);

}  // namespace bittern::report
