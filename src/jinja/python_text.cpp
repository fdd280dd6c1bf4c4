// SPDX-License-Identifier: Apache-2.0
// How Python writes values, and its notion of characters.
#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

/// str.isprintable() of one character: repr() escapes all others.
bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

/// One character (`bytes`: its UTF-8) as repr() writes it between such quotes.
std::string EscapedCharacter(char32_t c, std::string_view bytes, char quote) {
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  if (c == U'\\' || c == static_cast<char32_t>(quote)) return '\\' + std::string(bytes);
  if (IsPrintable(c)) return std::string(bytes);
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

/// Characters of one origin, escaped for repr().
std::string EscapedRun(std::string_view bytes, char quote) {
  std::string out;
  while (!bytes.empty()) {
    const Utf8Step step = DecodeUtf8(bytes);
    out += EscapedCharacter(step.code_point, bytes.substr(0, step.size), quote);
    bytes.remove_prefix(step.size);
  }
  return out;
}

/// 'text', or "text" where it holds single quotes only. The quotes are the template's own bytes.
Text StringRepr(const Text& text) {
  const bool has_single = text.bytes().find('\'') != std::string::npos;
  const bool has_double = text.bytes().find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  Text out(std::string(1, quote));
  out.Append(text.MapRuns([&](std::string_view bytes) { return EscapedRun(bytes, quote); }));
  out.Append(std::string_view(&quote, 1));
  return out;
}

/// [a, b] or (a, b). A tuple of one has a comma: (a,).
Result<Text> ListRepr(const List& list, Budget* budget) {
  const bool is_tuple = list.kind == ListKind::kTuple;
  Text out(is_tuple ? "(" : "[");
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.Append(", ");
    const Text item = BITTERN_TRY(Repr(list.items[i], budget));
    out.Append(item);
    BITTERN_TRY(budget->Make(item.size()));
  }
  if (is_tuple && list.items.size() == 1) out.Append(",");
  out.Append(is_tuple ? ")" : "]");
  return out;
}

/// A range keeps its numbers only, so the end that is shown may be another than the template wrote.
Result<Text> AnyListRepr(const Value& value, const List& list, Budget* budget) {
  if (list.kind == ListKind::kGenerator) return Text("<generator object>");
  if (list.kind == ListKind::kRange) {
    const std::size_t size = list.items.size();
    const auto number = [&](std::size_t i) { return list.items[i].AsInt().value_or(0); };
    const std::int64_t step = size > 1 ? number(1) - number(0) : 1;
    const std::int64_t begin = size > 0 ? number(0) : 0,
                       end = size > 0 ? number(size - 1) + step : 0;
    std::string range = fmt::format("range({}, {}", begin, end);
    if (step != 1) range += fmt::format(", {}", step);
    return Text(range + ")");
  }
  Text inner = BITTERN_TRY(ListRepr(list, budget));
  if (list.kind == ListKind::kList || list.kind == ListKind::kTuple) return inner;
  // A view: dict_items([('a', 1)]).
  Text out(value.TypeName() + "(");
  out.Append(inner);
  out.Append(")");
  return out;
}

/// {'a': 1}, in the order in which the keys were added.
Result<Text> DictRepr(const Dict& dict, Budget* budget) {
  Text out("{");
  for (std::size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out.Append(", ");
    const Text key = BITTERN_TRY(Repr(dict.entries[i].first, budget));
    const Text value = BITTERN_TRY(Repr(dict.entries[i].second, budget));
    out.Append(key);
    out.Append(": ");
    out.Append(value);
    BITTERN_TRY(budget->Make(key.size() + value.size()));
  }
  out.Append("}");
  return out;
}

}  // namespace

/// The shortest digits that read back as the same number; ".0" where it would look like an integer.
std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<Text> Repr(const Value& value, Budget* budget) {
  BITTERN_TRY(budget->Step());
  if (const Text* text = value.AsText()) {
    BITTERN_TRY(budget->Make(text->size()));
    return StringRepr(*text);
  }
  if (value.IsUndefined()) return Text("Undefined");
  return Str(value, budget);
}

/// None, True and False are written as Python does. An undefined value is nothing.
Result<Text> Str(const Value& value, Budget* budget) {
  BITTERN_TRY(budget->Step());
  if (const Text* text = value.AsText()) return *text;
  if (value.IsUndefined()) return Text();
  if (value.IsNone()) return Text("None");
  if (const auto* flag = value.As<bool>()) return Text(*flag ? "True" : "False");
  if (const auto* number = value.As<std::int64_t>()) return Text(fmt::format("{}", *number));
  if (const auto* number = value.As<double>()) return Text(FloatRepr(*number));
  if (const List* list = value.AsList()) return AnyListRepr(value, *list, budget);
  if (const Dict* dict = value.AsDict()) return DictRepr(*dict, budget);
  if (Object* object = value.AsObject()) return Text(fmt::format("<{}>", object->Name()));
  const Namespace* space = value.AsNamespace();
  return Text(fmt::format("<Namespace with {} members>", space->members.size()));
}

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t ByteOfCharacter(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (at < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && index-- == 0) return at;
    ++at;
  }
  return at;
}

/// str.isspace() of one character: more than Unicode's White_Space, 28 to 31 included.
bool IsSpace(char32_t c) {
  if ((c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85) return true;
  if (c < 0x80) return false;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

Text Strip(const Text& text, const std::function<bool(char32_t)>& stripped, bool at_front,
           bool at_back) {
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0, end = bytes.size();
  while (at_front && begin < end) {
    const Utf8Step step = DecodeUtf8(bytes.substr(begin, end - begin));
    if (!stripped(step.code_point)) break;
    begin += step.size;
  }
  while (at_back && end > begin) {
    std::size_t start = end - 1;
    while (start > begin && (static_cast<unsigned char>(bytes[start]) & 0xC0) == 0x80) --start;
    if (!stripped(DecodeUtf8(bytes.substr(start, end - start)).code_point)) break;
    end = start;
  }
  return text.Substr(begin, end - begin);
}

}  // namespace bittern::jinja
