// SPDX-License-Identifier: Apache-2.0
// Lists whose texts must differ (`uniqueItems`). No grammar of fixed rules can say that, so the
// texts of the open lists are kept beside the automaton, and a quote that would end one of them
// again is refused. Such texts have one way of writing, and lists fewer items than there are texts;
// Matcher::Goes sees to it that a text that has begun can become a new one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bittern::grammar {

/// Reads JSON from the first list that is marked to where that list ends. Copyable.
class DistinctTexts {
 public:
  /// The next byte. `opens`: it may begin a list whose texts differ; `differs`: it stands in one of
  /// these texts. False, and nothing changed: it ends a text that its list has already.
  [[nodiscard]] bool Push(char byte, bool opens, bool differs);

  [[nodiscard]] bool in_string() const noexcept { return in_string_; }
  /// Whether the text that is being read would be in its list already if `rest` came next.
  [[nodiscard]] bool Has(std::string_view rest) const;
  /// Whether a list is open.
  [[nodiscard]] bool reading() const noexcept { return !lists_.empty(); }
  /// The endings that would make the text that is being read one that its list has already.
  [[nodiscard]] std::vector<std::string> Repetitions() const;

 private:
  std::vector<std::vector<std::string>> lists_;  // of each open bracket: its texts so far
  std::string text_;                             // of the string that is being read
  bool in_string_ = false, escaped_ = false;
};

}  // namespace bittern::grammar
