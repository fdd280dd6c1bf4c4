// SPDX-License-Identifier: Apache-2.0
// Python's rules for values: truth, equality, order, and how it writes them. Templates were written
// against Python, so its letter counts: 1.0 is written "1.0" and None "None".
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jinja/budget.hpp"
#include "jinja/value.hpp"

namespace bittern::jinja {

[[nodiscard]] bool Truth(const Value& value);
[[nodiscard]] Result<bool> Equals(const Value& a, const Value& b, Budget* budget);
/// a < b. Error kInvalidArgument for values that Python does not order.
[[nodiscard]] Result<bool> Less(const Value& a, const Value& b, Budget* budget);
/// `needle in haystack`.
[[nodiscard]] Result<bool> Contains(const Value& haystack, const Value& needle, Budget* budget);

/// str(value): what {{ value }} prints. Strings in it keep their marks.
[[nodiscard]] Result<Text> Str(const Value& value, Budget* budget);
[[nodiscard]] Result<Text> Repr(const Value& value, Budget* budget);
[[nodiscard]] std::string FloatRepr(double value);

/// The items of anything that iterates: lists, keys of a dictionary, characters of a string.
[[nodiscard]] Result<std::vector<Value>> Items(const Value& value, Budget* budget);
/// len(value). Error kInvalidArgument where there is none.
[[nodiscard]] Result<std::size_t> Length(const Value& value);
/// Sorts stably by Less; `less` may fail, then so does this.
using LessFunction = std::function<Result<bool>(const Value&, const Value&)>;
[[nodiscard]] Result<void> StableSort(std::vector<Value>* items, const LessFunction& less);

// Strings count in characters, not bytes.
[[nodiscard]] std::size_t CountCharacters(std::string_view text);
/// The byte where character `index` begins; the size where there are fewer.
[[nodiscard]] std::size_t ByteOfCharacter(std::string_view text, std::size_t index);
[[nodiscard]] bool IsSpace(char32_t c);
/// Without the characters `stripped` accepts, at either end that is asked for.
[[nodiscard]] Text Strip(const Text& text, const std::function<bool(char32_t)>& stripped,
                         bool at_front, bool at_back);

}  // namespace bittern::jinja
