// SPDX-License-Identifier: Apache-2.0
// A value is a variant; members and elements are vectors, which keep their order.
#include "base/json/json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/display.hpp"

namespace bittern {
namespace {

const Json kNull;

/// Whether a list of parts stands for an object: each part is a pair that begins with a text.
bool IsPair(const Json& part) {
  const Json::Array* pair = part.AsArray();
  return pair != nullptr && pair->size() == 2 && pair->front().is_string();
}

}  // namespace

Json::Json() noexcept = default;
Json::Json(Value value) : value_(std::move(value)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json::Json(std::nullptr_t) noexcept {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(Array array) : value_(std::move(array)) {}
Json::Json(Object object) : value_(std::move(object)) {}

/// A list of pairs {"key", value} becomes an object, any other list an array. So an array of such
/// pairs needs MakeArray.
Json::Json(std::initializer_list<Part> parts) {
  if (parts.size() == 0) return;
  if (!std::ranges::all_of(parts, [](const Part& part) { return IsPair(part.value()); })) {
    Array& array = value_.emplace<Array>();
    array.reserve(parts.size());
    for (const Part& part : parts) array.push_back(part.Take());
    return;
  }
  Object& object = value_.emplace<Object>();
  object.reserve(parts.size());
  for (const Part& part : parts) {
    Array pair = std::get<Array>(part.Take().value_);
    object.push_back({std::move(std::get<std::string>(pair[0].value_)), std::move(pair[1])});
  }
}

Json Json::MakeArray(Array values) { return Json(std::move(values)); }
Json Json::MakeObject() { return Json(Object()); }

std::optional<bool> Json::AsBool() const noexcept {
  const auto* value = std::get_if<bool>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

/// Whole numbers from 0 on are held as std::uint64_t, those below 0 as std::int64_t.
std::optional<std::uint64_t> Json::AsUint() const noexcept {
  const auto* value = std::get_if<std::uint64_t>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> Json::AsInt() const noexcept {
  const auto* value = std::get_if<std::int64_t>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<double> Json::AsNumber() const noexcept {
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  if (const auto* whole = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*whole);
  if (const auto* below = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*below);
  return std::nullopt;
}

const Json::Array& Json::elements() const noexcept {
  static const Array kNone;
  const Array* array = AsArray();
  return array == nullptr ? kNone : *array;
}

const Json::Object& Json::members() const noexcept {
  static const Object kNone;
  const Object* object = AsObject();
  return object == nullptr ? kNone : *object;
}

const std::string& Json::text() const noexcept {
  static const std::string kNone;
  const std::string* text = AsString();
  return text == nullptr ? kNone : *text;
}

std::size_t Json::size() const noexcept { return elements().size() + members().size(); }

/// Looks at each member in turn: objects keep their order, and are small.
const Json* Json::Find(std::string_view key) const noexcept {
  const Object& object = members();
  const auto found = std::ranges::find(object, key, &Member::key);
  return found == object.end() ? nullptr : &found->value;
}

Json* Json::Find(std::string_view key) noexcept {
  return const_cast<Json*>(std::as_const(*this).Find(key));
}

/// The member, or null: so json["a"]["b"] needs no check on the way.
const Json& Json::operator[](std::string_view key) const noexcept {
  const Json* found = Find(key);
  return found == nullptr ? kNull : *found;
}

const Json& Json::ElementAt(std::size_t place) const noexcept {
  return place < elements().size() ? elements()[place] : kNull;
}

/// The member, which is added as null if it is missing. A value that is no object becomes one.
Json& Json::operator[](std::string_view key) {
  if (Json* found = Find(key)) return *found;
  return Append(std::string(key), Json());
}

Json& Json::push_back(Json value) {
  if (!is_array()) value_.emplace<Array>();
  return std::get<Array>(value_).emplace_back(std::move(value));
}

Json& Json::Append(std::string key, Json value) {
  if (!is_object()) value_.emplace<Object>();
  Object& object = std::get<Object>(value_);
  object.push_back({std::move(key), std::move(value)});
  return object.back().value;
}

/// Takes over the members of another object, in place of members with the same keys.
void Json::Update(Json object) {
  if (auto* members = std::get_if<Object>(&object.value_)) {
    for (Member& member : *members) (*this)[member.key] = std::move(member.value);
  }
}

void Json::Erase(std::string_view key) noexcept {
  if (auto* object = std::get_if<Object>(&value_)) {
    std::erase_if(*object, [&](const Member& member) { return member.key == key; });
  }
}

bool Json::operator==(const Json& other) const noexcept { return value_ == other.value_; }

std::string_view Json::TypeName() const noexcept {
  static constexpr std::string_view kNames[] = {"null",     "a bool",   "an integer", "an integer",
                                                "a number", "a string", "an array",   "an object"};
  return kNames[value_.index()];
}

namespace {

/// As short as it can be, but not like a whole number. Versions of {fmt} differ in "{:#}".
std::string FloatText(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string Json::Shown() const {
  if (const auto flag = AsBool()) return *flag ? "true" : "false";
  if (const auto* string = AsString()) return Quoted(*string);
  if (const auto* below = std::get_if<std::int64_t>(&value_)) return fmt::format("{}", *below);
  if (const auto* number = std::get_if<double>(&value_)) return FloatText(*number);
  if (const auto number = AsUint()) return fmt::format("{}", *number);
  if (AsArray() != nullptr && AsArray()->empty()) return "[]";
  if (AsObject() != nullptr && AsObject()->empty()) return "{}";
  return std::string(TypeName());
}

}  // namespace bittern
