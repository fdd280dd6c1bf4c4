// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.hpp"

#include <fmt/chrono.h>

#include <chrono>
#include <iomanip>
#include <locale>
#include <sstream>

namespace bittern {

std::optional<std::tm> UtcTime(std::time_t time) noexcept try {
  return fmt::gmtime(time);
} catch (const fmt::format_error&) {
  return std::nullopt;
}

std::optional<std::tm> LocalTime(std::time_t time) noexcept try {
  return fmt::localtime(time);
} catch (const fmt::format_error&) {
  return std::nullopt;
}

/// The C locale has the RFC's names of days and months.
std::optional<std::time_t> HttpTime(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  std::tm at = {};
  if (!(in >> std::get_time(&at, "%a, %d %b %Y %H:%M:%S"))) return std::nullopt;
  using namespace std::chrono;
  const year_month_day day(year(at.tm_year + 1900), month(static_cast<unsigned>(at.tm_mon) + 1),
                           std::chrono::day(static_cast<unsigned>(at.tm_mday)));
  if (!day.ok()) return std::nullopt;
  const auto time = sys_days(day) + hours(at.tm_hour) + minutes(at.tm_min) + seconds(at.tm_sec);
  return static_cast<std::time_t>(duration_cast<seconds>(time.time_since_epoch()).count());
}

}  // namespace bittern
