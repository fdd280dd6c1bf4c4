// SPDX-License-Identifier: Apache-2.0
// The escapes of Python's string literals, which Jinja's have.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern::jinja {

/// The string that the text between the quotes means. Unknown escapes stay as they are. Error
/// kCorruptFile: \x, \u or \U without its digits; \N{name}.
[[nodiscard]] Result<std::string> UnescapeLiteral(std::string_view text);

}  // namespace bittern::jinja
