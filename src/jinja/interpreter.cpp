// SPDX-License-Identifier: Apache-2.0
// Statements and macros.
#include "jinja/interpreter.hpp"

#include <algorithm>

#include "jinja/builtins.hpp"
#include "jinja/lexer.hpp"
#include "jinja/loop.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {

namespace {

/// A macro as a value: its text and the scope it was made in.
class Macro : public Object {
 public:
  Macro(const MacroDefinition& definition, ScopePtr scope)
      : definition_(definition), scope_(std::move(scope)) {}
  Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) override {
    return interpreter.CallMacro(definition_, scope_, arguments);
  }
  [[nodiscard]] std::optional<Value> Attribute(std::string_view name) const override {
    if (name == "name") return Value::String(definition_.name);
    return std::nullopt;
  }
  [[nodiscard]] std::string Name() const override { return "Macro " + definition_.name; }

 private:
  const MacroDefinition& definition_;
  ScopePtr scope_;
};

}  // namespace

/// The innermost name counts.
const Value* Scope::Find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer.get()) {
    for (const auto& [known, value] : scope->names) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

/// Sets a name of this scope; the same name outside stays as it was.
void Scope::Set(std::string_view name, Value value) {
  const auto found = std::ranges::find(names, name, [](const auto& each) { return each.first; });
  if (found != names.end()) {
    found->second = std::move(value);
  } else {
    names.emplace_back(name, std::move(value));
  }
}

/// Global functions lie in the outermost scope, so the template's names hide them.
Interpreter::Interpreter(const Limits& limits, const std::tm& now)
    : budget_(limits), now_(now), scope_(std::make_shared<Scope>(nullptr)) {
  scope_->names = GlobalFunctions();
}

/// Breaks the cycles between values, so that all of them are freed.
Interpreter::~Interpreter() {
  for (const auto& space : namespaces_) space->members.clear();
  for (const auto& scope : kept_scopes_) scope->names.clear();
}

Result<Text> Interpreter::Run(const Block& body, std::vector<std::pair<std::string, Value>> names) {
  scope_ = std::make_shared<Scope>(scope_);
  for (auto& [name, value] : names) scope_->Set(name, std::move(value));
  Text output;
  out_ = &output;
  BITTERN_TRY(RunBlock(body));
  return output;
}

/// The first caller is the innermost node, and names the place best; later ones change nothing.
Error Interpreter::Locate(int line, std::string_view construct, Error error) {
  if (std::exchange(located_, true)) return error;
  if (!construct.empty()) error.message = fmt::format("{}: {}", construct, error.message);
  return ErrorInLine(line, error.code, error.message);
}

Result<void> Interpreter::KeepScope() {
  if (!kept_scopes_.empty() && kept_scopes_.back() == scope_) return {};
  kept_scopes_.push_back(scope_);
  return budget_.Make(512);
}

Result<Value> Interpreter::NewNamespace(std::vector<std::pair<std::string, Value>> members) {
  BITTERN_TRY(budget_.Make(512));
  auto space = std::make_shared<Namespace>(Namespace{std::move(members)});
  namespaces_.push_back(space);
  return Value(Value::Storage(std::move(space)));
}

/// `{{ value }}`. The whole output may not be longer than one string.
Result<void> Interpreter::Print(const Value& value) {
  if (const Text* text = value.AsText()) {
    BITTERN_TRY(budget_.Make(out_->size() + text->size() > budget_.limits().max_string
                                 ? budget_.limits().max_string + 1
                                 : text->size()));
    out_->Append(*text);
    return {};
  }
  const Text text = BITTERN_TRY(Str(value, &budget_));
  BITTERN_TRY(budget_.Make(text.size()));
  out_->Append(text);
  return {};
}

/// Stops at `break` or `continue` and hands that on to the loop around.
Result<Interpreter::Flow> Interpreter::RunBlock(const Block& block) {
  const Deeper deeper(&depth_);
  for (const Stmt& statement : block) {
    const Flow flow = BITTERN_TRY(RunStatement(statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

/// Runs one statement. Errors without a place get this line and the tag's name.
Result<Interpreter::Flow> Interpreter::RunStatement(const Stmt& statement) {
  const auto done = [&](std::string_view construct, Result<void> result) -> Result<Flow> {
    if (result.has_value()) return Flow::kNext;
    return tl::unexpected(Locate(statement.line, construct, std::move(result).error()));
  };
  if (auto step = budget_.Step(); !step.has_value()) return done("", std::move(step));
  switch (statement.kind) {
    case StmtKind::kData:
      return done("", Print(statement.data));
    case StmtKind::kPrint:
      for (const ExprPtr& expression : statement.expressions) {
        const Value value = BITTERN_TRY(Evaluate(*expression));
        if (auto printed = Print(value); !printed.has_value()) {
          return done("{{ }}", std::move(printed));
        }
      }
      return Flow::kNext;
    case StmtKind::kIf:
      return RunIf(statement);
    case StmtKind::kFor:
      return RunFor(statement);
    case StmtKind::kSet:
      return done("set", RunSet(statement));
    case StmtKind::kSetBlock:
      return done("set", RunSetBlock(statement));
    case StmtKind::kMacro:
      return done("macro", RunMacro(statement));
    case StmtKind::kCallBlock:
      return done("call", RunCallBlock(statement));
    case StmtKind::kFilterBlock:
      return done("filter", RunFilterBlock(statement));
    case StmtKind::kWith:
      return done("with", RunWith(statement));
    case StmtKind::kScope: {
      const Text text = BITTERN_TRY(Capture(statement.body));
      return done("", Print(Value::String(text)));
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::RunIf(const Stmt& statement) {
  for (const Branch& branch : statement.branches) {
    const Value test = BITTERN_TRY(Evaluate(*branch.test));
    if (Truth(test)) return RunBlock(branch.body);
  }
  return RunBlock(statement.else_body);
}

/// The items of `for x in list if test`. The test runs for all of them before the first round, so
/// that loop.index and loop.length count only what is left.
Result<std::vector<Value>> Interpreter::LoopItems(const Stmt& statement) {
  const Value iterable = BITTERN_TRY(Evaluate(*statement.expressions[0]));
  auto listed = Items(iterable, &budget_);
  if (!listed.has_value()) {
    return tl::unexpected(Locate(statement.line, "for", std::move(listed).error()));
  }
  const Expr* filter = statement.expressions[1].get();
  if (filter == nullptr) return *std::move(listed);
  std::vector<Value> items;
  const ScopePtr outer = scope_;
  for (Value& item : *listed) {
    scope_ = std::make_shared<Scope>(outer);
    auto assigned = Assign(statement.targets[0], item);
    auto kept = assigned.has_value() ? Evaluate(*filter)
                                     : Result<Value>(tl::unexpected(Locate(
                                           statement.line, "for", std::move(assigned).error())));
    scope_ = outer;
    if (!kept.has_value()) return tl::unexpected(std::move(kept).error());
    if (Truth(*kept)) items.push_back(std::move(item));
  }
  return items;
}

/// Each round has a new scope: what it sets is gone in the next. `else` runs if there are no items.
Result<Interpreter::Flow> Interpreter::RunFor(const Stmt& statement) {
  std::vector<Value> items = BITTERN_TRY(LoopItems(statement));
  if (items.empty()) {
    const ScopePtr outer = scope_;
    scope_ = std::make_shared<Scope>(outer);
    auto flow = RunBlock(statement.else_body);
    scope_ = outer;
    return flow;
  }
  const ScopePtr outer = scope_;
  const auto loop = std::make_shared<Loop>(std::move(items));
  for (std::size_t i = 0; i < loop->size(); ++i) {
    loop->MoveTo(i);
    scope_ = std::make_shared<Scope>(outer);
    scope_->Set("loop", Value(Value::Storage(std::static_pointer_cast<Object>(loop))));
    auto assigned = Assign(statement.targets[0], loop->item());
    auto flow = assigned.has_value() ? RunBlock(statement.body)
                                     : Result<Flow>(tl::unexpected(Locate(
                                           statement.line, "for", std::move(assigned).error())));
    scope_ = outer;
    if (!flow.has_value()) return flow;
    if (*flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

/// A name, a member of a namespace, or a tuple of targets, which takes apart a value that iterates.
Result<void> Interpreter::Assign(const Target& target, const Value& value) {
  if (!target.member.empty()) {
    const Value* holder = scope_->Find(target.name);
    Namespace* space = holder == nullptr ? nullptr : holder->AsNamespace();
    if (space == nullptr) return Refuse(fmt::format("\"{}\" is no namespace", target.name));
    for (auto& [name, member] : space->members) {
      if (name != target.member) continue;
      member = value;
      return {};
    }
    space->members.emplace_back(target.member, value);
    return {};
  }
  if (target.parts.empty()) {
    scope_->Set(target.name, value);
    return {};
  }
  const std::vector<Value> items = BITTERN_TRY(Items(value, &budget_));
  if (items.size() != target.parts.size()) {
    return Refuse(
        fmt::format("{} values to unpack expected, {} found", target.parts.size(), items.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    BITTERN_TRY(Assign(target.parts[i], items[i]));
  }
  return {};
}

Result<void> Interpreter::RunSet(const Stmt& statement) {
  const Value value = BITTERN_TRY(Evaluate(*statement.expressions[0]));
  return Assign(statement.targets[0], value);
}

Result<Text> Interpreter::Capture(const Block& block) {
  Text text;
  Text* const out = std::exchange(out_, &text);
  const ScopePtr outer = scope_;
  scope_ = std::make_shared<Scope>(outer);
  auto flow = RunBlock(block);
  scope_ = outer;
  out_ = out;
  if (!flow.has_value()) return tl::unexpected(std::move(flow).error());
  return text;
}

/// {% set x | filter %}text{% endset %}.
Result<void> Interpreter::RunSetBlock(const Stmt& statement) {
  const Text text = BITTERN_TRY(Capture(statement.body));
  Value value = Value::String(text);
  if (statement.expressions[0] != nullptr) {
    value = BITTERN_TRY(EvaluateFilter(*statement.expressions[0], &value));
  }
  return Assign(statement.targets[0], value);
}

Result<void> Interpreter::RunFilterBlock(const Stmt& statement) {
  const Text text = BITTERN_TRY(Capture(statement.body));
  const Value input = Value::String(text);
  const Value value = BITTERN_TRY(EvaluateFilter(*statement.expressions[0], &input));
  return Print(value);
}

Result<void> Interpreter::RunMacro(const Stmt& statement) {
  BITTERN_TRY(KeepScope());
  scope_->Set(statement.macro->name, Value(Value::Storage(std::static_pointer_cast<Object>(
                                         std::make_shared<Macro>(*statement.macro, scope_)))));
  return {};
}

/// {% call(item) macro(args) %}body{% endcall %}: the macro gets the body as caller().
Result<void> Interpreter::RunCallBlock(const Stmt& statement) {
  BITTERN_TRY(KeepScope());
  const Value caller(Value::Storage(
      std::static_pointer_cast<Object>(std::make_shared<Macro>(*statement.macro, scope_))));
  const Value value = BITTERN_TRY(EvaluateCall(*statement.expressions[0], &caller));
  return Print(value);
}

/// All values are evaluated in the outer scope before any name is set: `with a=1, b=a` does not see
/// the new a.
Result<void> Interpreter::RunWith(const Stmt& statement) {
  const auto values = BITTERN_TRY(EvaluateAll(statement.expressions));
  const ScopePtr outer = scope_;
  scope_ = std::make_shared<Scope>(outer);
  Result<void> assigned;
  for (std::size_t i = 0; i < values.size() && assigned.has_value(); ++i) {
    assigned = Assign(statement.targets[i], values[i]);
  }
  auto flow = assigned.has_value() ? RunBlock(statement.body)
                                   : Result<Flow>(tl::unexpected(std::move(assigned).error()));
  scope_ = outer;
  if (!flow.has_value()) return tl::unexpected(std::move(flow).error());
  return {};
}

/// Runs a macro in the scope where it was defined, not where it is called. A default may use the
/// parameters before it. Arguments beyond the parameters are errors, unless the body names varargs,
/// kwargs or caller.
Result<Value> Interpreter::CallMacro(const MacroDefinition& macro, const ScopePtr& scope,
                                     const Arguments& arguments) {
  const std::size_t count = macro.parameters.size();
  if (arguments.positional.size() > count && !macro.uses_varargs) {
    return Refuse(fmt::format("macro \"{}\" takes at most {} arguments", macro.name, count));
  }
  std::vector<std::optional<Value>> given(count);
  for (std::size_t i = 0; i < count && i < arguments.positional.size(); ++i) {
    given[i] = arguments.positional[i];
  }
  Dict extra;
  std::optional<Value> caller;
  for (const auto& [name, value] : arguments.keywords) {
    const auto parameter = std::ranges::find(macro.parameters, name, &Parameter::name);
    const auto index = static_cast<std::size_t>(parameter - macro.parameters.begin());
    if (index < count && !given[index]) {
      given[index] = value;
    } else if (index < count) {
      return Refuse(fmt::format("macro \"{}\" got \"{}\" twice", macro.name, name));
    } else if (name == "caller" && macro.uses_caller) {
      caller = value;
    } else if (macro.uses_kwargs) {
      extra.Set(Value::String(name), value);
    } else {
      return Refuse(fmt::format("macro \"{}\" takes no argument \"{}\"", macro.name, name));
    }
  }
  const ScopePtr outer = std::exchange(scope_, std::make_shared<Scope>(scope));
  const auto body = [&]() -> Result<Text> {
    for (std::size_t i = 0; i < count; ++i) {
      const Parameter& parameter = macro.parameters[i];
      Value value = Value::Missing(fmt::format("parameter '{}' was not provided", parameter.name));
      if (given[i]) {
        value = *given[i];
      } else if (parameter.default_value != nullptr) {
        value = BITTERN_TRY(Evaluate(*parameter.default_value));
      }
      scope_->Set(parameter.name, std::move(value));
    }
    if (macro.uses_caller &&
        std::ranges::find(macro.parameters, "caller", &Parameter::name) == macro.parameters.end()) {
      scope_->Set("caller", caller ? *caller : Value::Missing("No caller defined"));
    }
    if (macro.uses_kwargs) {
      auto kwargs = BITTERN_TRY(MakeDict(std::move(extra)));
      scope_->Set("kwargs", std::move(kwargs));
    }
    if (macro.uses_varargs) {
      const auto first = arguments.positional.begin() +
                         static_cast<std::ptrdiff_t>(std::min(count, arguments.positional.size()));
      auto varargs = BITTERN_TRY(
          MakeList(std::vector<Value>(first, arguments.positional.end()), ListKind::kTuple));
      scope_->Set("varargs", std::move(varargs));
    }
    return Capture(macro.body);
  };
  Result<Text> text = body();
  scope_ = outer;
  if (!text.has_value()) return tl::unexpected(std::move(text).error());
  return Value::String(*std::move(text));
}

}  // namespace bittern::jinja
