// SPDX-License-Identifier: Apache-2.0
// strftime without the C library's: that one follows the locale and pads as wide as a template
// asks it to.
#include <fmt/format.h>

#include <array>

#include "jinja/builtins.hpp"

namespace bittern::jinja {
namespace {

// By tm_wday and tm_mon, which count from 0.
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

/// `pad`: '0', '_' for blanks, '-' for none, as glibc's flags %_d and %-d.
std::string Number(int value, int width, char pad) {
  if (pad == '-') return fmt::format("{}", value);
  return pad == '_' ? fmt::format("{:{}}", value, width) : fmt::format("{:0{}}", value, width);
}

/// One directive. The time is local and knows no zone or fraction, as Python's datetime.now() in
/// strftime_now: %z and %Z are empty. An unknown directive stays as it is.
std::string Field(char letter, char pad, const std::tm& time) {
  const auto day = kDays[static_cast<std::size_t>(time.tm_wday) % 7];
  const auto month = kMonths[static_cast<std::size_t>(time.tm_mon) % 12];
  const int hour12 = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
  switch (letter) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'd':
      return Number(time.tm_mday, 2, pad);
    case 'e':
      return Number(time.tm_mday, 2, pad == '0' ? '_' : pad);
    case 'H':
      return Number(time.tm_hour, 2, pad);
    case 'I':
      return Number(hour12, 2, pad);
    case 'j':
      return Number(time.tm_yday + 1, 3, pad);
    case 'm':
      return Number(time.tm_mon + 1, 2, pad);
    case 'M':
      return Number(time.tm_min, 2, pad);
    case 'S':
      return Number(time.tm_sec, 2, pad);
    case 'p':
      return time.tm_hour < 12 ? "AM" : "PM";
    case 'w':
      return Number(time.tm_wday, 1, pad);
    case 'u':
      return Number(time.tm_wday == 0 ? 7 : time.tm_wday, 1, pad);
    case 'y':
      return Number((time.tm_year + 1900) % 100, 2, pad);
    case 'Y':
      return fmt::format("{}", time.tm_year + 1900);
    case 'f':
      return "000000";
    case 'z':
    case 'Z':
      return "";
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    case 'F':
      return FormatTime("%Y-%m-%d", time);
    case 'T':
    case 'X':
      return FormatTime("%H:%M:%S", time);
    case 'R':
      return FormatTime("%H:%M", time);
    case 'r':
      return FormatTime("%I:%M:%S %p", time);
    case 'D':
    case 'x':
      return FormatTime("%m/%d/%y", time);
    case 'c':
      return FormatTime("%a %b %e %H:%M:%S %Y", time);
    default:
      return std::string("%") + letter;
  }
}

}  // namespace

std::string FormatTime(std::string_view format, const std::tm& time) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool padded = (format[i + 1] == '-' || format[i + 1] == '_') && i + 2 < format.size();
    const char pad = padded ? format[i + 1] : '0';
    i += padded ? 2 : 1;
    out += Field(format[i], pad, time);
  }
  return out;
}

}  // namespace bittern::jinja
