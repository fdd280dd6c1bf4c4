// SPDX-License-Identifier: Apache-2.0
// Filters over lists and dictionaries. Where Jinja makes a generator, so does this: it can be
// looped over, but it has no length.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jinja/builtins.hpp"
#include "jinja/python.hpp"
#include "jinja/text/casing.hpp"

namespace bittern::jinja {
namespace {

/// "a.b.0" as the keys to look up one after another; a number alone is one key.
std::vector<Value> AttributePath(const Value& attribute) {
  if (attribute.AsText() == nullptr) return {attribute};
  std::vector<Value> path;
  std::string_view rest = attribute.AsText()->bytes();
  for (;;) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    std::int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = !part.empty() && part[0] != '-' && read.ptr == part.data() + part.size();
    path.push_back(is_index && read.ec == std::errc() ? Value::Int(index)
                                                      : Value::String(std::string(part)));
    if (dot == rest.size()) return path;
    rest.remove_prefix(dot + 1);
  }
}

/// Looks the keys of `path` up, each in what the last one gave. `otherwise` takes the place of an
/// undefined step, if it is not undefined itself.
Result<Value> Follow(Interpreter& interpreter, Value value, const std::vector<Value>& path,
                     const Value& otherwise) {
  for (const Value& key : path) {
    value = BITTERN_TRY(interpreter.Item(value, key));
    if (value.IsUndefined() && !otherwise.IsUndefined()) value = otherwise;
  }
  return value;
}

/// In lower case where it is a string and case does not count.
Value Folded(const Value& value, bool case_sensitive) {
  if (case_sensitive || value.AsText() == nullptr) return value;
  return Value::String(Lowered(*value.AsText()));
}

/// The values that items are ordered by: attributes, separated by commas, in lower case.
Result<Value> SortKey(Interpreter& interpreter, const Value& item, const Value& attribute,
                      bool case_sensitive) {
  if (attribute.IsUndefined() || attribute.IsNone()) return Folded(item, case_sensitive);
  if (attribute.AsText() == nullptr) {
    const Value part = BITTERN_TRY(interpreter.Item(item, attribute));
    return Folded(part, case_sensitive);
  }
  std::vector<Value> parts;
  std::string_view rest = attribute.AsText()->bytes();
  for (bool more = true; more;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto path = AttributePath(Value::String(std::string(rest.substr(0, comma))));
    const Value part = BITTERN_TRY(Follow(interpreter, item, path, Value()));
    parts.push_back(Folded(part, case_sensitive));
    more = comma < rest.size();
    rest.remove_prefix(more ? comma + 1 : comma);
  }
  return MakeList(std::move(parts));
}

/// Items with their keys as pairs, sorted.
Result<std::vector<Value>> SortedBy(Interpreter& interpreter, const std::vector<Value>& items,
                                    const std::vector<Value>& keys, bool reverse) {
  std::vector<Value> order;
  for (std::size_t i = 0; i < items.size(); ++i) {
    order.push_back(Value::Int(static_cast<std::int64_t>(i)));
  }
  const auto key = [&](const Value& index) -> const Value& {
    return keys[static_cast<std::size_t>(*index.AsInt())];
  };
  BITTERN_TRY(StableSort(&order, [&](const Value& a, const Value& b) {
    return reverse ? Less(key(b), key(a), interpreter.budget())
                   : Less(key(a), key(b), interpreter.budget());
  }));
  std::vector<Value> sorted;
  for (const Value& index : order)
    sorted.push_back(items[static_cast<std::size_t>(*index.AsInt())]);
  return sorted;
}

/// The sort key of each item.
Result<std::vector<Value>> KeysOf(Interpreter& interpreter, const std::vector<Value>& items,
                                  const Value& attribute, bool case_sensitive) {
  std::vector<Value> keys;
  for (const Value& item : items) {
    auto key = BITTERN_TRY(SortKey(interpreter, item, attribute, case_sensitive));
    keys.push_back(std::move(key));
  }
  return keys;
}

/// default(default_value="", boolean=false), short d: for undefined values, and with `boolean` for
/// all that are false.
Result<Value> DefaultFilter(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"default_value", "boolean"}));
  const bool replaced = input.IsUndefined() || (Truth(given[1]) && !Truth(input));
  const bool has_default = !arguments.positional.empty() || !arguments.keywords.empty();
  if (!replaced) return input;
  return has_default && !given[0].IsUndefined() ? given[0] : Value::String(Text());
}

/// length, count: an undefined value has none, so 0; a number or a generator is an error.
Result<Value> LengthFilter(Interpreter&, const Value& input, const Arguments&) {
  const std::size_t length = BITTERN_TRY(Length(input));
  return Value::Int(static_cast<std::int64_t>(length));
}

/// list: a string becomes its characters, a dictionary its keys.
Result<Value> ListFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  return MakeList(std::move(items));
}

/// first: undefined for an empty input.
Result<Value> FirstFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  return items.empty() ? Value::Missing("No first item, sequence was empty.") : items.front();
}

/// last: Python's reversed() takes no generators, so what `map` and its like give is refused.
Result<Value> LastFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  if (input.AsList() != nullptr && input.AsList()->kind == ListKind::kGenerator) {
    return Refuse("'generator' object is not reversible");
  }
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  return items.empty() ? Value::Missing("No last item, sequence was empty.") : items.back();
}

/// reverse: a string stays a string, everything else becomes a generator.
Result<Value> ReverseFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  std::ranges::reverse(items);
  if (input.AsText() == nullptr) return MakeList(std::move(items), ListKind::kGenerator);
  Text text;
  for (const Value& item : items) text.Append(*item.AsText());
  return Value::String(std::move(text));
}

/// join(d="", attribute=none): items become strings first.
Result<Value> JoinFilter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"d", "attribute"}));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const Text separator = BITTERN_TRY(Str(given[0], interpreter.budget()));
  const bool by_attribute = !given[1].IsUndefined() && !given[1].IsNone();
  const std::vector<Value> path = by_attribute ? AttributePath(given[1]) : std::vector<Value>();
  Text text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text.Append(separator);
    const Value item = BITTERN_TRY(Follow(interpreter, items[i], path, Value()));
    const Text part = BITTERN_TRY(Str(item, interpreter.budget()));
    BITTERN_TRY(interpreter.budget()->Make(part.size() + separator.size()));
    text.Append(part);
  }
  BITTERN_TRY(interpreter.budget()->Make(text.size()));
  return Value::String(std::move(text));
}

/// items: pairs of key and value; no pairs for an undefined value.
Result<Value> ItemsFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  std::vector<Value> pairs;
  if (input.IsUndefined()) return MakeList(pairs, ListKind::kGenerator);
  const Dict* dict = input.AsDict();
  if (dict == nullptr) return Refuse("Can only get item pairs from a mapping.");
  BITTERN_TRY(interpreter.budget()->Make(dict->entries.size() * 3 * sizeof(Value)));
  for (const auto& [key, value] : dict->entries) {
    auto pair = BITTERN_TRY(MakeList({key, value}, ListKind::kTuple));
    pairs.push_back(std::move(pair));
  }
  return MakeList(std::move(pairs), ListKind::kGenerator);
}

/// dictsort(case_sensitive=false, by="key", reverse=false): a list of pairs. `by` is "key" or
/// "value".
Result<Value> DictSortFilter(Interpreter& interpreter, const Value& input,
                             const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"case_sensitive", "by", "reverse"}));
  const Text by = given[1].IsUndefined() ? Text("key") : BITTERN_TRY(ToText(given[1]));
  if (by.bytes() != "key" && by.bytes() != "value") {
    return Refuse("You can only sort by either \"key\" or \"value\"");
  }
  const Dict* dict = input.AsDict();
  if (dict == nullptr) return Refuse(fmt::format("'{}' has no items", input.TypeName()));
  std::vector<Value> pairs, keys;
  for (const auto& [key, value] : dict->entries) {
    auto pair = BITTERN_TRY(MakeList({key, value}, ListKind::kTuple));
    pairs.push_back(std::move(pair));
    keys.push_back(Folded(by.bytes() == "key" ? key : value, Truth(given[0])));
  }
  auto sorted = BITTERN_TRY(SortedBy(interpreter, pairs, keys, Truth(given[2])));
  return MakeList(std::move(sorted));
}

/// sort(reverse=false, case_sensitive=false, attribute=none). `attribute` may be several with
/// commas: "age,name".
Result<Value> SortFilter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const auto keys = BITTERN_TRY(KeysOf(interpreter, items, given[2], Truth(given[1])));
  auto sorted = BITTERN_TRY(SortedBy(interpreter, items, keys, Truth(given[0])));
  return MakeList(std::move(sorted));
}

/// unique(case_sensitive=false, attribute=none): the first item of each key, in their order. Keys
/// are compared one by one, as not all values can be hashed; the budget bounds that.
Result<Value> UniqueFilter(Interpreter& interpreter, const Value& input,
                           const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"case_sensitive", "attribute"}));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const auto keys = BITTERN_TRY(KeysOf(interpreter, items, given[1], Truth(given[0])));
  std::vector<Value> kept;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool known = false;
    for (std::size_t j = 0; j < seen.size() && !known; ++j) {
      known = BITTERN_TRY(Equals(keys[seen[j]], keys[i], interpreter.budget()));
    }
    if (known) continue;
    seen.push_back(i);
    kept.push_back(items[i]);
  }
  return MakeList(std::move(kept), ListKind::kGenerator);
}

/// max and min (case_sensitive=false, attribute=none): the first of several that are equal;
/// undefined for an empty input.
template <bool kMax>
Result<Value> ExtremeFilter(Interpreter& interpreter, const Value& input,
                            const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"case_sensitive", "attribute"}));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  if (items.empty()) return Value::Missing("No aggregated item, sequence was empty.");
  const auto keys = BITTERN_TRY(KeysOf(interpreter, items, given[1], Truth(given[0])));
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const bool better = BITTERN_TRY(kMax ? Less(keys[best], keys[i], interpreter.budget())
                                         : Less(keys[i], keys[best], interpreter.budget()));
    if (better) best = i;
  }
  return items[best];
}

/// sum(attribute=none, start=0): `start` alone for an empty input.
Result<Value> SumFilter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"attribute", "start"}));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const bool by_attribute = !given[0].IsUndefined() && !given[0].IsNone();
  const std::vector<Value> path = by_attribute ? AttributePath(given[0]) : std::vector<Value>();
  Value sum = given[1].IsUndefined() ? Value::Int(0) : given[1];
  for (const Value& item : items) {
    const Value part = BITTERN_TRY(Follow(interpreter, item, path, Value()));
    sum = BITTERN_TRY(BinaryOperation("+", sum, part, interpreter.budget()));
  }
  return sum;
}

/// As Jinja does before it maps or selects: what is false, None for one, is an empty list.
Result<std::vector<Value>> ItemsIfTrue(Interpreter& interpreter, const Value& input) {
  if (!Truth(input)) return std::vector<Value>();
  return Items(input, interpreter.budget());
}

/// map(filter, *args), or without a positional argument map(attribute="a.b", default=none).
Result<Value> MapFilter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const auto items = BITTERN_TRY(ItemsIfTrue(interpreter, input));
  std::vector<Value> mapped;
  if (arguments.positional.empty()) {
    const auto given = BITTERN_TRY(Bind(arguments, {"attribute", "default"}, 1));
    const auto path = AttributePath(given[0]);
    for (const Value& item : items) {
      auto value = BITTERN_TRY(Follow(interpreter, item, path, given[1]));
      mapped.push_back(std::move(value));
    }
  } else {
    const Text name = BITTERN_TRY(ToText(arguments.positional[0]));
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin());
    for (const Value& item : items) {
      auto value = BITTERN_TRY(interpreter.ApplyFilter(name.bytes(), item, rest));
      mapped.push_back(std::move(value));
    }
  }
  return MakeList(std::move(mapped), ListKind::kGenerator);
}

/// select, reject, selectattr, rejectattr.
template <bool kByAttribute, bool kKeep>
Result<Value> SelectFilter(Interpreter& interpreter, const Value& input,
                           const Arguments& arguments) {
  const auto items = BITTERN_TRY(ItemsIfTrue(interpreter, input));
  Arguments rest = arguments;
  std::vector<Value> path;
  if constexpr (kByAttribute) {
    if (rest.positional.empty()) return Refuse("the name of an attribute is missing");
    path = AttributePath(rest.positional[0]);
    rest.positional.erase(rest.positional.begin());
  }
  std::optional<Text> test;
  if (!rest.positional.empty()) {
    test = BITTERN_TRY(ToText(rest.positional[0]));
    rest.positional.erase(rest.positional.begin());
  }
  std::vector<Value> kept;
  for (const Value& item : items) {
    const Value value = BITTERN_TRY(Follow(interpreter, item, path, Value()));
    bool holds = Truth(value);
    if (test) {
      holds = BITTERN_TRY(interpreter.ApplyTest(test->bytes(), value, rest));
    }
    if (holds == kKeep) kept.push_back(item);
  }
  return MakeList(std::move(kept), ListKind::kGenerator);
}

/// groupby(attribute, default=none, case_sensitive=false): a list of (grouper, list), sorted by
/// grouper. Within a group the items keep their order, and its first item names it.
Result<Value> GroupByFilter(Interpreter& interpreter, const Value& input,
                            const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"attribute", "default", "case_sensitive"}, 1));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const auto path = AttributePath(given[0]);
  std::vector<Value> keys, order;
  for (const Value& item : items) {
    const Value key = BITTERN_TRY(Follow(interpreter, item, path, given[1]));
    keys.push_back(Folded(key, Truth(given[2])));
    order.push_back(Value::Int(static_cast<std::int64_t>(order.size())));
  }
  const auto sorted = BITTERN_TRY(SortedBy(interpreter, order, keys, false));
  std::vector<Value> groups;
  const auto index = [&](std::size_t i) { return static_cast<std::size_t>(*sorted[i].AsInt()); };
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::vector<Value> members;
    std::size_t end = begin;
    // Sorted by key, so equal keys stand side by side.
    while (end < sorted.size()) {
      if (!BITTERN_TRY(Equals(keys[index(begin)], keys[index(end)], interpreter.budget()))) break;
      members.push_back(items[index(end++)]);
    }
    const Value key = BITTERN_TRY(Follow(interpreter, items[index(begin)], path, given[1]));
    const Value list = BITTERN_TRY(MakeList(std::move(members)));
    const Value pair = BITTERN_TRY(MakeList({key, list}, ListKind::kTuple));
    // A named tuple: group.grouper and group.list are its items.
    List group = *pair.AsList();
    group.names = {"grouper", "list"};
    groups.emplace_back(Value::Storage(std::make_shared<const List>(std::move(group))));
    begin = end;
  }
  return MakeList(std::move(groups));
}

/// batch(linecount, fill_with=none): rows of `linecount` items; the last one is filled up only if
/// there is something to fill with.
Result<Value> BatchFilter(Interpreter& interpreter, const Value& input,
                          const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"linecount", "fill_with"}, 1));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const std::int64_t count = BITTERN_TRY(ToInt(given[0], 0));
  if (count < 1) return Refuse("batches of one or more expected");
  std::vector<Value> batches, batch;
  for (std::size_t i = 0; i < items.size(); ++i) {
    batch.push_back(items[i]);
    const bool full = static_cast<std::int64_t>(batch.size()) == count;
    if (!full && i + 1 < items.size()) continue;
    const bool fills = !given[1].IsUndefined() && !given[1].IsNone();
    while (fills && static_cast<std::int64_t>(batch.size()) < count) {
      BITTERN_TRY(interpreter.budget()->Make(sizeof(Value)));
      batch.push_back(given[1]);
    }
    auto list = BITTERN_TRY(MakeList(std::exchange(batch, {})));
    batches.push_back(std::move(list));
  }
  return MakeList(std::move(batches), ListKind::kGenerator);
}

/// slice(slices, fill_with=none): so many columns. The first ones are one item longer where the
/// items do not divide evenly; the others may be filled up by one.
Result<Value> SliceFilter(Interpreter& interpreter, const Value& input,
                          const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"slices", "fill_with"}, 1));
  const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
  const std::int64_t wanted = BITTERN_TRY(ToInt(given[0], 0));
  if (wanted < 1) return Refuse("one or more slices expected");
  const auto count = static_cast<std::size_t>(wanted);
  BITTERN_TRY(interpreter.budget()->Make(std::min(count, SIZE_MAX / 256) * 64));
  std::vector<Value> slices;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = items.size() / count + (i < items.size() % count ? 1 : 0);
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Value> slice(begin, begin + static_cast<std::ptrdiff_t>(size));
    at += size;
    const bool fills = !given[1].IsUndefined() && !given[1].IsNone();
    if (fills && i >= items.size() % count && items.size() % count != 0) slice.push_back(given[1]);
    auto list = BITTERN_TRY(MakeList(std::move(slice)));
    slices.push_back(std::move(list));
  }
  return MakeList(std::move(slices), ListKind::kGenerator);
}

/// attr(name): an attribute, never a member of a dictionary (`foo.bar` would find both).
Result<Value> AttrFilter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"name"}, 1));
  const Text name = BITTERN_TRY(ToText(given[0]));
  if (input.AsDict() != nullptr && FindDictMethod(name.bytes()) == nullptr) {
    return Value::Missing(fmt::format("'dict object' has no attribute '{}'", name.bytes()));
  }
  return interpreter.Attribute(input, name.bytes());
}

/// Filters by name, aliases included.
constexpr NamedFunction<Filter> kListFilters[] = {
    {"attr", AttrFilter},
    {"batch", BatchFilter},
    {"count", LengthFilter},
    {"d", DefaultFilter},
    {"default", DefaultFilter},
    {"dictsort", DictSortFilter},
    {"first", FirstFilter},
    {"groupby", GroupByFilter},
    {"items", ItemsFilter},
    {"join", JoinFilter},
    {"last", LastFilter},
    {"length", LengthFilter},
    {"list", ListFilter},
    {"map", MapFilter},
    {"max", ExtremeFilter<true>},
    {"min", ExtremeFilter<false>},
    {"reject", SelectFilter<false, false>},
    {"rejectattr", SelectFilter<true, false>},
    {"reverse", ReverseFilter},
    {"select", SelectFilter<false, true>},
    {"selectattr", SelectFilter<true, true>},
    {"slice", SliceFilter},
    {"sort", SortFilter},
    {"sum", SumFilter},
    {"unique", UniqueFilter},
};

}  // namespace

Filter FindListFilter(std::string_view name) {
  const auto found = std::ranges::find(kListFilters, name, &NamedFunction<Filter>::name);
  return found == std::end(kListFilters) ? nullptr : found->function;
}

}  // namespace bittern::jinja
