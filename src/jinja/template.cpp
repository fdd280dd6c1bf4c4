// SPDX-License-Identifier: Apache-2.0
// The parser and the interpreter behind one small interface.
#include "jinja/template.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/calendar.hpp"
#include "jinja/interpreter.hpp"
#include "jinja/parser.hpp"

namespace bittern::jinja {

/// The parsed template. Renderings only read it.
struct Template::Impl {
  Block body;
  Limits limits;
};

namespace {

std::tm LocalNow() { return LocalTime(std::time(nullptr)).value_or(std::tm{}); }

/// A number without fraction and exponent is an integer, all others are floats.
Result<Value> NumberFromJson(const Json& json) {
  if (const auto whole = json.AsUint()) {
    if (*whole <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Value::Int(static_cast<std::int64_t>(*whole));
    }
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("integers of at most 64 bits with sign expected, {} found", *whole));
  }
  if (const auto whole = json.AsInt()) return Value::Int(*whole);
  return Value::Float(json.AsNumber().value_or(0));
}

}  // namespace

Result<Value> FromJson(const Json& json, Origin origin) {
  if (json.is_null()) return Value::Null();
  if (const auto flag = json.AsBool()) return Value::Bool(*flag);
  if (const std::string* text = json.AsString()) return Value::String(*text, origin);
  if (const Json::Array* array = json.AsArray()) {
    std::vector<Value> items;
    for (const Json& each : *array) {
      auto item = BITTERN_TRY(FromJson(each, origin));
      items.push_back(std::move(item));
    }
    return MakeList(std::move(items));
  }
  if (const Json::Object* object = json.AsObject()) {
    Dict dict;
    for (const Json::Member& member : *object) {
      auto value = BITTERN_TRY(FromJson(member.value, origin));
      dict.Set(Value::String(member.key, origin), std::move(value));
    }
    return MakeDict(std::move(dict));
  }
  return NumberFromJson(json);
}

Template::Template(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::Compile(std::string_view source, const Limits& limits) {
  if (source.size() > limits.max_template) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("a template of at most {} bytes expected, {} found",
                            limits.max_template, source.size()));
  }
  Block body = BITTERN_TRY(Parse(source));
  return Template(std::make_unique<const Impl>(Impl{std::move(body), limits}));
}

/// Each rendering has an interpreter of its own, so a template keeps nothing between two of them.
Result<Text> Template::Render(Names names, std::optional<std::tm> now) const {
  Interpreter interpreter(impl_->limits, now ? *now : LocalNow());
  return interpreter.Run(impl_->body, std::move(names));
}

}  // namespace bittern::jinja
