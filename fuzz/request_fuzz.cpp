// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of a request to the server: refused with a reason, or read into what the
// templates and the grammars take. What was read of tools must make a grammar, and an answer that
// is cut into pieces must hold the calls that it holds whole.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "grammar/tool_calls.hpp"
#include "request/fields/field_reader.hpp"
#include "request/generate_fields.hpp"
#include "request/prompt_fields.hpp"
#include "request/tool_fields.hpp"
#include "request/tool_stream.hpp"
#include "serve/http/http_text.hpp"

namespace {

using namespace bittern;

void Check(const Error& error) {
  if (error.message.empty()) std::abort();  // every refusal has a reason
}

void ReadTools(const Json& body) {
  auto fields = request::FieldReader::Open(body);
  const auto tools = request::ReadTools(&*fields);
  if (!tools) return Check(tools.error());
  if (tools->tools.empty()) return;
  for (const char* const form : {"hermes", "mistral", "llama3"}) {
    const grammar::ToolAnswer answer{.form = form, .free = true, .tools = tools->tools};
    const auto read = grammar::ParseToolAnswer(grammar::ToolAnswerText(answer));
    if (!read || !grammar::ToolCallGrammar(*read)) std::abort();
  }
}

void ReadRest(const Json& body) {
  auto fields = request::FieldReader::Open(body);
  if (const Json* messages = fields->Take("messages")) {
    const auto read = request::ReadMessages("messages", messages);
    if (!read) Check(read.error());
  }
  for (const bool wrapped : {false, true}) {
    const Json* format = fields->Take("response_format");
    if (format == nullptr) continue;
    const auto read = request::ReadFormat("response_format", *format, wrapped);
    if (!read) Check(read.error());
  }
  std::vector<std::string> stops;
  const auto read = request::ReadStops(&*fields, "stop", &stops);
  if (read && stops.size() > request::kMostStops) std::abort();
  if (const auto done = fields->Finish(); !done) Check(done.error());
}

void ReadAnswer(std::string_view text) {
  for (const char* const name : {"hermes", "mistral", "llama3"}) {
    for (const bool triggered : {false, true}) {
      const request::ToolReading reading{.form = grammar::FindToolForm(name),
                                         .triggered = triggered};
      const auto whole = request::ReadToolAnswer(reading, text);
      request::ToolStream stream(reading);
      std::string content;
      std::size_t calls = 0;
      const auto take = [&](const std::vector<request::ToolEvent>& events) {
        for (const auto& event : events) {
          if (event.kind == request::ToolEvent::Kind::kContent) content += event.text;
          if (event.kind == request::ToolEvent::Kind::kStart) ++calls;
        }
      };
      for (const char& byte : text) take(stream.Feed({&byte, 1}));
      take(stream.Finish());
      if (content != whole.content || calls != whole.calls.size()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4000) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)serve::QueryValue(text, "action");
  ReadAnswer(text);
  const auto body = request::ParseBody(text);
  if (!body) {
    Check(body.error());
    return 0;
  }
  ReadTools(*body);
  ReadRest(*body);
  return 0;
}
