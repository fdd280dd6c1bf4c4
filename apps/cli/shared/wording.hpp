// SPDX-License-Identifier: Apache-2.0
// The library names an option as key=value, this program as a flag: override_kv=KEY=TYPE:VALUE
// becomes --override-kv KEY=TYPE:VALUE. Any thread. Commands that are printed are quoted for a
// shell.
#pragma once

#include <string>
#include <string_view>

#include "base/decision.hpp"
#include "base/result.hpp"

namespace bittern::cli {

/// A text of the library with flags in place of the keys of options.
[[nodiscard]] std::string WordOptions(std::string_view text);

/// A text between single quotes, as a shell reads it.
[[nodiscard]] std::string ShellQuoted(std::string_view text);

/// "message; hint".
[[nodiscard]] std::string WordError(const Error& error);

/// "reason; hint".
[[nodiscard]] std::string WordReason(const Decision& decision);

/// Words the reasons, each with its hint, which is empty afterwards.
void WordDecisions(Decisions* decisions);

}  // namespace bittern::cli
