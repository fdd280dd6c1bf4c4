// SPDX-License-Identifier: Apache-2.0
// A string that remembers which of its bytes came from outside (messages, tools, documents) and
// which from the template. Only the template's own bytes may become special tokens, so the mark
// goes with every byte through concatenation, slicing, stripping and replacing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bittern::jinja {

/// UTF-8 bytes in runs of one origin. Adjacent runs differ in origin; none is empty.
class Text {
 public:
  struct Run {
    std::size_t end;  ///< offset of the first byte after the run
    bool from_input;
  };

  Text() = default;
  explicit Text(std::string bytes, bool from_input = false);

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] bool AnyFromInput() const noexcept;

  void Append(std::string_view bytes, bool from_input = false);
  void Append(const Text& other);
  /// Appends bytes [begin, begin + size) of `other`; the range is cut at its end.
  void Append(const Text& other, std::size_t begin, std::size_t size);
  [[nodiscard]] Text Substr(std::size_t begin, std::size_t size = std::string::npos) const;

  /// The same marks over other bytes, run by run: `change` maps the bytes of one run.
  template <class Change>
  [[nodiscard]] Text MapRuns(const Change& change) const {
    Text out;
    std::size_t begin = 0;
    for (const Run& run : runs_) {
      out.Append(change(std::string_view(bytes_).substr(begin, run.end - begin)), run.from_input);
      begin = run.end;
    }
    return out;
  }

 private:
  std::string bytes_;
  std::vector<Run> runs_;
};

}  // namespace bittern::jinja
