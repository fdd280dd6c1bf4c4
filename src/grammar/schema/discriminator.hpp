// SPDX-License-Identifier: Apache-2.0
// Branches of a `oneOf` as people write them for records of several kinds: each requires a property
// and gives it a constant of its own ("kind": {"const": "cat"}). Such branches are told apart by
// that constant alone, without a look at every pair.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "grammar/schema/document.hpp"
#include "grammar/schema/view.hpp"

namespace bittern::grammar {

/// One thread.
class Discriminator {
 public:
  /// Looks at each branch once and takes the property that tells most of them apart.
  Discriminator(SchemaDocument* document, const std::vector<SchemaAt>& branches);

  /// The other branches that a value of `which` may be valid under for all that the property tells,
  /// ascending.
  [[nodiscard]] std::vector<std::size_t> RivalsOf(std::size_t which) const;

 private:
  std::vector<std::vector<std::string>> constants_;  // of each branch; none: it is not told apart
  std::map<std::string, std::vector<std::size_t>> branches_of_ = {};  // that allow a constant
  std::vector<std::size_t> others_ = {};                              // branches without constants
};

}  // namespace bittern::grammar
