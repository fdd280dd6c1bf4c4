// SPDX-License-Identifier: Apache-2.0
// Python's two ways to fill values into a text: "{} of {name:>5}".format(...) and "%s of %5d" % x.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.hpp"
#include "jinja/builtins.hpp"
#include "jinja/python.hpp"
#include "jinja/text_tools.hpp"

namespace bittern::jinja {
namespace {

/// [[fill]align][sign][#][0][width][,][.precision][type], also made from a % conversion.
struct Spec {
  std::string fill = " ";
  char align = '\0', sign = '-', type = '\0';
  bool alternate = false, grouped = false;
  std::int64_t width = 0, precision = -1;
};

/// Larger widths and precisions count as this one.
constexpr std::int64_t kMaxWidth = 1'000'000;

/// Digits at the front of *text; -1 if none, kMaxWidth at most.
std::int64_t TakeNumber(std::string_view* text) {
  std::int64_t number = -1;
  while (!text->empty() && text->front() >= '0' && text->front() <= '9') {
    number = std::min(std::max<std::int64_t>(number, 0) * 10 + (text->front() - '0'), kMaxWidth);
    text->remove_prefix(1);
  }
  return number;
}

/// Takes `c` from the front of *text, if it is there.
bool Take(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

/// Reads what is after the colon of "{:...}". A fill may be any one character, so the alignment is
/// looked for behind it first.
Result<Spec> ParseSpec(std::string_view text) {
  Spec spec;
  constexpr std::string_view kAligns = "<>^=";
  const auto is_align = [&](std::size_t at) {
    return at < text.size() && kAligns.find(text[at]) != kAligns.npos;
  };
  const std::size_t first = text.empty() ? 0 : DecodeUtf8(text).size;
  if (is_align(first)) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (is_align(0)) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && std::string_view("+- ").find(text[0]) != std::string_view::npos) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = Take(&text, '#');
  // A zero before the width: zeros between sign and digits.
  if (Take(&text, '0') && spec.align == '\0') {
    spec.fill = '0';
    spec.align = '=';
  }
  spec.width = std::max<std::int64_t>(TakeNumber(&text), 0);
  spec.grouped = Take(&text, ',');
  if (Take(&text, '.')) {
    spec.precision = TakeNumber(&text);
    if (spec.precision < 0) return Refuse("a precision expected after '.' in a format");
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) return Refuse("invalid format specifier");
  return spec;
}

/// Commas between groups of three digits of the whole part.
std::string Grouped(std::string digits) {
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (std::size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

/// The digits of a number without its sign. Nothing for a type that does not fit.
std::optional<std::string> DigitsOf(const Value& value, const Spec& spec) {
  const int precision =
      static_cast<int>(std::min<std::int64_t>(spec.precision < 0 ? 6 : spec.precision, 400));
  const double magnitude = std::fabs(value.AsNumber().value_or(0));
  switch (spec.type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", magnitude, precision);
    case 'e':
      return fmt::format("{:.{}e}", magnitude, precision);
    case 'E':
      return fmt::format("{:.{}E}", magnitude, precision);
    case 'g':
      return fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    case 'G':
      return fmt::format("{:.{}G}", magnitude, std::max(precision, 1));
    case '%':
      return fmt::format("{:.{}f}%", magnitude * 100, precision);
    default:
      break;
  }
  const auto whole = value.AsInt();
  if (!whole) {
    if (spec.type != '\0' && spec.type != 's') return std::nullopt;
    if (spec.precision >= 0) return fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    return FloatRepr(magnitude);
  }
  const auto size =
      *whole < 0 ? 0 - static_cast<std::uint64_t>(*whole) : static_cast<std::uint64_t>(*whole);
  switch (spec.type) {
    case '\0':
    case 'd':
    case 'i':
    case 'u':
    case 'n':
      return fmt::format("{}", size);
    case 'x':
      return fmt::format("{}{:x}", spec.alternate ? "0x" : "", size);
    case 'X':
      return fmt::format("{}{:X}", spec.alternate ? "0X" : "", size);
    case 'o':
      return fmt::format("{}{:o}", spec.alternate ? "0o" : "", size);
    case 'b':
      return fmt::format("{}{:b}", spec.alternate ? "0b" : "", size);
    default:
      return std::nullopt;
  }
}

/// With '=' the padding goes between sign and digits: "-0042".
Result<Text> FormatNumber(const Value& value, const Spec& spec, Budget* budget) {
  auto digits = DigitsOf(value, spec);
  if (!digits) {
    return Refuse(fmt::format("unknown format code '{}' for '{}'", spec.type, value.TypeName()));
  }
  if (spec.grouped) digits = Grouped(*digits);
  const double number = *value.AsNumber();
  const bool negative = value.AsInt() ? *value.AsInt() < 0 : std::signbit(number);
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.align == '=') {
    Text padded =
        BITTERN_TRY(Pad(Text(*digits), spec.width - static_cast<std::int64_t>(sign.size()),
                        spec.fill, Align::kRight, budget));
    Text out(sign);
    out.Append(padded);
    return out;
  }
  const Align align = spec.align == '<'   ? Align::kLeft
                      : spec.align == '^' ? Align::kCenterLeft
                                          : Align::kRight;
  return Pad(Text(sign + *digits), spec.width, spec.fill, align, budget);
}

/// Numbers are aligned to the right, all others to the left. True and False are written as words
/// unless a type asks for the number. A precision cuts a text.
Result<Text> FormatValue(const Value& value, const Spec& spec, Budget* budget) {
  const bool is_number = value.AsNumber() && (value.As<bool>() == nullptr || spec.type != '\0');
  if (is_number && spec.type != 's') return FormatNumber(value, spec, budget);
  if (spec.type != '\0' && spec.type != 's') {
    return Refuse(fmt::format("unknown format code '{}' for '{}'", spec.type, value.TypeName()));
  }
  Text text = BITTERN_TRY(Str(value, budget));
  if (spec.precision >= 0) {
    text = text.Substr(0, ByteOfCharacter(text.bytes(), static_cast<std::size_t>(spec.precision)));
  }
  const Align align = spec.align == '>'   ? Align::kRight
                      : spec.align == '^' ? Align::kCenterLeft
                                          : Align::kLeft;
  return Pad(text, spec.width, spec.fill, align, budget);
}

/// One str.format: counts the fields without a number.
class Formatter {
 public:
  Formatter(Interpreter& interpreter, const Text& format, const Arguments& arguments)
      : interpreter_(interpreter), format_(format), arguments_(arguments) {}

  /// The text between the fields is copied, with its marks.
  Result<Text> Run();

 private:
  /// A field without its braces: "path!conversion:spec".
  Result<Text> Field(std::string_view field);
  /// The argument of a number or a name; of the next number for "".
  Result<Value> Argument(std::string_view name);
  /// The value at "0.name[key]".
  Result<Value> Lookup(std::string_view path);

  Interpreter& interpreter_;
  const Text& format_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
};

Result<Value> Formatter::Argument(std::string_view name) {
  std::string_view digits = name;
  const std::int64_t number = TakeNumber(&digits);
  if (name.empty() || (number >= 0 && digits.empty())) {
    const std::size_t index = name.empty() ? next_++ : static_cast<std::size_t>(number);
    if (index < arguments_.positional.size()) return arguments_.positional[index];
    return Refuse(fmt::format("no argument {} for the format", index));
  }
  for (const auto& [known, value] : arguments_.keywords) {
    if (known == name) return value;
  }
  return Refuse(fmt::format("no argument '{}' for the format", name));
}

Result<Value> Formatter::Lookup(std::string_view path) {
  const std::size_t end = std::min(path.find_first_of(".["), path.size());
  Value value = BITTERN_TRY(Argument(path.substr(0, end)));
  path.remove_prefix(end);
  while (!path.empty()) {
    const bool is_item = path.front() == '[';
    path.remove_prefix(1);
    const std::size_t stop =
        std::min(is_item ? path.find(']') : path.find_first_of(".["), path.size());
    const std::string_view name = path.substr(0, stop);
    std::string_view digits = name;
    const std::int64_t index = TakeNumber(&digits);
    if (!is_item) {
      value = BITTERN_TRY(interpreter_.Attribute(value, name));
    } else {
      const bool is_index = index >= 0 && digits.empty();
      value = BITTERN_TRY(interpreter_.Item(
          value, is_index ? Value::Int(index) : Value::String(std::string(name))));
    }
    if (value.IsUndefined()) return tl::unexpected(UndefinedError(value));
    path.remove_prefix(std::min(stop + (is_item ? 1 : 0), path.size()));
  }
  return value;
}

Result<Text> Formatter::Field(std::string_view field) {
  const std::size_t colon = std::min(field.find(':'), field.size());
  std::string_view path = field.substr(0, colon);
  char conversion = '\0';
  if (const std::size_t mark = path.find('!'); mark != std::string_view::npos) {
    conversion = mark + 2 == path.size() ? path[mark + 1] : '?';
    path = path.substr(0, mark);
  }
  Value value = BITTERN_TRY(Lookup(path));
  if (conversion == 'r' || conversion == 's') {
    const Text text = BITTERN_TRY(conversion == 'r' ? Repr(value, interpreter_.budget())
                                                    : Str(value, interpreter_.budget()));
    value = Value::String(text);
  } else if (conversion != '\0') {
    return Refuse("!r or !s expected in a format");
  }
  const Spec spec =
      BITTERN_TRY(ParseSpec(colon < field.size() ? field.substr(colon + 1) : std::string_view()));
  return FormatValue(value, spec, interpreter_.budget());
}

Result<Text> Formatter::Run() {
  Text out;
  const std::string_view bytes = format_.bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out.Append(format_, at, brace - at);
    at = brace;
    if (at == bytes.size()) break;
    if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {  // {{ or }}
      out.Append(format_, at, 1);
      at += 2;
      continue;
    }
    const std::size_t end = bytes.find('}', at);
    if (bytes[at] == '}' || end == std::string_view::npos) {
      return Refuse(fmt::format("single '{}' encountered in format string", bytes[at]));
    }
    const std::string_view field = bytes.substr(at + 1, end - at - 1);
    if (field.find('{') != std::string_view::npos) return Refuse("fields in fields of a format");
    const Text text = BITTERN_TRY(Field(field));
    BITTERN_TRY(interpreter_.budget()->Make(text.size()));
    out.Append(text);
    at = end + 1;
  }
  BITTERN_TRY(interpreter_.budget()->Make(out.size()));
  return out;
}

/// %c: of a code point, or of a text of one character.
Result<Value> CharacterOf(const Value& value) {
  if (const Text* text = value.AsText(); text != nullptr && CountCharacters(text->bytes()) == 1) {
    return value;
  }
  const auto code = value.As<double>() == nullptr ? value.AsInt() : std::nullopt;
  const bool known = code && *code >= 0 && *code < 0x110000 && (*code < 0xD800 || *code > 0xDFFF);
  if (!known) return Refuse("%c needs a code point or one character");
  std::string bytes;
  AppendUtf8(static_cast<char32_t>(*code), &bytes);
  return Value::String(std::move(bytes));
}

/// Flags, width and precision of a % conversion, up to its letter.
Spec TakePercentSpec(std::string_view* rest) {
  Spec spec;
  spec.align = '>';
  for (; !rest->empty() && std::string_view("-+ #0").find(rest->front()) != std::string_view::npos;
       rest->remove_prefix(1)) {
    const char flag = rest->front();
    if (flag == '-') spec.align = '<';
    if (flag == '+' || flag == ' ') spec.sign = flag;
    if (flag == '#') spec.alternate = true;
    if (flag == '0' && spec.align != '<') {
      spec.align = '=';
      spec.fill = '0';
    }
  }
  if (spec.align == '<') spec.fill = ' ';
  spec.width = std::max<std::int64_t>(TakeNumber(rest), 0);
  if (Take(rest, '.')) spec.precision = std::max<std::int64_t>(TakeNumber(rest), 0);
  return spec;
}

}  // namespace

/// str.format(*args, **kwargs). Fields inside of a field's spec are not supported.
Result<Value> FormatMethod(Interpreter& interpreter, const Value& self,
                           const Arguments& arguments) {
  Text text = BITTERN_TRY(Formatter(interpreter, *self.AsText(), arguments).Run());
  return Value::String(std::move(text));
}

/// A tuple gives its items in turn, a dictionary is for "%(name)s", anything else is the one value.
/// As in Python, values that are left over are an error.
Result<Text> PercentFormat(const Text& format, const Value& arguments, Budget* budget) {
  const List* tuple = arguments.AsList();
  if (tuple != nullptr && tuple->kind != ListKind::kTuple) tuple = nullptr;
  std::size_t next = 0;
  bool used_name = false;
  const auto argument = [&]() -> Result<Value> {
    if (tuple == nullptr && next++ == 0) return arguments;
    if (tuple != nullptr && next < tuple->items.size()) return tuple->items[next++];
    return Refuse("not enough arguments for format string");
  };
  Text out;
  std::string_view rest = format.bytes();
  while (!rest.empty()) {
    const std::size_t percent = std::min(rest.find('%'), rest.size());
    out.Append(format, format.size() - rest.size(), percent);
    rest.remove_prefix(percent);
    if (!Take(&rest, '%')) break;
    if (Take(&rest, '%')) {
      out.Append("%");
      continue;
    }
    Value value;
    if (Take(&rest, '(')) {
      const std::size_t end = rest.find(')');
      const Value* member = arguments.AsDict() == nullptr || end == std::string_view::npos
                                ? nullptr
                                : arguments.AsDict()->Find(rest.substr(0, end));
      if (member == nullptr) return Refuse("a format names a value that is not given");
      value = *member;
      used_name = true;
      rest.remove_prefix(end + 1);
    }
    Spec spec = TakePercentSpec(&rest);
    if (rest.empty()) return Refuse("incomplete format");
    spec.type = rest[0];
    rest.remove_prefix(1);
    if (!used_name) {
      value = BITTERN_TRY(argument());
    }
    if (spec.type == 'r') {
      Text shown = BITTERN_TRY(Repr(value, budget));
      value = Value::String(std::move(shown));
      spec.type = 's';
    } else if (spec.type == 'c') {
      value = BITTERN_TRY(CharacterOf(value));
      spec.type = 's';
      spec.precision = -1;
    } else if (spec.type != 's' && !value.AsNumber()) {
      return Refuse(fmt::format("%{} needs a number, '{}' found", spec.type, value.TypeName()));
    }
    // Zeros are for numbers only.
    if (spec.type == 's' && spec.align == '=') {
      spec.align = '>';
      spec.fill = ' ';
    }
    // %d cuts a fraction off, and keeps to 64 bits.
    if (std::string_view("diu").find(spec.type) != std::string_view::npos && !value.AsInt()) {
      value = Value::Int(
          static_cast<std::int64_t>(std::clamp(std::trunc(*value.AsNumber()), -9.2e18, 9.2e18)));
    }
    const Text text = BITTERN_TRY(FormatValue(value, spec, budget));
    out.Append(text);
    BITTERN_TRY(budget->Make(text.size()));
    if (out.size() > budget->limits().max_string) BITTERN_TRY(budget->Make(out.size()));
  }
  if (tuple != nullptr && next < tuple->items.size()) {
    return Refuse("not all arguments converted during string formatting");
  }
  if (tuple == nullptr && next == 0 && !used_name && arguments.AsDict() == nullptr) {
    return Refuse("not all arguments converted during string formatting");
  }
  return out;
}

}  // namespace bittern::jinja
