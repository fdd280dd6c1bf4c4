// SPDX-License-Identifier: Apache-2.0
// The reader of JSON schemas: what json_schema.cpp and schema_object.cpp share.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/automaton.hpp"
#include "grammar/grammar.hpp"
#include "grammar/json_text.hpp"
#include "grammar/schema_view.hpp"

namespace bittern::grammar {

/// One document on its way into one grammar. `document` and `grammar` outlive it.
class SchemaCompiler {
 public:
  SchemaCompiler(const Json& document, Grammar& grammar)
      : document_(document), grammar_(grammar), json_(&grammar) {}

  /// The values that are valid under all of these schemas.
  [[nodiscard]] Result<ExprId> Compile(std::vector<SchemaAt> schemas);

 private:
  static constexpr int kDeepest = 120;
  static constexpr std::size_t kMostRules = 20'000;
  static constexpr std::uint32_t kMostTimes = 2000;  // characters that are counted
  static constexpr std::uint32_t kMostItems = 1000;  // items that are counted

  using Schemas = std::vector<SchemaAt>;
  [[nodiscard]] Result<ExprId> CompileExpanded(Schemas all);
  [[nodiscard]] Result<ExprId> Body(const Schemas& all);
  [[nodiscard]] Result<ExprId> Branches(const Schemas& all, std::size_t which, bool one,
                                        const Json& branches);
  [[nodiscard]] Result<ExprId> Values(const Schemas& all);
  [[nodiscard]] Result<ExprId> Constants(const Schemas& all, unsigned types);
  [[nodiscard]] Result<ExprId> Strings(const Schemas& all);
  [[nodiscard]] Result<ExprId> Numbers(const Schemas& all, bool whole);
  [[nodiscard]] Result<ExprId> Arrays(const Schemas& all);
  [[nodiscard]] Result<ExprId> Item(const Schemas& all, std::size_t place);
  [[nodiscard]] ExprId ItemList(const std::vector<ExprId>& items, std::uint32_t least,
                                std::uint32_t most);
  [[nodiscard]] Result<std::uint32_t> Count(const SchemaAt& at, const char* keyword,
                                            std::uint32_t otherwise);
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> LengthsOf(ExprId id) const;
  [[nodiscard]] ExprId WithLengths(ExprId id, std::uint64_t least, std::uint64_t most);

  // schema_object.cpp
  struct Property {
    std::string name;
    ExprId member;  ///< "name": value
    bool required;
  };
  [[nodiscard]] Result<ExprId> Objects(const Schemas& all);
  [[nodiscard]] Result<std::vector<Property>> Properties(const Schemas& all);
  /// The schemas that hold for a property that is not declared by some of `all`.
  [[nodiscard]] Result<Schemas> SchemasOf(const Schemas& all, const std::string& name);
  [[nodiscard]] Result<ExprId> FreeMember(const Schemas& all,
                                          const std::vector<Property>& properties);
  /// Whether a pattern of patternProperties speaks of a name. Error: the pattern cannot be read.
  [[nodiscard]] Result<bool> Speaks(const std::string& pattern, const std::string& name,
                                    const std::string& pointer);
  /// Members whose names match a pattern; nothing where no such member is certain to be valid.
  [[nodiscard]] Result<std::optional<ExprId>> PatternMember(
      const Schemas& all, const std::vector<Property>& properties);
  [[nodiscard]] ExprId KeysBut(const std::vector<std::string>& names);
  [[nodiscard]] ExprId MemberList(const std::vector<Property>& properties, ExprId free_member,
                                  bool has_free, std::uint32_t least, std::uint32_t most);

  /// A schema under which an object has no property of this name.
  [[nodiscard]] SchemaAt Without(const std::string& name, const std::string& pointer);
  [[nodiscard]] Result<Schemas> Excluded(const Schemas& all, const Schemas& parts,
                                         std::size_t which);

  std::map<std::string, Automaton> patterns_;  // of names
  std::deque<Json> made_;                      // schemas that are not in the document
  const Json& document_;
  Grammar& grammar_;
  JsonRules json_;
  std::map<std::string, RuleId> rules_;
  int depth_ = 0;
};

}  // namespace bittern::grammar
