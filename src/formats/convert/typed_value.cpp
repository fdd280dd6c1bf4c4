// SPDX-License-Identifier: Apache-2.0
// Numbers go through text -> the widest type -> a range check, never through a silent cast.
#include "formats/convert/typed_value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "formats/gguf/gguf_writer.hpp"

namespace bittern::formats {
namespace {

constexpr std::size_t kMaxShown = 200;

constexpr MetaType kScalarTypes[] = {MetaType::kU8,  MetaType::kI8,   MetaType::kU16,
                                     MetaType::kI16, MetaType::kU32,  MetaType::kI32,
                                     MetaType::kU64, MetaType::kI64,  MetaType::kF32,
                                     MetaType::kF64, MetaType::kBool, MetaType::kString};

/// The smallest and largest value of an integer type; u64 needs the unsigned maximum.
struct IntegerRange {
  std::int64_t min;
  std::uint64_t max;
};

/// nullopt for types that are no integers.
std::optional<IntegerRange> RangeOf(MetaType type) {
  const auto of = []<class T>(T) {
    return IntegerRange{std::numeric_limits<T>::min(),
                        static_cast<std::uint64_t>(std::numeric_limits<T>::max())};
  };
  switch (type) {
    case MetaType::kU8:
      return of(std::uint8_t{});
    case MetaType::kI8:
      return of(std::int8_t{});
    case MetaType::kU16:
      return of(std::uint16_t{});
    case MetaType::kI16:
      return of(std::int16_t{});
    case MetaType::kU32:
      return of(std::uint32_t{});
    case MetaType::kI32:
      return of(std::int32_t{});
    case MetaType::kU64:
      return IntegerRange{0, std::numeric_limits<std::uint64_t>::max()};
    case MetaType::kI64:
      return of(std::int64_t{});
    default:
      return std::nullopt;
  }
}

/// All of `text` as a number, or nullopt.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A signed number within a range whose ends have different types.
bool Fits(const IntegerRange& range, std::int64_t number) {
  return number < 0 ? number >= range.min : static_cast<std::uint64_t>(number) <= range.max;
}

/// An integer in the form that MetaValue keeps for `type`, or nullopt.
std::optional<MetaValue> ParseInteger(MetaType type, std::string_view text) {
  const IntegerRange range = *RangeOf(type);
  if (range.min == 0) {
    const auto number = ParseNumber<std::uint64_t>(text);
    if (!number || *number > range.max) return std::nullopt;
    return MetaValue{type, *number};
  }
  const auto number = ParseNumber<std::int64_t>(text);
  if (!number || !Fits(range, *number)) return std::nullopt;
  return MetaValue{type, *number};
}

/// A finite f32 or f64, or nullopt. An f32 is rounded here, so that the file holds what is shown.
std::optional<MetaValue> ParseFloat(MetaType type, std::string_view text) {
  const auto number = ParseNumber<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  if (type == MetaType::kF32) {
    const auto narrow = static_cast<float>(*number);
    if (!std::isfinite(narrow)) return std::nullopt;
    return MetaValue{type, double{narrow}};
  }
  return MetaValue{type, *number};
}

/// One value of any type but arrays. The draft takes the bytes of a string, as values are views.
std::optional<MetaValue> ParseScalar(MetaType type, std::string_view text, MetadataDraft* draft) {
  if (type == MetaType::kString) return MetaValue{type, draft->Own(std::string(text))};
  if (type == MetaType::kBool) {
    if (text != "true" && text != "false") return std::nullopt;
    return MetaValue{type, text == "true"};
  }
  return RangeOf(type) ? ParseInteger(type, text) : ParseFloat(type, text);
}

tl::unexpected<Error> Bad(std::string_view text, std::string_view problem) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("value {}: {}", Quoted(text, kMaxShown), problem));
}

/// An element of a JSON array as text, so that arrays and scalars obey the same rules.
std::optional<std::string> ElementText(const Json& element, MetaType type) {
  if (type == MetaType::kString) {
    return element.AsString() == nullptr ? std::nullopt : std::optional(*element.AsString());
  }
  if (const auto flag = element.AsBool()) return *flag ? "true" : "false";
  if (const auto number = element.AsUint()) return fmt::to_string(*number);
  const auto number = element.AsNumber();
  if (!number) return std::nullopt;
  // Exact below 2^53; beyond, a negative integer of JSON is not what it was.
  if (RangeOf(type) && std::trunc(*number) == *number && std::fabs(*number) < 0x1p53) {
    return fmt::to_string(static_cast<std::int64_t>(*number));
  }
  return fmt::format("{}", *number);
}

/// TYPE[]:JSON. Numbers are kept as the bytes that GGUF has, strings as views that the draft owns.
/// `whole` is the text as the user wrote it, for messages.
Result<MetaValue> ParseArray(MetaType type, std::string_view whole, std::string_view text,
                             MetadataDraft* draft) {
  auto parsed = Json::Parse(text, {});
  if (!parsed || parsed->AsArray() == nullptr) {
    return Bad(whole, "a JSON array expected after the colon");
  }
  MetaArray array{type, parsed->AsArray()->size(), {}, {}};
  std::string raw;
  std::size_t index = 0;
  for (const Json& element : *parsed->AsArray()) {
    const auto element_text = ElementText(element, type);
    const auto value = element_text ? ParseScalar(type, *element_text, draft) : std::nullopt;
    if (!value) {
      return Bad(whole,
                 fmt::format("element {}: a value of type {} expected", index, MetaTypeName(type)));
    }
    ++index;
    if (type == MetaType::kString) {
      array.strings.push_back(std::get<std::string_view>(value->value));
    } else {
      AppendGgufPayload(*value, &raw);
    }
  }
  const std::string_view owned = draft->Own(std::move(raw));
  array.raw = std::as_bytes(std::span(owned.data(), owned.size()));
  return MetaValue{MetaType::kArray, std::move(array)};
}

/// Resolves `int` and `float`: the type of the number that is there, else a common one.
MetaType TypeFor(std::string_view name, std::string_view text, const MetaValue* present) {
  const bool is_int = name == "int";
  if (present != nullptr) {
    const bool same_kind = is_int
                               ? RangeOf(present->type).has_value()
                               : present->type == MetaType::kF32 || present->type == MetaType::kF64;
    if (same_kind) return present->type;
  }
  if (!is_int) return MetaType::kF32;
  for (const MetaType type : {MetaType::kU32, MetaType::kI32, MetaType::kU64}) {
    if (ParseInteger(type, text)) return type;
  }
  return MetaType::kI64;
}

}  // namespace

/// The colon that ends the type is the first one; the value may contain more.
Result<void> SetTypedValue(std::string_view key, std::string_view text, MetadataDraft* draft) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Bad(text, "TYPE:VALUE expected");
  std::string_view name = text.substr(0, colon);
  const std::string_view value_text = text.substr(colon + 1);
  const bool is_array = name.ends_with("[]");
  if (is_array) name.remove_suffix(2);
  std::optional<MetaType> type;
  for (const MetaType candidate : kScalarTypes) {
    if (MetaTypeName(candidate) == name) type = candidate;
  }
  if (!is_array && (name == "int" || name == "float")) {
    type = TypeFor(name, value_text, draft->Find(key));
  }
  if (!type) {
    return Bad(text,
               "one of the types u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool, str, "
               "int, float, or TYPE[] expected before the colon");
  }
  if (is_array) {
    auto array = BITTERN_TRY(ParseArray(*type, text, value_text, draft));
    draft->Set(key, std::move(array));
    return {};
  }
  auto value = ParseScalar(*type, value_text, draft);
  if (!value) return Bad(text, fmt::format("a value of type {} expected", MetaTypeName(*type)));
  draft->Set(key, *std::move(value));
  return {};
}

}  // namespace bittern::formats
