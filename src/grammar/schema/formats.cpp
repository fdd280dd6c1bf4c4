// SPDX-License-Identifier: Apache-2.0
// Formats as patterns. Each allows less than its RFC where that keeps the pattern plain: no 29
// February, no year 0, no leap second.
#include <utility>

#include "grammar/schema/json_schema.hpp"

namespace bittern::grammar {
namespace {

#define BITTERN_DATE                                                                               \
  "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(" \
  "0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
#define BITTERN_TIME                                         \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?" \
  "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define BITTERN_LABEL "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
#define BITTERN_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define BITTERN_PATH "(/[A-Za-z0-9._~-]{0,40}){0,10}"

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", BITTERN_DATE},
    {"time", BITTERN_TIME},
    {"date-time", BITTERN_DATE "T" BITTERN_TIME},
    {"duration",
     "P([0-9]{1,4}W|[0-9]{1,4}D(T[0-9]{1,4}H)?|T([0-9]{1,4}H([0-9]{1,4}M)?|[0-9]{1,4}M|[0-9]{1,4}S)"
     ")"},
    {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
    {"ipv4", BITTERN_BYTE "(\\." BITTERN_BYTE "){3}"},
    {"ipv6", "([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}"},
    {"hostname", BITTERN_LABEL "(\\." BITTERN_LABEL "){0,2}"},
    {"email", "[a-z0-9]([a-z0-9_+-]{0,30}[a-z0-9])?@" BITTERN_LABEL "\\.[a-z]{2,10}"},
    {"uri", "https?://" BITTERN_LABEL "(\\." BITTERN_LABEL "){1,2}" BITTERN_PATH},
    // Not in the standard, but in ajv-formats and OpenAPI.
    {"url", "https?://[a-z0-9]{1,40}(\\.[a-z0-9]{1,40}){0,2}\\.[a-z]{2,10}" BITTERN_PATH},
    {"byte", "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"},
    {"iso-time", BITTERN_TIME},
    {"iso-date-time", BITTERN_DATE "T" BITTERN_TIME},
    {"iri", "https?://" BITTERN_LABEL "(\\." BITTERN_LABEL "){1,2}" BITTERN_PATH},
    {"iri-reference", "https?://" BITTERN_LABEL "(\\." BITTERN_LABEL "){1,2}" BITTERN_PATH},
    {"uri-template", "https?://" BITTERN_LABEL "(\\." BITTERN_LABEL "){1,2}" BITTERN_PATH},
    {"idn-hostname", BITTERN_LABEL "(\\." BITTERN_LABEL "){0,2}"},
    {"idn-email", "[a-z0-9]([a-z0-9_+-]{0,30}[a-z0-9])?@" BITTERN_LABEL "\\.[a-z]{2,10}"},
    {"json-pointer", "(/([^~/]|~[01])*)*"},
    {"relative-json-pointer", "(0|[1-9][0-9]{0,5})(#|(/([^~/]|~[01])*)*)"},
    // Characters, classes and dots, each with a count.
    {"regex",
     "\\^?(([A-Za-z0-9_ @:;,<>=!&%#~/-]|\\.|\\\\[dDwWsS.]|\\[\\^?[A-Za-z0-9_]+\\])[*+?]?)*\\$?"},
    {"uri-reference", "https?://" BITTERN_LABEL "(\\." BITTERN_LABEL "){1,2}" BITTERN_PATH},
};

}  // namespace

std::string_view PatternOfFormat(std::string_view format) noexcept {
  for (const auto& [name, pattern] : kFormats) {
    if (name == format) return pattern;
  }
  return {};
}

}  // namespace bittern::grammar
