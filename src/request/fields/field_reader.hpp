// SPDX-License-Identifier: Apache-2.0
// Reads the members of a JSON object one by one, checks type and range, and finds the members that
// nothing has read: a misspelt "temprature" must not change an answer in silence. A strict reader
// refuses them; a lenient one lists them, for the client to be told. Every error names the field by
// its path ("messages[2].content"), what was expected and what was found. A null counts as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::request {

/// Error kInvalidArgument "path: expected ..., found ...".
[[nodiscard]] tl::unexpected<Error> WrongField(std::string_view path, std::string_view expected,
                                               const Json& found);

/// The path at the front of such an error's message; empty if it has none.
[[nodiscard]] std::string FieldOfError(const Error& error);

/// Body of a request: one JSON object in UTF-8. Errors: kInvalidArgument.
[[nodiscard]] Result<Json> ParseBody(std::string_view body);

/// Paths of members that nothing has read.
using UnreadFields = std::vector<std::string>;
/// Adds a path; of a body with very many such members the first ones are kept.
void NoteUnread(UnreadFields* unread, std::string path);

/// Not thread-safe; the object outlives it. Targets are left alone where a field is absent.
class FieldReader {
 public:
  /// Error kInvalidArgument: `object` is none. `path` is where it lies; empty for the body.
  /// `unread` takes the members that nothing has read; null: they are refused.
  [[nodiscard]] static Result<FieldReader> Open(const Json& object, std::string path = {},
                                                UnreadFields* unread = nullptr);
  /// The same for an object inside of this one.
  [[nodiscard]] Result<FieldReader> Inside(const Json& object, std::string path) const {
    return Open(object, std::move(path), unread_);
  }
  [[nodiscard]] UnreadFields* unread() const noexcept { return unread_; }

  /// Null if it is absent; counts as read.
  [[nodiscard]] const Json* Take(std::string_view key);
  /// Whether it is there and not null; does not count as read.
  [[nodiscard]] bool Has(std::string_view key) const;
  [[nodiscard]] std::string PathOf(std::string_view key) const;

  [[nodiscard]] Result<void> Int(std::string_view key, std::int64_t least, std::int64_t most,
                                 int* to);
  [[nodiscard]] Result<void> Float(std::string_view key, float* to, double least = -kAny,
                                   double most = kAny);
  [[nodiscard]] Result<void> Flag(std::string_view key, bool* to);
  [[nodiscard]] Result<void> Text(std::string_view key, std::string* to);
  /// A text or a list of texts, `most` at most.
  [[nodiscard]] Result<void> Texts(std::string_view key, std::size_t most,
                                   std::vector<std::string>* to);
  /// -1 to 2^32 - 1.
  [[nodiscard]] Result<void> Seed(std::string_view key, std::uint32_t* to);

  /// Fields that ask for something that is not offered, but whose answer is right without it: a
  /// lenient reader lists them, a strict one takes them as OnlyNeutral.
  [[nodiscard]] Result<void> ReadOver(std::initializer_list<std::string_view> keys);
  /// Fields that make no difference here.
  void Ignore(std::initializer_list<std::string_view> keys);
  /// Fields that are not supported yet, refused unless they say what happens anyway: null, false,
  /// "", [], {} or the number `neutral`.
  [[nodiscard]] Result<void> OnlyNeutral(std::initializer_list<std::string_view> keys,
                                         double neutral = 0);
  /// Lists the members that were not read. Error, of a strict reader: there is one.
  [[nodiscard]] Result<void> Finish() const;

 private:
  static constexpr double kAny = std::numeric_limits<float>::max();
  FieldReader(const Json& object, std::string path, UnreadFields* unread)
      : object_(&object), path_(std::move(path)), unread_(unread) {}

  const Json* object_;
  std::string path_;
  UnreadFields* unread_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace bittern::request
