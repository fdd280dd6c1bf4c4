// SPDX-License-Identifier: Apache-2.0
#include "serve/http/access_log.hpp"

#include <fmt/format.h>

#include <ctime>

#include "base/calendar.hpp"
#include "base/json/json.hpp"

namespace bittern::serve {

namespace {

/// RFC 3339 in UTC, with milliseconds: "2025-01-31T12:00:00.123Z".
std::string LogTime(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  const std::tm at = UtcTime(seconds).value_or(std::tm{});
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, ms % 1000);
}

}  // namespace

std::string AccessText(const AccessRecord& record) {
  return fmt::format("{} {} {} {} {} {} {} bytes {:.3f} s{}{}{}\n", LogTime(record.time),
                     record.id.empty() ? "-" : record.id, record.peer, record.method, record.path,
                     record.status, record.bytes, record.seconds, record.note.empty() ? "" : " ",
                     record.note, record.gone ? " client went away" : "");
}

std::string AccessJson(const AccessRecord& record) {
  Json line = {{"time", LogTime(record.time)}, {"id", record.id},
               {"peer", record.peer},          {"method", record.method},
               {"path", record.path},          {"status", record.status},
               {"bytes", record.bytes},        {"seconds", record.seconds},
               {"gone", record.gone},          {"note", record.note}};
  if (record.usage) {
    line["model"] = record.usage->model;
    line["prompt_tokens"] = record.usage->prompt_tokens;
    line["cached_tokens"] = record.usage->cached_tokens;
    line["completion_tokens"] = record.usage->completion_tokens;
  }
  return line.Dump() + "\n";
}

}  // namespace bittern::serve
