// SPDX-License-Identifier: Apache-2.0
#include "serve/http/access_log.hpp"

#include <fmt/format.h>

#include "base/json/json.hpp"

namespace bittern::serve {

std::string AccessText(const AccessRecord& record) {
  return fmt::format("{} {} {} {} {} bytes {:.3f} s{}{}{}\n", record.peer, record.method,
                     record.path, record.status, record.bytes, record.seconds,
                     record.note.empty() ? "" : " ", record.note,
                     record.gone ? " client went away" : "");
}

std::string AccessJson(const AccessRecord& record) {
  const Json line = {{"peer", record.peer},   {"method", record.method},
                     {"path", record.path},   {"status", record.status},
                     {"bytes", record.bytes}, {"seconds", record.seconds},
                     {"gone", record.gone},   {"note", record.note}};
  return line.Dump() + "\n";
}

}  // namespace bittern::serve
