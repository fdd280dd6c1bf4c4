// SPDX-License-Identifier: Apache-2.0
// Metadata values as text and as JSON, long arrays cut after their first elements.
#pragma once

#include <string>

#include "base/json/json.hpp"
#include "formats/metadata.hpp"

namespace bittern::report {

/// "u32", "str", "str[128256]"
[[nodiscard]] std::string ValueTypeText(const formats::MetaValue& value);

/// On one line, safe for a terminal: strings quoted, f32 with as many digits as it has.
[[nodiscard]] std::string ValueText(const formats::MetaValue& value);

/// A number, bool or string; for an array {"count", "first"} with the first elements, all of
/// them if they are few. Strings may hold bytes that are not UTF-8.
[[nodiscard]] Json ValueJson(const formats::MetaValue& value);

}  // namespace bittern::report
