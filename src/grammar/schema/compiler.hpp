// SPDX-License-Identifier: Apache-2.0
// The reader of JSON schemas: what the files of this folder share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/automaton/automaton.hpp"
#include "grammar/automaton/grammar.hpp"
#include "grammar/notation/json_text.hpp"
#include "grammar/schema/document.hpp"
#include "grammar/schema/string_product.hpp"
#include "grammar/schema/view.hpp"

namespace bittern::grammar {

class Discriminator;

/// A schema of all values of some types; whole numbers and fractions come together, or whole ones.
[[nodiscard]] Json OfTypes(unsigned types);

/// Errors kInvalidArgument: keywords about objects that are not what they must be.
[[nodiscard]] Result<void> CheckObjectKeywords(const SchemaAt& at);

/// One document on its way into one grammar. `document` and `grammar` outlive it.
class SchemaCompiler {
 public:
  SchemaCompiler(SchemaDocument* document, Grammar& grammar)
      : document_(document), grammar_(grammar), json_(&grammar) {}

  /// The values that are valid under all of these schemas.
  [[nodiscard]] Result<ExprId> Compile(std::vector<SchemaAt> schemas);

 private:
  static constexpr int kDeepest = 120;
  static constexpr std::uint32_t kMostTimes = 2000;   // characters that are counted
  static constexpr std::uint32_t kMostCounted = 100;  // characters beside a pattern
  static constexpr std::uint32_t kMostItems = 1000;   // items that are counted

  using Schemas = std::vector<SchemaAt>;
  [[nodiscard]] Result<ExprId> CompileExpanded(Schemas all);
  [[nodiscard]] Result<ExprId> Body(const Schemas& all);
  [[nodiscard]] Result<ExprId> Values(const Schemas& all);
  [[nodiscard]] Result<ExprId> Constants(const Schemas& all, unsigned types);
  [[nodiscard]] Result<ExprId> Strings(const Schemas& all);
  [[nodiscard]] static Result<std::vector<StringRule>> StringRules(const Schemas& all);
  [[nodiscard]] Result<ExprId> StringsOfAll(const Schemas& all, std::vector<StringRule> rules,
                                            std::uint32_t least, std::uint32_t most);
  [[nodiscard]] Result<ExprId> FreeStrings(const Schemas& all, std::uint32_t least,
                                           std::uint32_t most);
  [[nodiscard]] Result<ExprId> Numbers(const Schemas& all, bool whole);

  /// Whether a listed text or number is as the schemas' other keywords say.
  [[nodiscard]] Result<bool> Fits(const Schemas& all, const Json& value);
  struct SchemaValue {
    const Json* value;
    std::string pointer;
  };
  [[nodiscard]] static std::vector<SchemaValue> Forbidden(const Schemas& all);
  /// Whether some text in each value must be another one than in the other items of its list.
  [[nodiscard]] static bool MustDiffer(const Schemas& all);
  [[nodiscard]] static SchemaAt Differing(const std::string& pointer);

  // branches.cpp
  [[nodiscard]] Result<ExprId> OneOfWays(const Schemas& all, const std::vector<Schemas>& ways);
  [[nodiscard]] Result<ExprId> Branches(Schemas all, std::size_t which, bool one,
                                        const Json& branches);
  [[nodiscard]] Result<Schemas> Excluded(const Schemas& all, const Schemas& parts,
                                         const Discriminator& discriminator, std::size_t which);
  [[nodiscard]] Result<ExprId> Condition(Schemas all, std::size_t which);
  [[nodiscard]] Result<ExprId> Dependencies(Schemas all, std::size_t which);
  [[nodiscard]] Result<ExprId> Negated(Schemas all, std::size_t which);
  [[nodiscard]] Schemas Typed(Schemas all);
  /// A schema that is not in the document. The place tells what it says, and is no place of the
  /// document's own: it begins with "!" or has a "~" that escapes nothing.
  [[nodiscard]] SchemaAt Made(std::string pointer, Json schema);
  [[nodiscard]] SchemaAt Without(const std::string& name, const std::string& pointer);

  // negation.cpp
  struct Negation {
    std::vector<Schemas> ways;  ///< what holds under one of these is not valid
    bool all = true;            ///< what is not valid holds under one of these
  };
  [[nodiscard]] SchemaAt Not(const SchemaAt& at);
  [[nodiscard]] Result<Negation> WaysOfNot(const SchemaAt& at);
  [[nodiscard]] Result<void> NotParts(const SchemaAt& at, Negation* found);
  [[nodiscard]] Result<void> NotObject(const SchemaAt& at, Negation* found);
  void NotBounds(const SchemaAt& at, Negation* found);

  // arrays.cpp
  [[nodiscard]] Result<ExprId> Arrays(const Schemas& all);
  [[nodiscard]] static Schemas ItemSchemas(const Schemas& all, std::size_t place);
  [[nodiscard]] ExprId ItemList(ExprId open, const std::vector<ExprId>& items, std::uint32_t least,
                                std::uint32_t most);
  [[nodiscard]] Result<ExprId> DistinctItems(const Schemas& all, const std::string& unique,
                                             std::size_t prefix, std::uint32_t least,
                                             std::uint32_t most);
  [[nodiscard]] ExprId SomeOf(const std::vector<std::string>& texts, std::uint32_t least,
                              std::uint32_t most);
  [[nodiscard]] Result<std::uint32_t> Count(const SchemaAt& at, const char* keyword,
                                            std::uint32_t otherwise);
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> LengthsOf(ExprId id) const;
  [[nodiscard]] ExprId WithLengths(ExprId id, std::uint64_t least, std::uint64_t most);

  // objects.cpp
  struct Property {
    std::string name;
    ExprId member;  ///< "name": value
    bool required;
  };
  [[nodiscard]] Result<ExprId> Objects(const Schemas& all);
  [[nodiscard]] ExprId Member(const std::string& name, ExprId value);
  [[nodiscard]] Result<void> MakeDiffer(const Schemas& all, std::vector<Property>* properties);
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
  [[nodiscard]] Result<ExprId> NamedMember(const Schemas& all, bool alone);
  [[nodiscard]] ExprId KeysBut(const std::vector<std::string>& names);
  [[nodiscard]] ExprId MemberList(const std::vector<Property>& properties, ExprId free_member,
                                  bool has_free, std::uint32_t least, std::uint32_t most);

  std::map<std::string, Automaton> patterns_;  // of names
  std::map<std::string, Json> made_;           // by place
  SchemaDocument* document_;
  Grammar& grammar_;
  JsonRules json_;
  std::map<std::string, RuleId> rules_;
  std::map<RuleId, Error> refused_;
  std::size_t num_exprs_ = 0;  // of grammar_, that have been counted as work
  int depth_ = 0;
};

}  // namespace bittern::grammar
