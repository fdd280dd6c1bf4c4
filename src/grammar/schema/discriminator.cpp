// SPDX-License-Identifier: Apache-2.0
// Branches of a `oneOf` that one property tells apart. Each constant of the property makes a group.
// Pairs are compared within a group only. A branch without a constant is compared with all.
#include "grammar/schema/discriminator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/sort_once.hpp"

namespace bittern::grammar {
namespace {

/// Constants by the name of their property.
using Constants = std::map<std::string, std::vector<std::string>>;

/// A text that is the same for equal values and for no others; nothing for lists and objects.
std::optional<std::string> KeyOf(const Json& value) {
  if (const std::string* text = value.AsString()) return "\"" + *text;
  if (const auto number = value.AsNumber()) {
    return fmt::format("{}", *number == 0 ? 0.0 : *number);  // -0 equals 0
  }
  if (value.is_null() || value.AsBool()) return value.Dump();
  return std::nullopt;
}

std::optional<std::vector<std::string>> KeysOf(const Json& property) {
  if (property.AsObject() == nullptr || property.Find("$ref") != nullptr) return std::nullopt;
  const auto listed = ConstantsOf(property);
  if (!listed || listed->empty()) return std::nullopt;
  std::vector<std::string> keys;
  for (const Json* value : *listed) {
    auto key = KeyOf(*value);
    if (!key) return std::nullopt;
    keys.push_back(*std::move(key));
  }
  return keys;
}

/// Properties that an object must have under a branch, with what they must be; none where other
/// values than objects are valid.
Constants ConstantsIn(SchemaDocument* document, const SchemaAt& branch) {
  auto expanded = Expand(document, {branch});
  if (!expanded) return {};
  // Up to draft 7 nothing counts beside a reference.
  std::erase_if(*expanded, [](const SchemaAt& at) { return at.schema->Find("$ref") != nullptr; });
  unsigned types = kAllTypes;
  Constants found;
  std::set<std::string> required;
  for (const SchemaAt& at : *expanded) {
    types &= TypesOf(at).value_or(kAllTypes);
    if (const Json* names = at.schema->Find("required")) {
      document->Spend(names->elements().size() / SchemaDocument::kLooks);
      for (const Json& name : names->elements()) required.insert(name.text());
    }
    const Json* properties = at.schema->Find("properties");
    if (properties == nullptr || properties->AsObject() == nullptr) continue;
    if (!document->Spend(1 + properties->AsObject()->size() / SchemaDocument::kLooks)) return {};
    for (const auto& [name, schema] : *properties->AsObject()) {
      auto keys = KeysOf(schema);
      if (keys && document->Spend(1 + keys->size() / SchemaDocument::kComparisons)) {
        found.emplace(name, *std::move(keys));
      }
    }
  }
  if (types != kObjectType) return {};
  std::erase_if(found, [&](const auto& one) { return !required.contains(one.first); });
  return found;
}

}  // namespace

Discriminator::Discriminator(SchemaDocument* document, const std::vector<SchemaAt>& branches) {
  std::vector<Constants> all;
  std::map<std::string, std::size_t> counts;  // branches that each name tells apart
  for (const SchemaAt& branch : branches) {
    all.push_back(ConstantsIn(document, branch));
    for (const auto& [name, keys] : all.back()) ++counts[name];
  }
  const auto best =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  constants_.resize(branches.size());
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto found = best == counts.end() ? all[i].end() : all[i].find(best->first);
    if (found == all[i].end()) {
      others_.push_back(i);
      continue;
    }
    constants_[i] = std::move(found->second);
    for (const std::string& key : constants_[i]) branches_of_[key].push_back(i);
  }
}

std::vector<std::size_t> Discriminator::RivalsOf(std::size_t which) const {
  std::vector<std::size_t> rivals = others_;
  if (constants_[which].empty()) {
    rivals.clear();
    for (std::size_t i = 0; i < constants_.size(); ++i) rivals.push_back(i);
  }
  for (const std::string& key : constants_[which]) {
    const auto& same = branches_of_.at(key);
    rivals.insert(rivals.end(), same.begin(), same.end());
  }
  SortOnce(&rivals);
  std::erase(rivals, which);
  return rivals;
}

}  // namespace bittern::grammar
