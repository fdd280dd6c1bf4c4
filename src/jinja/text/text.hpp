// SPDX-License-Identifier: Apache-2.0
// A string that remembers which of its bytes came from outside (messages, tools, documents) and
// which from the template. Only the template's own bytes may become special tokens, so the mark
// goes with every byte through concatenation, slicing, stripping and replacing. The mark says which
// message, too: where an answer begins in a rendered conversation is seen by it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bittern::jinja {

/// The source of bytes.
class Origin {
 public:
  /// The template.
  constexpr Origin() = default;
  /// Input, of no message in particular.
  [[nodiscard]] static constexpr Origin Input() { return Origin(1); }
  /// Message `index`, which is input, too.
  [[nodiscard]] static constexpr Origin Message(std::size_t index) { return Origin(2 + index); }

  [[nodiscard]] constexpr bool from_input() const noexcept { return value_ != 0; }
  /// The message's index; nothing for other bytes.
  [[nodiscard]] constexpr std::optional<std::size_t> message() const noexcept {
    return value_ < 2 ? std::nullopt : std::optional(value_ - 2);
  }
  friend constexpr bool operator==(Origin, Origin) = default;

 private:
  explicit constexpr Origin(std::size_t value) : value_(value) {}
  std::size_t value_ = 0;
};

/// UTF-8 bytes in runs of one origin. Adjacent runs differ in origin; none is empty.
class Text {
 public:
  struct Run {
    std::size_t end;  ///< offset of the first byte after the run
    Origin origin;

    [[nodiscard]] bool from_input() const noexcept { return origin.from_input(); }
  };

  Text() = default;
  explicit Text(std::string bytes, Origin origin = {});

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] bool AnyFromInput() const noexcept;

  void Append(std::string_view bytes, Origin origin = {});
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
      out.Append(change(std::string_view(bytes_).substr(begin, run.end - begin)), run.origin);
      begin = run.end;
    }
    return out;
  }

 private:
  std::string bytes_;
  std::vector<Run> runs_;
};

}  // namespace bittern::jinja
