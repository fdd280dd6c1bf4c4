// SPDX-License-Identifier: Apache-2.0
// Walks over values charge the budget per value: a list that holds itself twice, twenty times over,
// is small in memory and large to look at.
#include "jinja/python.hpp"

#include <algorithm>
#include <cmath>

namespace bittern::jinja {
namespace {

/// Python's TypeError.
Error Unordered(const Value& a, const Value& b) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("'<' not supported between '{}' and '{}'", a.TypeName(), b.TypeName())};
}

/// The items of a list, tuple or range, in the order in which lists are compared.
Result<bool> ListsEqual(const List& a, const List& b, Budget* budget) {
  if ((a.kind == ListKind::kTuple) != (b.kind == ListKind::kTuple)) return false;
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!BITTERN_TRY(Equals(a.items[i], b.items[i], budget))) return false;
  }
  return true;
}

/// The order of entries does not count.
Result<bool> DictsEqual(const Dict& a, const Dict& b, Budget* budget) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = nullptr;
    if (const Text* name = key.AsText()) {
      other = b.Find(name->bytes());
    } else {
      for (const auto& entry : b.entries) {
        if (BITTERN_TRY(Equals(entry.first, key, budget))) other = &entry.second;
      }
    }
    if (other == nullptr) return false;
    if (!BITTERN_TRY(Equals(value, *other, budget))) return false;
  }
  return true;
}

/// The first items that differ decide, else the lengths.
Result<bool> ListLess(const List& a, const List& b, Budget* budget) {
  for (std::size_t i = 0; i < a.items.size() && i < b.items.size(); ++i) {
    if (BITTERN_TRY(Equals(a.items[i], b.items[i], budget))) continue;
    return Less(a.items[i], b.items[i], budget);
  }
  return a.items.size() < b.items.size();
}

}  // namespace

/// A generator is true even if it gives nothing: nobody has looked yet.
bool Truth(const Value& value) {
  if (value.IsUndefined() || value.IsNone()) return false;
  if (const auto number = value.AsNumber()) return *number != 0;
  if (const Text* text = value.AsText()) return !text->empty();
  if (const List* list = value.AsList()) {
    return list->kind == ListKind::kGenerator || !list->items.empty();
  }
  if (const Dict* dict = value.AsDict()) return !dict->entries.empty();
  return true;
}

/// True equals 1 and 1 equals 1.0. A list and a tuple are never equal. Marks of texts do not count.
Result<bool> Equals(const Value& a, const Value& b, Budget* budget) {
  BITTERN_TRY(budget->Step());
  if (a.AsInt() && b.AsInt()) return *a.AsInt() == *b.AsInt();
  if (a.AsNumber() && b.AsNumber()) return *a.AsNumber() == *b.AsNumber();
  if (a.AsText() != nullptr && b.AsText() != nullptr) {
    BITTERN_TRY(budget->Step(std::min(a.AsText()->size(), b.AsText()->size()) / 64));
    return a.AsText()->bytes() == b.AsText()->bytes();
  }
  if (a.AsList() != nullptr && b.AsList() != nullptr) {
    return ListsEqual(*a.AsList(), *b.AsList(), budget);
  }
  if (a.AsDict() != nullptr && b.AsDict() != nullptr) {
    return DictsEqual(*a.AsDict(), *b.AsDict(), budget);
  }
  if (a.AsNamespace() != nullptr) return a.AsNamespace() == b.AsNamespace();
  if (a.AsObject() != nullptr) return a.AsObject() == b.AsObject();
  return (a.IsNone() && b.IsNone()) || (a.IsUndefined() && b.IsUndefined());
}

Result<bool> Less(const Value& a, const Value& b, Budget* budget) {
  BITTERN_TRY(budget->Step());
  if (a.AsInt() && b.AsInt()) return *a.AsInt() < *b.AsInt();
  if (a.AsNumber() && b.AsNumber()) return *a.AsNumber() < *b.AsNumber();
  if (a.AsText() != nullptr && b.AsText() != nullptr) {
    BITTERN_TRY(budget->Step(std::min(a.AsText()->size(), b.AsText()->size()) / 64));
    return a.AsText()->bytes() < b.AsText()->bytes();  // UTF-8 sorts as code points do
  }
  const List *x = a.AsList(), *y = b.AsList();
  if (x != nullptr && y != nullptr && x->kind == y->kind &&
      (x->kind == ListKind::kList || x->kind == ListKind::kTuple)) {
    return ListLess(*x, *y, budget);
  }
  return tl::unexpected(Unordered(a, b));
}

/// In a dictionary among its keys, in a string as a part, else among the items.
Result<bool> Contains(const Value& haystack, const Value& needle, Budget* budget) {
  if (const Text* text = haystack.AsText()) {
    if (needle.AsText() == nullptr) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("'in' a string needs a string on its left, not '{}'", needle.TypeName()));
    }
    BITTERN_TRY(budget->Step(1 + text->size() / 64));
    return text->bytes().find(needle.AsText()->bytes()) != std::string::npos;
  }
  // Keys that are no strings are looked for among the items below.
  if (const Dict* dict = haystack.AsDict()) {
    if (const Text* name = needle.AsText()) return dict->Find(name->bytes()) != nullptr;
    if (needle.AsDict() != nullptr ||
        (needle.AsList() && needle.AsList()->kind == ListKind::kList)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("a '{}' cannot be a key", needle.TypeName()));
    }
  }
  const std::vector<Value> items = BITTERN_TRY(Items(haystack, budget));
  for (const Value& item : items) {
    if (BITTERN_TRY(Equals(item, needle, budget))) return true;
  }
  return false;
}

/// A generator is empty the second time. An undefined value iterates over nothing, as in Jinja.
Result<std::vector<Value>> Items(const Value& value, Budget* budget) {
  std::vector<Value> items;
  if (const List* list = value.AsList()) {
    BITTERN_TRY(budget->Make(list->items.size() * sizeof(Value)));
    if (list->kind == ListKind::kGenerator) {
      if (std::exchange(list->consumed, true)) return items;
    }
    return list->items;
  }
  if (const Dict* dict = value.AsDict()) {
    BITTERN_TRY(budget->Make(dict->entries.size() * sizeof(Value)));
    for (const auto& [key, member] : dict->entries) items.push_back(key);
    return items;
  }
  if (const Text* text = value.AsText()) {
    BITTERN_TRY(budget->Make(text->size() * (sizeof(Value) + sizeof(Text))));
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t size = ByteOfCharacter(std::string_view(text->bytes()).substr(at), 1);
      items.push_back(Value::String(text->Substr(at, size)));
      at += size;
    }
    return items;
  }
  if (value.IsUndefined()) return items;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' object is not iterable", value.TypeName()));
}

Result<std::size_t> Length(const Value& value) {
  if (const Text* text = value.AsText()) return CountCharacters(text->bytes());
  if (const Dict* dict = value.AsDict()) return dict->entries.size();
  if (value.IsUndefined()) return std::size_t{0};
  const List* list = value.AsList();
  if (list != nullptr && list->kind != ListKind::kGenerator) return list->items.size();
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("object of type '{}' has no len()", value.TypeName()));
}

/// A merge sort from the bottom up.
Result<void> StableSort(std::vector<Value>* items, const LessFunction& less) {
  // Merges of growing runs: std::stable_sort would go on after an error, on an order that is none.
  std::vector<Value> merged(items->size());
  for (std::size_t run = 1; run < items->size(); run *= 2) {
    for (std::size_t begin = 0; begin < items->size(); begin += 2 * run) {
      const std::size_t middle = std::min(begin + run, items->size());
      const std::size_t end = std::min(begin + 2 * run, items->size());
      std::size_t left = begin, right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (left < middle && right < end) {
          take_right = BITTERN_TRY(less((*items)[right], (*items)[left]));
        }
        merged[out] = std::move((*items)[take_right ? right++ : left++]);
      }
    }
    items->swap(merged);
  }
  return {};
}

}  // namespace bittern::jinja
