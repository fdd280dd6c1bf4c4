// SPDX-License-Identifier: Apache-2.0
// Nesting is counted as lists are made, so that walks over them (and their destruction) cannot
// overflow the stack.
#include "jinja/value.hpp"

#include <algorithm>
#include <cmath>

#include "jinja/budget.hpp"

namespace bittern::jinja {
namespace {

/// Whether two keys that are no strings are the same one. Tuples are compared one level deep.
bool SameKey(const Value& a, const Value& b) {
  if (a.AsNumber() && b.AsNumber()) return *a.AsNumber() == *b.AsNumber();
  if (a.AsText() && b.AsText()) return a.AsText()->bytes() == b.AsText()->bytes();
  if (a.AsList() && b.AsList()) {
    return std::ranges::equal(
        a.AsList()->items, b.AsList()->items,
        [](const auto& x, const auto& y) { return x.AsList() == nullptr && SameKey(x, y); });
  }
  return a.IsNone() && b.IsNone();
}

/// The nesting of something that holds values of nesting `inner`.
Result<int> NestingAbove(int inner) {
  if (inner < kMaxNesting) return inner + 1;
  return Fail(ErrorCode::kUnsupported, fmt::format("lists nested deeper than {}", kMaxNesting));
}

}  // namespace

Value Value::Missing(std::string why) {
  return Value(Storage(Undefined{std::make_shared<const std::string>(std::move(why))}));
}

Value Value::String(Text text) {
  return Value(Storage(std::make_shared<const Text>(std::move(text))));
}

Value Value::String(std::string bytes, Origin origin) {
  return String(Text(std::move(bytes), origin));
}

const Text* Value::AsText() const noexcept {
  const auto* pointer = As<TextPtr>();
  return pointer == nullptr ? nullptr : pointer->get();
}

const List* Value::AsList() const noexcept {
  const auto* pointer = As<ListPtr>();
  return pointer == nullptr ? nullptr : pointer->get();
}

const Dict* Value::AsDict() const noexcept {
  const auto* pointer = As<DictPtr>();
  return pointer == nullptr ? nullptr : pointer->get();
}

Namespace* Value::AsNamespace() const noexcept {
  const auto* pointer = As<NamespacePtr>();
  return pointer == nullptr ? nullptr : pointer->get();
}

Object* Value::AsObject() const noexcept {
  const auto* pointer = As<ObjectPtr>();
  return pointer == nullptr ? nullptr : pointer->get();
}

std::optional<std::int64_t> Value::AsInt() const noexcept {
  if (const auto* flag = As<bool>()) return *flag ? 1 : 0;
  const auto* number = As<std::int64_t>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<double> Value::AsNumber() const noexcept {
  if (const auto whole = AsInt()) return static_cast<double>(*whole);
  const auto* number = As<double>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

int Value::Nesting() const noexcept {
  if (const List* list = AsList()) return list->nesting;
  if (const Dict* dict = AsDict()) return dict->nesting;
  if (const Object* object = AsObject()) return object->Nesting();
  return 0;
}

/// The two tables stand in the order of ListKind and of Storage.
std::string Value::TypeName() const {
  if (const List* list = AsList()) {
    constexpr const char* kNames[] = {"list",       "tuple",     "range",      "generator",
                                      "dict_items", "dict_keys", "dict_values"};
    return kNames[static_cast<int>(list->kind)];
  }
  constexpr const char* kNames[] = {"Undefined", "NoneType", "bool", "int",       "float",
                                    "str",       "list",     "dict", "Namespace", "function"};
  return kNames[storage_.index()];
}

const Value* Dict::Find(std::string_view key) const {
  const auto found = by_name.find(std::string(key));
  return found == by_name.end() ? nullptr : &entries[found->second].second;
}

/// String keys are found by name. Others are few, and compared one by one.
void Dict::Set(Value key, Value value) {
  if (const Text* name = key.AsText()) {
    const auto [place, added] = by_name.try_emplace(name->bytes(), entries.size());
    if (!added) {
      entries[place->second].second = std::move(value);
      return;
    }
  } else {
    const auto same = std::ranges::find_if(
        entries, [&](const Entry& entry) { return SameKey(entry.first, key); });
    if (same != entries.end()) {
      same->second = std::move(value);
      return;
    }
  }
  entries.emplace_back(std::move(key), std::move(value));
}

std::optional<Value> Object::Attribute(std::string_view) const { return std::nullopt; }

Result<Value> Object::Call(Interpreter&, const Arguments&) {
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is not callable", Name()));
}

Result<Value> MakeList(std::vector<Value> items, ListKind kind) {
  int inner = 0;
  for (const Value& item : items) inner = std::max(inner, item.Nesting());
  const int nesting = BITTERN_TRY(NestingAbove(inner));
  return Value(Value::Storage(std::make_shared<const List>(
      List{.kind = kind, .items = std::move(items), .nesting = nesting})));
}

/// Keys count as well: a tuple as a key may be nested.
Result<Value> MakeDict(Dict dict) {
  int inner = 0;
  for (const auto& [key, value] : dict.entries) {
    inner = std::max({inner, key.Nesting(), value.Nesting()});
  }
  dict.nesting = BITTERN_TRY(NestingAbove(inner));
  return Value(Value::Storage(std::make_shared<const Dict>(std::move(dict))));
}

}  // namespace bittern::jinja
