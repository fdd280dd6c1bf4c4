// SPDX-License-Identifier: Apache-2.0
// Sets of Unicode code points, and the named ones that patterns speak of. Kept as sorted ranges:
// exact, small, and easy to unite, cut and complement.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace bittern::tokenizer {

/// A set of code points 0 to 0x10FFFF. A value type; not thread-safe while it is changed.
class CodePointSet {
 public:
  struct Range {
    char32_t first, last;  ///< both are in the set
    friend bool operator==(const Range&, const Range&) = default;
  };

  CodePointSet() = default;
  explicit CodePointSet(std::vector<Range> ranges);

  /// `name` as in \p{name}: a general category (Lu) or a group of them (L), or the script Han.
  /// nullopt for any other name.
  [[nodiscard]] static std::optional<CodePointSet> Property(std::string_view name);
  /// \s: the property White_Space, as the regular expression libraries behind the reference
  /// tokenizers read it: U+0085 is in, U+180E, U+200B and U+FEFF are not.
  [[nodiscard]] static CodePointSet WhiteSpace();
  /// \w: letters, marks, Nd, Nl and Pc.
  [[nodiscard]] static CodePointSet Word();

  [[nodiscard]] bool Contains(char32_t c) const noexcept;
  [[nodiscard]] CodePointSet Complement() const;
  [[nodiscard]] CodePointSet Union(const CodePointSet& other) const;
  [[nodiscard]] CodePointSet Intersection(const CodePointSet& other) const;
  /// Both cases of every ASCII letter that is in the set, and the rest as it is.
  [[nodiscard]] CodePointSet WithAsciiCases() const;

  /// Sorted, not empty, with a gap between any two.
  [[nodiscard]] const std::vector<Range>& ranges() const noexcept { return ranges_; }

  friend bool operator==(const CodePointSet&, const CodePointSet&) = default;

  static constexpr char32_t kMax = 0x10ffff;

 private:
  std::vector<Range> ranges_;
};

}  // namespace bittern::tokenizer
