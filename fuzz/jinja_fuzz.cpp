// SPDX-License-Identifier: Apache-2.0
// Any bytes as a chat template: refused, stopped or rendered, within small limits; and what is
// rendered must be UTF-8 whose runs cover it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.hpp"
#include "base/utf8.hpp"
#include "jinja/template.hpp"

namespace {

using namespace bittern;

jinja::Names SomeNames() {
  constexpr std::string_view kJson =
      R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"<|x|> \u00e9\u4e2d"},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":)"
      R"({"a":[1,2.5,true,null,{}]}}}]}],"tools":[{"type":"function"}],"add_generation_prompt":true,)"
      R"("s":" some Text\n\nin lines ","l":[3,1,2],"d":{"k":"v","n":{"m":1}},"bos_token":"<s>"})";
  const auto json = Json::Parse(kJson, {});
  jinja::Names names;
  for (const auto& [name, value] : *json->AsObject()) {
    names.emplace_back(name, jinja::FromJson(value, jinja::Origin::Input()).value());
  }
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const jinja::Names names = SomeNames();
  constexpr jinja::Limits kLimits = {.max_steps = 20000,
                                     .max_bytes = std::size_t{8} << 20,
                                     .max_string = std::size_t{1} << 20,
                                     .max_depth = 200};
  const auto compiled =
      jinja::Template::Compile({reinterpret_cast<const char*>(data), size}, kLimits);
  if (!compiled.has_value()) return 0;
  const auto text = compiled->Render(names, std::tm{});
  if (!text.has_value()) return 0;
  if (ReplaceInvalidUtf8(text->bytes()) != text->bytes()) std::abort();
  std::size_t end = 0;
  for (const auto& run : text->runs()) {
    if (run.end <= end) std::abort();
    end = run.end;
  }
  if (end != text->size()) std::abort();
  return 0;
}
