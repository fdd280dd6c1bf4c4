// SPDX-License-Identifier: Apache-2.0
// Reads the members of a JSON object one by one, checks type and range, and refuses what nothing
// has read: a misspelt "temprature" must not change an answer in silence. Every error names the
// field by its path ("messages[2].content"), what was expected and what was found. A null counts as
// absent.
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

/// Not thread-safe; the object outlives it. Targets are left alone where a field is absent.
class FieldReader {
 public:
  /// Error kInvalidArgument: `object` is none. `path` is where it lies; empty for the body.
  [[nodiscard]] static Result<FieldReader> Open(const Json& object, std::string path = {});

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

  /// Fields that make no difference here.
  void Ignore(std::initializer_list<std::string_view> keys);
  /// Fields that are not supported yet, refused unless they say what happens anyway: null, false,
  /// "", [], {} or the number `neutral`.
  [[nodiscard]] Result<void> OnlyNeutral(std::initializer_list<std::string_view> keys,
                                         double neutral = 0);
  /// Error: a member that was not read.
  [[nodiscard]] Result<void> Finish() const;

 private:
  static constexpr double kAny = std::numeric_limits<float>::max();
  FieldReader(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {}

  const Json* object_;
  std::string path_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace bittern::request
