// SPDX-License-Identifier: Apache-2.0
// Renders templates for tests/jinja/compare.py: a line {"template": ..., "names": {...}} of
// standard input gives a line {"text": ...} or {"error": ...}. The clock stands at 2026-01-02
// 03:04:05.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json/json.hpp"
#include "jinja/template.hpp"

namespace {

using namespace bittern;

constexpr JsonLimits kLimits = {.max_depth = 100};

Result<std::string> RenderLine(std::string_view line) {
  const auto json = BITTERN_TRY(Json::Parse(line, kLimits));
  const Json* source = json.Find("template");
  const Json* given = json.Find("names");
  if (source == nullptr || source->AsString() == nullptr || given == nullptr ||
      given->AsObject() == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "template and names expected");
  }
  jinja::Names names;
  for (const auto& [name, value] : *given->AsObject()) {
    auto member = BITTERN_TRY(jinja::FromJson(value, jinja::Origin::Input()));
    names.emplace_back(name, std::move(member));
  }
  const auto compiled = BITTERN_TRY(jinja::Template::Compile(*source->AsString()));
  std::tm now = {};
  now.tm_year = 126;
  now.tm_mday = 2;
  now.tm_hour = 3;
  now.tm_min = 4;
  now.tm_sec = 5;
  now.tm_wday = 5;
  now.tm_yday = 1;
  const jinja::Text text = BITTERN_TRY(compiled.Render(std::move(names), now));
  return text.bytes();
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto text = RenderLine(line);
    const nlohmann::json answer = text.has_value()
                                      ? nlohmann::json{{"text", *text}}
                                      : nlohmann::json{{"error", text.error().message}};
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
}
