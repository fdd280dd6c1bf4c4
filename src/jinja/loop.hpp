// SPDX-License-Identifier: Apache-2.0
// The `loop` variable, and cycler() and joiner(), which also remember where they are.
#pragma once

#include <string>
#include <vector>

#include "jinja/value.hpp"

namespace bittern::jinja {

/// `loop` inside of a for: the items and which of them it is at.
class Loop : public Object {
 public:
  explicit Loop(std::vector<Value> items);
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] const Value& item() const { return items_[at_]; }
  void MoveTo(std::size_t index) noexcept { at_ = index; }

  [[nodiscard]] std::optional<Value> Attribute(std::string_view name) const override;
  [[nodiscard]] bool IsCallable() const override { return false; }
  [[nodiscard]] std::string Name() const override;
  [[nodiscard]] int Nesting() const override { return nesting_; }

 private:
  std::vector<Value> items_;
  int nesting_;
  std::size_t at_ = 0;
  // The last arguments of loop.changed(); shared with the function that it is.
  std::shared_ptr<std::vector<Value>> last_asked_;
};

/// cycler(a, b, ...): next() gives them in turn.
[[nodiscard]] Value MakeCycler(std::vector<Value> items);
/// joiner(separator): nothing when first called, then the separator.
[[nodiscard]] Value MakeJoiner(Value separator);

}  // namespace bittern::jinja
