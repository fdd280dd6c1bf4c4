// SPDX-License-Identifier: Apache-2.0
// A Jinja template as transformers' apply_chat_template runs it: compiled once, rendered often,
// never trusted. docs/chat-templates.md lists what there is and what is refused.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "jinja/budget.hpp"
#include "jinja/value.hpp"

namespace bittern::jinja {

/// The names a template finds when it begins.
using Names = std::vector<std::pair<std::string, Value>>;

/// JSON as a value. Its strings are marked with `origin`. Error kInvalidArgument: an integer of
/// more than 64 bits; kUnsupported: nested too deeply.
[[nodiscard]] Result<Value> FromJson(const Json& json, Origin origin);

/// Immutable; any number of threads may render one at a time each.
class Template {
 public:
  /// Errors name the line: kCorruptFile (not Jinja), kUnsupported (include, import, extends,
  /// recursive loops; too long; nested too deeply).
  [[nodiscard]] static Result<Template> Compile(std::string_view source, const Limits& limits = {});
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// The text, each byte marked as the template's own or from a value that is from input. `now`
  /// is what strftime_now shows; local time if not given. Errors name line and construct:
  /// kInvalidArgument (raise_exception, or a failure of the template), kUnsupported (a limit).
  [[nodiscard]] Result<Text> Render(Names names, std::optional<std::tm> now = std::nullopt) const;

 private:
  struct Impl;
  explicit Template(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bittern::jinja
