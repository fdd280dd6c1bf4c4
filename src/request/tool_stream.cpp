// SPDX-License-Identifier: Apache-2.0
// A state machine over the text: outside, in a call's name, in its arguments. Text that may be
// the beginning of a call is held back.
#include "request/tool_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "grammar/notation/json_text.hpp"

namespace bittern::request {
namespace {

/// The beginning of a call as the grammar makes it, to the letter.
constexpr std::string_view kHead = R"({"name": ")";
constexpr std::string_view kSpaces = " \t\r\n";

/// Bytes at the end of `text` that may be the beginning of `trigger`.
std::size_t HeldBack(std::string_view text, std::string_view trigger) {
  std::size_t size = std::min(text.size(), trigger.size() - 1);
  while (size > 0 && !text.ends_with(trigger.substr(0, size))) --size;
  return size;
}

}  // namespace

/// A trigger in the prompt is no part of the answer, so the first call is open already.
ToolStream::ToolStream(const ToolReading& reading) : reading_(reading) {
  if (reading.form == nullptr) return;
  key_ = fmt::format(R"(", "{}": )", reading.form->arguments_key);
  if (reading.triggered) state_ = State::kOpen;
}

/// Steps until a step needs more bytes.
std::vector<ToolEvent> ToolStream::Feed(std::string_view text) {
  std::vector<ToolEvent> events;
  rest_ += text;
  while (Step(&events)) {
  }
  return events;
}

/// True if another step may be possible.
bool ToolStream::Step(std::vector<ToolEvent>* events) {
  switch (state_) {
    case State::kText:
      return StepText(events);
    case State::kOpen:
      return Expect(reading_.form->open, State::kHead);
    case State::kHead:
      return Expect(kHead, State::kName);
    case State::kName:
      return StepName(events);
    case State::kKey:
      depth_ = 0;
      return Expect(key_, State::kArguments);
    case State::kArguments:
      return StepArguments(events);
    case State::kAfter:
      return StepAfter();
    case State::kLoose:
    case State::kDone:
      break;
  }
  return false;
}

void ToolStream::AddContent(std::string_view text, std::vector<ToolEvent>* events) {
  // White space before a call is no content.
  const std::size_t begin = began_ ? 0 : text.find_first_not_of(kSpaces);
  if (!began_ && begin == std::string_view::npos) {
    space_ += text;
    return;
  }
  began_ = true;
  std::string content = std::exchange(space_, {}) + std::string(text);
  if (!content.empty()) events->push_back({ToolEvent::Kind::kContent, 0, std::move(content)});
}

/// Outside of calls. A form without a trigger has calls only where the answer begins with '{'.
bool ToolStream::StepText(std::vector<ToolEvent>* events) {
  if (rest_.empty()) return false;
  if (reading_.form == nullptr) {
    events->push_back({ToolEvent::Kind::kContent, 0, std::exchange(rest_, {})});
    return false;
  }
  const std::string_view trigger = reading_.form->trigger;
  if (trigger.empty()) {
    if (!began_ && space_.empty() && rest_[0] == '{') {
      state_ = State::kHead;
      return true;
    }
    AddContent(std::exchange(rest_, {}), events);
    return false;
  }
  const bool is_text = !rest_.starts_with(trigger.substr(0, rest_.size()));
  if (reading_.alone && (began_ || is_text)) {
    AddContent(std::exchange(rest_, {}), events);
    return false;
  }
  const std::size_t at = rest_.find(trigger);
  const std::size_t size = at == std::string::npos ? rest_.size() - HeldBack(rest_, trigger) : at;
  AddContent(std::string_view(rest_).substr(0, size), events);
  rest_.erase(0, size);
  if (at == std::string::npos) return false;
  rest_.erase(0, trigger.size());
  state_ = reading_.loose ? State::kLoose : State::kOpen;
  return true;
}

bool ToolStream::Expect(std::string_view literal, State next) {
  if (rest_.size() < literal.size()) return false;
  rest_.erase(0, literal.size());
  state_ = next;
  return true;
}

/// Waits for the whole name: it is told at once. A name needs no escapes.
bool ToolStream::StepName(std::vector<ToolEvent>* events) {
  const std::size_t end = rest_.find('"');
  if (end == std::string::npos) return false;
  events->push_back({ToolEvent::Kind::kStart, calls_++, rest_.substr(0, end)});
  rest_.erase(0, end);
  state_ = State::kKey;
  return true;
}

/// Gives arguments out as they come. They end where their brackets do, those in strings apart.
bool ToolStream::StepArguments(std::vector<ToolEvent>* events) {
  if (rest_.empty()) return false;
  std::size_t size = 0;
  bool whole = false;
  while (size < rest_.size() && !whole) {
    const char c = rest_[size++];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      whole = --depth_ == 0;
    }
  }
  events->push_back({ToolEvent::Kind::kArguments, calls_ - 1, rest_.substr(0, size)});
  rest_.erase(0, size);
  if (!whole) return false;
  events->push_back({ToolEvent::Kind::kEnd, calls_ - 1});
  state_ = State::kAfter;
  return true;
}

/// The call's last brace, and the text before another one or after the last.
bool ToolStream::StepAfter() {
  const std::string separator = "}" + std::string(reading_.form->separator);
  if (rest_.size() < separator.size()) return false;
  const bool another = separator.size() > 1 && rest_.starts_with(separator);
  if (another) return Expect(separator, State::kHead);
  state_ = State::kDone;
  return false;
}

/// Calls that no grammar has watched: JSON, or else text.
void ToolStream::ReadLoose(std::vector<ToolEvent>* events) {
  const auto json = Json::Parse(rest_, {.max_depth = 100});
  std::vector<const Json*> calls;
  if (json.has_value()) {
    if (json->AsArray() == nullptr) calls.push_back(&*json);
    for (std::size_t i = 0; json->AsArray() != nullptr && i < json->AsArray()->size(); ++i) {
      calls.push_back(&(*json->AsArray())[i]);
    }
  }
  const bool good = !calls.empty() && std::ranges::all_of(calls, [&](const Json* call) {
    const Json *name = call->Find("name"), *given = call->Find(reading_.form->arguments_key);
    return name != nullptr && name->AsString() != nullptr && given != nullptr &&
           given->AsObject() != nullptr;
  });
  if (!good) {
    AddContent(std::string(reading_.form->trigger) + rest_, events);
    return;
  }
  for (const Json* call : calls) {
    const std::string arguments = grammar::JsonText(*call->Find(reading_.form->arguments_key));
    events->push_back({ToolEvent::Kind::kStart, calls_, *call->Find("name")->AsString()});
    events->push_back({ToolEvent::Kind::kArguments, calls_, arguments});
    events->push_back({ToolEvent::Kind::kEnd, calls_++});
  }
}

/// Text that was held back as a possible trigger is content. A call that was cut gets no kEnd.
std::vector<ToolEvent> ToolStream::Finish() {
  std::vector<ToolEvent> events;
  if (state_ == State::kText) {
    began_ = true;  // all that is left is content
    AddContent(rest_, &events);
  } else if (state_ == State::kLoose) {
    ReadLoose(&events);
  }
  rest_.clear();
  state_ = State::kDone;
  return events;
}

/// The same machine as for a stream, so that both find the same calls.
ToolAnswerParts ReadToolAnswer(const ToolReading& reading, std::string_view text) {
  ToolStream stream(reading);
  ToolAnswerParts parts;
  const auto take = [&](const std::vector<ToolEvent>& events) {
    for (const ToolEvent& event : events) {
      if (event.kind == ToolEvent::Kind::kContent) parts.content += event.text;
      if (event.kind == ToolEvent::Kind::kStart) parts.calls.push_back({event.text, {}});
      if (event.kind == ToolEvent::Kind::kArguments) parts.calls.back().arguments += event.text;
    }
  };
  take(stream.Feed(text));
  take(stream.Finish());
  return parts;
}

}  // namespace bittern::request
