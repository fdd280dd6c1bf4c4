// SPDX-License-Identifier: Apache-2.0
// Lists. Items that must differ are constants, each at most once and in the schema's order, or have
// a text that differs from the others (distinct_texts.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "grammar/schema/compiler.hpp"
#include "grammar/schema/texts.hpp"

namespace bittern::grammar {
namespace {

/// A schema that says nothing; where it stands among others, it is looked for.
const Json& DifferingMark() {
  static const Json kMark(Json::Object{});
  return kMark;
}

}  // namespace

bool SchemaCompiler::MustDiffer(const Schemas& all) {
  return std::ranges::any_of(all, [](const SchemaAt& at) { return at.schema == &DifferingMark(); });
}

SchemaAt SchemaCompiler::Differing(const std::string& pointer) {
  return {&DifferingMark(), pointer + "~differs"};
}

/// Lists, by minItems, maxItems, prefixItems, items (draft 7: additionalItems) and uniqueItems.
/// `contains` is refused.
Result<ExprId> SchemaCompiler::Arrays(const Schemas& all) {
  std::uint32_t least = 0, most = kUnbounded;
  std::size_t prefix = 0;
  bool free = true;
  std::optional<std::string> unique;  // where it says so
  for (const SchemaAt& at : all) {
    if (at.schema->Find("contains") != nullptr) {
      return Refuse(at.pointer + "/contains", "this keyword cannot be obeyed");
    }
    const std::uint32_t at_least = BITTERN_TRY(Count(at, "minItems", 0));
    const std::uint32_t at_most = BITTERN_TRY(Count(at, "maxItems", kUnbounded));
    least = std::max(least, at_least);
    most = std::min(most, at_most);
    const Json* at_unique = at.schema->Find("uniqueItems");
    if (at_unique != nullptr && at_unique->AsBool() == true) unique = at.pointer + "/uniqueItems";
    for (const char* keyword : {"prefixItems", "items"}) {
      const Json* items = at.schema->Find(keyword);
      if (items == nullptr) continue;
      free = false;
      if (items->AsArray() != nullptr) prefix = std::max(prefix, items->AsArray()->size());
    }
  }
  if (least > most) return grammar_.Nothing();
  if (least > kMostItems) return Refuse(all[0].pointer + "/minItems", "it is too large");
  if (unique && most > 1) return DistinctItems(all, *unique, prefix, least, most);
  if (free && least == 0 && most == kUnbounded) return json_.Array();
  // The schemas of the item at a place; behind the prefixes all places are alike.
  std::vector<ExprId> items;
  for (std::size_t place = 0; place <= prefix; ++place) {
    Schemas together = ItemSchemas(all, place);
    const bool any = together.empty();
    ExprId item = json_.Value();
    if (!any) item = BITTERN_TRY(Compile(std::move(together)));
    items.push_back(item);
  }
  if (most != kUnbounded) most = std::min<std::uint32_t>(most, kMostItems);
  return ItemList(grammar_.Bytes("["), items, least, most);
}

/// The schemas of the item at a place.
SchemaCompiler::Schemas SchemaCompiler::ItemSchemas(const Schemas& all, std::size_t place) {
  Schemas together;
  for (const SchemaAt& at : all) {
    const Json* prefix = at.schema->Find("prefixItems");
    const Json* items = at.schema->Find("items");
    std::string name = "prefixItems", rest = "items";
    if (items != nullptr && items->AsArray() != nullptr) {  // draft 7
      prefix = items;
      items = at.schema->Find("additionalItems");
      name = "items";
      rest = "additionalItems";
    }
    const auto* list = prefix == nullptr ? nullptr : prefix->AsArray();
    if (list != nullptr && place < list->size()) {
      together.push_back({&(*list)[place], fmt::format("{}/{}/{}", at.pointer, name, place)});
    } else if (items != nullptr) {
      together.push_back({items, at.pointer + "/" + rest});
    }
  }
  return together;
}

/// [items[0], items[1], ..., the last one again and again], least to most of them.
ExprId SchemaCompiler::ItemList(ExprId open, const std::vector<ExprId>& items, std::uint32_t least,
                                std::uint32_t most) {
  Grammar& g = grammar_;
  const auto prefix = static_cast<std::uint32_t>(items.size() - 1);
  const auto part = [&](std::uint32_t place) {
    const ExprId item = items[std::min<std::size_t>(place, prefix)];
    return place == 0 ? item : g.Sequence({g.Bytes(kItemSeparator), item});
  };
  if (most == 0) return g.Bytes("[]");
  // From the back: what may follow item `place`.
  ExprId rest = g.Empty();
  const std::uint32_t fixed = std::max(prefix, 1u);  // places that are written one by one
  if (most > fixed) {
    const std::uint32_t must = least > fixed ? least - fixed : 0;
    rest = g.Repeat(part(fixed), must, most == kUnbounded ? kUnbounded : most - fixed);
  }
  for (std::uint32_t place = std::min(fixed, most); place-- > 0;) {
    rest = g.Sequence({part(place), rest});
    if (place >= least) rest = g.Optional(rest);
  }
  return g.Sequence({open, rest, g.Bytes("]")});
}

/// Each constant at most once, in order.
ExprId SchemaCompiler::SomeOf(const std::vector<std::string>& texts, std::uint32_t least,
                              std::uint32_t most) {
  Grammar& g = grammar_;
  const auto count = static_cast<std::uint32_t>(texts.size());
  most = std::min(most, count);
  // rest[k]: what may follow constant i and before, k of which have come.
  // More make no difference; one tells whether a separator comes first.
  const std::uint32_t counted = std::max(1u, most == count ? least : most);
  std::vector<ExprId> rest(std::size_t{counted} + 1, g.Nothing());
  for (std::uint32_t k = least; k <= counted; ++k) rest[k] = g.Empty();
  for (std::uint32_t i = count; i-- > 0;) {
    std::vector<ExprId> before(rest.size());
    for (std::uint32_t k = 0; k <= counted; ++k) {
      std::vector<ExprId> choices = {rest[k]};
      if (k < most) {
        const ExprId item = g.Bytes((k == 0 ? "" : std::string(kItemSeparator)) + texts[i]);
        choices.push_back(g.Sequence({item, rest[std::min(k + 1, counted)]}));
      }
      const RuleId rule = g.AddRule("some-of");
      g.Define(rule, g.Choice(std::move(choices)));
      before[k] = g.Call(rule);
    }
    rest = std::move(before);
  }
  return g.Sequence({g.Bytes("["), rest[0], g.Bytes("]")});
}

/// Lists under uniqueItems. A choice of few constants becomes a grammar of its subsets; all else
/// needs a text in each item that the matcher keeps apart (RuleMark::kDiffers). `unique` is the
/// keyword's place, for errors.
Result<ExprId> SchemaCompiler::DistinctItems(const Schemas& all, const std::string& unique,
                                             std::size_t prefix, std::uint32_t least,
                                             std::uint32_t most) {
  // Lists of lists that differ are beyond the texts that are kept.
  if (prefix > 0 || MustDiffer(all)) return Refuse(unique, "it cannot be obeyed here");
  Schemas items = ItemSchemas(all, 0);
  if (!items.empty()) {
    const ExprId item = BITTERN_TRY(Compile(items));
    if (auto texts = FewTexts(grammar_, item)) {
      std::vector<std::string> different;
      std::vector<Json> values;
      for (const std::string& text : *texts) {
        const Json value = Json::Parse(text, {.max_depth = 300}).value_or(Json());
        const auto equal = [&](const Json& other) { return EqualJson(value, other); };
        if (std::ranges::any_of(values, equal)) continue;
        values.push_back(value);
        different.push_back(text);
      }
      if (least > different.size()) return grammar_.Nothing();
      if (least * different.size() > kMostItems) return Refuse(unique, "it is too large");
      return SomeOf(different, least, most);
    }
  }
  items.push_back(Differing(unique));
  const ExprId item = BITTERN_TRY(Compile(std::move(items)));
  const std::uint64_t different = FreshTexts(grammar_, item);
  if (different == 0) {
    return Refuse(unique,
                  "only items that are constants or texts, or objects that require a text, can be "
                  "told apart");
  }
  // Fewer items than texts: there is always another one.
  if (most != kUnbounded || different < kWithoutEnd) most = std::min(most, kMostItems);
  if (different < most) most = static_cast<std::uint32_t>(different);
  if (least > most) return grammar_.Nothing();
  const ExprId open = grammar_.Marked(RuleMark::kListOpens, grammar_.Bytes("["));
  return ItemList(open, {item}, least, most);
}

}  // namespace bittern::grammar
