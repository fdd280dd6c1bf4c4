// SPDX-License-Identifier: Apache-2.0
// Finds the calls of functions in an answer as it comes. The answer's grammar
// (grammar/tool_calls.hpp) makes them well formed. A model that begins a call with a control token
// has no such grammar: its calls are read when the answer is whole. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/tool_calls.hpp"

namespace bittern::request {

/// The part that a piece of an answer adds.
struct ToolEvent {
  enum class Kind {
    kContent,    ///< text beside calls
    kStart,      ///< a call begins: `text` is the name of its function
    kArguments,  ///< more of the JSON text of its arguments
    kEnd,        ///< its arguments are whole
  };
  Kind kind;
  std::size_t call = 0;  ///< counts from 0
  std::string text = {};
};

/// A call as it was found.
struct FoundCall {
  std::string name, arguments;
};

/// How to find the calls in an answer.
struct ToolReading {
  const grammar::ToolForm* form = nullptr;  ///< null: answers have no calls
  bool triggered = false;                   ///< the prompt ends with the trigger
  bool loose = false;                       ///< no grammar
  bool alone = false;                       ///< an answer that begins with text has no calls
};

class ToolStream {
 public:
  explicit ToolStream(const ToolReading& reading);

  /// The next piece of the answer.
  [[nodiscard]] std::vector<ToolEvent> Feed(std::string_view text);
  /// The text that is held back at the end of the answer.
  [[nodiscard]] std::vector<ToolEvent> Finish();
  /// A call has begun.
  [[nodiscard]] bool any_call() const noexcept { return calls_ > 0; }

 private:
  /// kText: outside of calls. kOpen: after the trigger, before the form's opening text. kHead to
  /// kArguments: in a call, part by part. kAfter: behind its arguments. kLoose: all that follows is
  /// calls without a grammar. kDone: nothing more is looked at.
  enum class State { kText, kOpen, kHead, kName, kKey, kArguments, kAfter, kLoose, kDone };

  [[nodiscard]] bool Step(std::vector<ToolEvent>* events);
  [[nodiscard]] bool StepText(std::vector<ToolEvent>* events);
  [[nodiscard]] bool StepName(std::vector<ToolEvent>* events);
  [[nodiscard]] bool StepArguments(std::vector<ToolEvent>* events);
  [[nodiscard]] bool StepAfter();
  /// Drops an expected text; false: more bytes are needed.
  [[nodiscard]] bool Expect(std::string_view literal, State next);
  void AddContent(std::string_view text, std::vector<ToolEvent>* events);
  void ReadLoose(std::vector<ToolEvent>* events);

  ToolReading reading_;
  std::string key_;  // between name and arguments
  State state_ = State::kText;
  std::string rest_ = {};   // not yet read
  std::string space_ = {};  // at the front of the answer
  bool began_ = false;      // some text has been seen
  std::size_t calls_ = 0, depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

/// A whole answer: its text, and its calls.
struct ToolAnswerParts {
  std::string content;
  std::vector<FoundCall> calls;
};
[[nodiscard]] ToolAnswerParts ReadToolAnswer(const ToolReading& reading, std::string_view text);

}  // namespace bittern::request
