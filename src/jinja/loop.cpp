// SPDX-License-Identifier: Apache-2.0
// Functions that an object gives out hold values, never the object: a cycle would leak.
#include "jinja/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "jinja/builtins.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

/// How deep an object nests that holds these items.
int NestingOf(const std::vector<Value>& items) {
  int nesting = 0;
  for (const Value& item : items) nesting = std::max(nesting, item.Nesting());
  return nesting + 1;
}

/// cycler(): current, next(), reset().
class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items)
      : state_(std::make_shared<State>(State{std::move(items), 0})),
        nesting_(NestingOf(state_->items)) {}

  [[nodiscard]] std::optional<Value> Attribute(std::string_view name) const override {
    if (name == "current") return state_->items[state_->at];
    if (name != "next" && name != "reset") return std::nullopt;
    const bool resets = name == "reset";
    return MakeFunction(
        std::string(name),
        [state = state_, resets](Interpreter&, const Arguments&) -> Result<Value> {
          if (resets) {
            state->at = 0;
            return Value::Null();
          }
          const Value value = state->items[state->at];
          state->at = (state->at + 1) % state->items.size();
          return value;
        },
        nesting_);
  }
  [[nodiscard]] bool IsCallable() const override { return false; }
  [[nodiscard]] std::string Name() const override { return "Cycler"; }
  [[nodiscard]] int Nesting() const override { return nesting_; }

 private:
  struct State {
    std::vector<Value> items;
    std::size_t at;
  };
  std::shared_ptr<State> state_;
  int nesting_;
};

}  // namespace

Loop::Loop(std::vector<Value> items)
    : items_(std::move(items)),
      nesting_(NestingOf(items_)),
      last_asked_(std::make_shared<std::vector<Value>>()) {}

std::string Loop::Name() const { return fmt::format("LoopContext {}/{}", at_ + 1, items_.size()); }

/// loop.index and so on, as Jinja's LoopContext has them. depth is always 1, since recursive loops
/// are refused. The functions copy what they need: see the top of this file.
std::optional<Value> Loop::Attribute(std::string_view name) const {
  const auto number = [](std::size_t value) {
    return Value::Int(static_cast<std::int64_t>(value));
  };
  if (name == "index") return number(at_ + 1);
  if (name == "index0") return number(at_);
  if (name == "revindex") return number(items_.size() - at_);
  if (name == "revindex0") return number(items_.size() - at_ - 1);
  if (name == "first") return Value::Bool(at_ == 0);
  if (name == "last") return Value::Bool(at_ + 1 == items_.size());
  if (name == "length") return number(items_.size());
  if (name == "depth") return number(1);
  if (name == "depth0") return number(0);
  if (name == "previtem") {
    return at_ > 0 ? items_[at_ - 1] : Value::Missing("there is no previous item");
  }
  if (name == "nextitem") {
    return at_ + 1 < items_.size() ? items_[at_ + 1] : Value::Missing("there is no next item");
  }
  if (name == "cycle") {
    return MakeFunction("cycle", [at = at_](Interpreter&, const Arguments& given) -> Result<Value> {
      if (given.positional.empty()) return Refuse("no items for cycling given");
      return given.positional[at % given.positional.size()];
    });
  }
  // Empty: never asked. Once asked it has an undefined value in front, so that a call without
  // arguments is remembered, too.
  if (name == "changed") {
    return MakeFunction(
        "changed",
        [last = last_asked_](Interpreter& interpreter, const Arguments& given) -> Result<Value> {
          bool same = !last->empty() && last->size() == given.positional.size() + 1;
          for (std::size_t i = 0; same && i < given.positional.size(); ++i) {
            same = BITTERN_TRY(Equals((*last)[i + 1], given.positional[i], interpreter.budget()));
          }
          for (const Value& value : given.positional) {
            // A list could come to hold this very function.
            if (value.Nesting() > 0) return Refuse("loop.changed() takes plain values only");
          }
          last->assign(1, Value());
          last->insert(last->end(), given.positional.begin(), given.positional.end());
          return Value::Bool(!same);
        });
  }
  return std::nullopt;
}

Value MakeCycler(std::vector<Value> items) {
  return Value(
      Value::Storage(std::static_pointer_cast<Object>(std::make_shared<Cycler>(std::move(items)))));
}

Value MakeJoiner(Value separator) {
  auto used = std::make_shared<bool>(false);
  const int nesting = separator.Nesting() + 1;
  return MakeFunction(
      "joiner",
      [used, separator = std::move(separator)](Interpreter&, const Arguments&) -> Result<Value> {
        return std::exchange(*used, true) ? separator : Value::String(Text());
      },
      nesting);
}

}  // namespace bittern::jinja
