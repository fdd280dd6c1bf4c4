// SPDX-License-Identifier: Apache-2.0
// Calendar time in UTC and at this place. The C library's own functions share one result among all
// threads. Any thread.
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace bittern {

/// Nothing for a time beyond the calendar.
[[nodiscard]] std::optional<std::tm> UtcTime(std::time_t time) noexcept;
[[nodiscard]] std::optional<std::tm> LocalTime(std::time_t time) noexcept;

/// The date of a header of HTTP, "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7), in
/// seconds since 1970; nothing for another text.
[[nodiscard]] std::optional<std::time_t> HttpTime(const std::string& text);

}  // namespace bittern
