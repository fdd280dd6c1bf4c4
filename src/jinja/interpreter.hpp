// SPDX-License-Identifier: Apache-2.0
// Runs a parsed template. Names live in scopes as in Jinja: a loop's body, a macro and a block set
// have their own, an `if` has none; what is set inside does not leak out.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "jinja/ast.hpp"
#include "jinja/budget.hpp"
#include "jinja/value.hpp"

namespace bittern::jinja {

/// The names of one block, inside those of the block around it.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer_scope) : outer(std::move(outer_scope)) {}
  [[nodiscard]] const Value* Find(std::string_view name) const;
  void Set(std::string_view name, Value value);

  std::shared_ptr<Scope> outer;
  std::vector<std::pair<std::string, Value>> names;
};
using ScopePtr = std::shared_ptr<Scope>;

/// One rendering. Not thread-safe; the tree it runs may be shared.
class Interpreter {
 public:
  Interpreter(const Limits& limits, const std::tm& now);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter();

  /// The template's output with `names` set. Errors name line and construct: kInvalidArgument
  /// (the template refused or failed), kUnsupported (a limit).
  [[nodiscard]] Result<Text> Run(const Block& body,
                                 std::vector<std::pair<std::string, Value>> names);

  // For filters, tests, functions and methods.
  [[nodiscard]] Budget* budget() noexcept { return &budget_; }
  [[nodiscard]] const std::tm& now() const noexcept { return now_; }
  [[nodiscard]] Result<Value> Call(const Value& callee, const Arguments& arguments);
  [[nodiscard]] Result<Value> ApplyFilter(std::string_view name, const Value& input,
                                          const Arguments& arguments);
  [[nodiscard]] Result<bool> ApplyTest(std::string_view name, const Value& input,
                                       const Arguments& arguments);
  /// value.name, as the template writes it: a method first, then a member.
  [[nodiscard]] Result<Value> Attribute(const Value& value, std::string_view name);
  /// value[key]: a member first, then a method.
  [[nodiscard]] Result<Value> Item(const Value& value, const Value& key);
  [[nodiscard]] Result<Value> CallMacro(const MacroDefinition& macro, const ScopePtr& scope,
                                        const Arguments& arguments);
  [[nodiscard]] Result<Value> NewNamespace(std::vector<std::pair<std::string, Value>> members);

 private:
  /// How a block ended: at its end, or at a `break` or `continue` for the loop around.
  enum class Flow { kNext, kBreak, kContinue };

  /// Counts how deep the run is while it lives.
  class Deeper {
   public:
    explicit Deeper(int* depth) : depth_(depth) { ++*depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --*depth_; }

   private:
    int* depth_;
  };

  Result<Flow> RunBlock(const Block& block);
  Result<Flow> RunStatement(const Stmt& statement);
  Result<Flow> RunIf(const Stmt& statement);
  Result<Flow> RunFor(const Stmt& statement);
  Result<std::vector<Value>> LoopItems(const Stmt& statement);
  Result<void> RunSet(const Stmt& statement);
  Result<void> RunSetBlock(const Stmt& statement);
  Result<void> RunMacro(const Stmt& statement);
  Result<void> RunCallBlock(const Stmt& statement);
  Result<void> RunFilterBlock(const Stmt& statement);
  Result<void> RunWith(const Stmt& statement);
  /// Runs `block` in a scope of its own and returns what it printed.
  Result<Text> Capture(const Block& block);
  /// Keeps the scope that a macro is about to hold until the end.
  Result<void> KeepScope();
  Result<void> Assign(const Target& target, const Value& value);
  Result<void> Print(const Value& value);

  Result<Value> Evaluate(const Expr& expr);
  Result<Value> EvaluateHere(const Expr& expr);
  Result<Value> EvaluateName(const Expr& expr);
  Result<Value> EvaluateDict(const Expr& expr);
  Result<Value> EvaluateSlice(const Expr& expr);
  Result<Value> EvaluateCall(const Expr& expr, const Value* caller);
  Result<Value> EvaluateFilter(const Expr& expr, const Value* input);
  Result<Value> EvaluateTest(const Expr& expr);
  Result<Value> EvaluateCompare(const Expr& expr);
  Result<Value> EvaluateConcat(const Expr& expr);
  Result<Value> EvaluateLogic(const Expr& expr);
  Result<std::vector<Value>> EvaluateAll(const std::vector<ExprPtr>& exprs);
  Result<Arguments> EvaluateArguments(const CallArguments& arguments);
  [[nodiscard]] Result<Value> Method(const Value& value, std::string_view name);

  /// Puts line and construct before a message that has none yet.
  [[nodiscard]] Error Locate(int line, std::string_view construct, Error error);

  // scope_: the names at the place that runs. out_: the text that it prints to. located_: an error
  // is on its way and has its line.
  Budget budget_;
  std::tm now_;
  ScopePtr scope_;
  Text* out_ = nullptr;
  int depth_ = 0;
  bool located_ = false;
  // Macros hold their scope, which holds them; namespaces may hold each other. Kept here and
  // emptied one by one at the end, so that nothing leaks and no destructor recurses.
  std::vector<ScopePtr> kept_scopes_;
  std::vector<Value::NamespacePtr> namespaces_;
};

/// a op b for + - * / // % **. Error kInvalidArgument as Python's TypeError.
[[nodiscard]] Result<Value> BinaryOperation(std::string_view op, const Value& a, const Value& b,
                                            Budget* budget);
/// value[begin : end : step].
[[nodiscard]] Result<Value> Slice(const Value& value, const Value& begin, const Value& end,
                                  const Value& step, Budget* budget);

/// The error of using an undefined value, with its reason.
[[nodiscard]] Error UndefinedError(const Value& value);
[[nodiscard]] inline tl::unexpected<Error> Refuse(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace bittern::jinja
