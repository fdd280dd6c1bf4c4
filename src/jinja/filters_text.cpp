// SPDX-License-Identifier: Apache-2.0
// Filters that make text or numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/percent.hpp"
#include "base/utf8.hpp"
#include "jinja/builtins.hpp"
#include "jinja/python.hpp"
#include "jinja/text/casing.hpp"
#include "jinja/text_tools.hpp"

namespace bittern::jinja {
namespace {

/// tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false), as transformers has
/// it, not Jinja. With an indent the item separator loses its blank, as json.dumps does.
Result<Value> ToJsonFilter(Interpreter& interpreter, const Value& input,
                           const Arguments& arguments) {
  const auto given =
      BITTERN_TRY(Bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = Truth(given[0]);
  style.sort_keys = Truth(given[3]);
  if (!given[1].IsUndefined() && !given[1].IsNone()) {
    if (const Text* text = given[1].AsText()) {
      style.indent = text->bytes();
    } else {
      const std::int64_t width = BITTERN_TRY(ToInt(given[1], 0));
      if (width > 1000) return Refuse("an indent of more than 1000");
      style.indent = std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
    style.item_separator = ',';
  }
  if (!given[2].IsUndefined() && !given[2].IsNone()) {
    const auto separators = BITTERN_TRY(Items(given[2], interpreter.budget()));
    if (separators.size() != 2) return Refuse("two separators expected");
    const Text item = BITTERN_TRY(ToText(separators[0]));
    const Text key = BITTERN_TRY(ToText(separators[1]));
    style.item_separator = item.bytes();
    style.key_separator = key.bytes();
  }
  Text text = BITTERN_TRY(ToJson(input, style, interpreter.budget()));
  return Value::String(std::move(text));
}

/// The input as text, charged for.
Result<Text> Soft(Interpreter& interpreter, const Value& input) {
  Text text = BITTERN_TRY(Str(input, interpreter.budget()));
  BITTERN_TRY(interpreter.budget()->Make(text.size()));
  return text;
}

/// A filter without arguments that changes a string without looking beyond a run of one origin.
template <std::string (*kChange)(std::string_view)>
Result<Value> MapText(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  Text changed = text.MapRuns(kChange);
  BITTERN_TRY(interpreter.budget()->Make(changed.size()));  // letters may become several
  return Value::String(std::move(changed));
}

/// lower: a sigma at the end of a word has a form of its own.
Result<Value> LowerFilter(Interpreter& interpreter, const Value& input,
                          const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  return Value::String(Lowered(text));
}

/// capitalize: the first character large, all others small.
Result<Value> CapitalizeFilter(Interpreter& interpreter, const Value& input,
                               const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  return Value::String(Capitalized(text));
}

/// title: Jinja's words begin after white space and any of "-({[<", so "it's" stays one word
/// (Python's str.title() gives "It'S").
Result<Value> TitleFilter(Interpreter& interpreter, const Value& input,
                          const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  Text out;
  constexpr std::string_view kBreaks = "-({[<";
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    const auto is_break = [&](std::size_t i) {
      const Utf8Step step = DecodeUtf8(std::string_view(text.bytes()).substr(i));
      return std::pair(IsSpace(step.code_point) || kBreaks.find(text.bytes()[i]) != kBreaks.npos,
                       step.size);
    };
    while (end < text.size() && is_break(end).first) end += is_break(end).second;
    out.Append(text, at, end - at);
    at = end;
    while (end < text.size() && !is_break(end).first) end += is_break(end).second;
    const Text word = text.Substr(at, end - at);
    const std::size_t first = ByteOfCharacter(word.bytes(), 1);
    out.Append(word.Substr(0, first).MapRuns(Upper));
    out.Append(Lowered(word.Substr(first)));
    at = end;
  }
  return Value::String(std::move(out));
}

/// trim(chars=none): white space where no characters are given.
Result<Value> TrimFilter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"chars"}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  const auto stripped = BITTERN_TRY(StrippedCharacters(given[0]));
  return Value::String(Strip(text, stripped, true, true));
}

/// replace(old, new, count=none): all of them without `count`.
Result<Value> ReplaceFilter(Interpreter& interpreter, const Value& input,
                            const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"old", "new", "count"}, 2));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  const Text old_text = BITTERN_TRY(Soft(interpreter, given[0]));
  const Text new_text = BITTERN_TRY(Soft(interpreter, given[1]));
  const std::int64_t count = BITTERN_TRY(ToInt(given[2], -1));
  Text replaced = BITTERN_TRY(Replace(text, old_text, new_text, count, interpreter.budget()));
  return Value::String(std::move(replaced));
}

/// indent(width=4, first=false, blank=false): all lines but the first, and no empty ones, unless
/// asked for. `width` may be a string. The line end that is added makes an empty last line count.
Result<Value> IndentFilter(Interpreter& interpreter, const Value& input,
                           const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"width", "first", "blank"}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  Text indention;
  if (given[0].AsText() != nullptr) {
    indention = *given[0].AsText();
  } else {
    const std::int64_t width = BITTERN_TRY(ToInt(given[0], 4));
    if (width > 10000) return Refuse("an indent of more than 10000");
    indention = Text(std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' '));
  }
  const bool first = Truth(given[1]), blank = Truth(given[2]);
  Text with_end = text;
  with_end.Append("\n");
  const std::vector<Text> lines = SplitLines(with_end, false);
  BITTERN_TRY(interpreter.budget()->Make(text.size() + lines.size() * (indention.size() + 64)));
  Text out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.Append("\n");
    if (i == 0 ? first : (blank || !lines[i].empty())) out.Append(indention);
    out.Append(lines[i]);
  }
  return Value::String(std::move(out));
}

Result<Value> StringFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  Text text = BITTERN_TRY(Soft(interpreter, input));
  return Value::String(std::move(text));
}

/// Jinja's Markup is not modelled: safe changes nothing, escape gives a plain string.
Result<Value> SafeFilter(Interpreter&, const Value& input, const Arguments&) { return input; }

/// The five characters that Markup escapes, with its spellings.
std::string EscapedHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    constexpr std::string_view kQuoted = "&<>'\"";
    constexpr const char* kNames[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const std::size_t at = kQuoted.find(c);
    out += at == kQuoted.npos ? std::string(1, c) : kNames[at];
  }
  return out;
}

/// As urllib's quote, or in a query as quote_plus: a slash is coded there, a blank is "+".
template <bool kInQuery>
std::string UrlEncoded(std::string_view text) {
  if (!kInQuery) return PercentEncoded(text, "-._~/");
  std::string coded = PercentEncoded(text, "-._~ ");
  std::ranges::replace(coded, ' ', '+');
  return coded;
}

/// A text, or the pairs of a dictionary or list as a query.
Result<Value> UrlEncodeFilter(Interpreter& interpreter, const Value& input,
                              const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  const Dict* dict = input.AsDict();
  if (input.AsText() != nullptr || (dict == nullptr && input.AsList() == nullptr)) {
    const Text text = BITTERN_TRY(Soft(interpreter, input));
    BITTERN_TRY(interpreter.budget()->Make(3 * text.size()));
    return Value::String(text.MapRuns(UrlEncoded<false>));
  }
  std::vector<std::vector<Value>> pairs;
  if (dict != nullptr) {
    for (const auto& [key, value] : dict->entries) pairs.push_back({key, value});
  } else {
    const auto items = BITTERN_TRY(Items(input, interpreter.budget()));
    for (const Value& item : items) {
      pairs.push_back(BITTERN_TRY(Items(item, interpreter.budget())));
      if (pairs.back().size() != 2) return Refuse("urlencode: pairs of key and value expected");
    }
  }
  Text out;
  for (const std::vector<Value>& pair : pairs) {
    const Text key = BITTERN_TRY(Soft(interpreter, pair[0]));
    const Text value = BITTERN_TRY(Soft(interpreter, pair[1]));
    BITTERN_TRY(interpreter.budget()->Make(3 * (key.size() + value.size()) + 2));
    if (!out.empty()) out.Append("&");
    out.Append(key.MapRuns(UrlEncoded<true>));
    out.Append("=");
    out.Append(value.MapRuns(UrlEncoded<true>));
  }
  BITTERN_TRY(interpreter.budget()->Make(out.size()));
  return Value::String(std::move(out));
}

/// format(*args, **kwargs): `"%s of %(b)s"|format(...)`, with either kind of argument.
Result<Value> FormatFilter(Interpreter& interpreter, const Value& input,
                           const Arguments& arguments) {
  const Text format = BITTERN_TRY(Soft(interpreter, input));
  Value given;
  if (!arguments.keywords.empty()) {
    Dict dict;
    for (const auto& [name, value] : arguments.keywords) dict.Set(Value::String(name), value);
    given = BITTERN_TRY(MakeDict(std::move(dict)));
  } else {
    given = BITTERN_TRY(MakeList(arguments.positional, ListKind::kTuple));
  }
  Text text = BITTERN_TRY(PercentFormat(format, given, interpreter.budget()));
  return Value::String(std::move(text));
}

/// center(width=80), in characters.
Result<Value> CenterFilter(Interpreter& interpreter, const Value& input,
                           const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"width"}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  const std::int64_t width = BITTERN_TRY(ToInt(given[0], 80));
  Text padded = BITTERN_TRY(Pad(text, width, " ", Align::kCenter, interpreter.budget()));
  return Value::String(std::move(padded));
}

/// truncate(length=255, killwords=false, end="...", leeway=5): a text up to `leeway` longer than
/// `length` stays whole. The end counts as part of the length.
Result<Value> TruncateFilter(Interpreter& interpreter, const Value& input,
                             const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"length", "killwords", "end", "leeway"}));
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  const std::int64_t length = BITTERN_TRY(ToInt(given[0], 255));
  const std::int64_t leeway = BITTERN_TRY(ToInt(given[3], 5));
  const Text end = given[2].IsUndefined() ? Text("...") : BITTERN_TRY(ToText(given[2]));
  const auto end_size = static_cast<std::int64_t>(CountCharacters(end.bytes()));
  if (length < end_size || leeway < 0) return Refuse("a length of at least the end's expected");
  if (static_cast<std::int64_t>(CountCharacters(text.bytes())) - leeway <= length) {
    return Value::String(text);
  }
  Text cut =
      text.Substr(0, ByteOfCharacter(text.bytes(), static_cast<std::size_t>(length - end_size)));
  if (!Truth(given[1])) {
    const std::size_t space = cut.bytes().rfind(' ');
    if (space != std::string::npos) cut = cut.Substr(0, space);
  }
  cut.Append(end);
  return Value::String(std::move(cut));
}

/// wordcount: Jinja counts what its \w+ finds.
Result<Value> WordCountFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  const Text text = BITTERN_TRY(Soft(interpreter, input));
  // Words are runs of letters, digits and underlines; beyond ASCII all but white space counts.
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = DecodeUtf8(std::string_view(text.bytes()).substr(at));
    const char32_t c = step.code_point;
    const bool is_word = c >= 0x80 ? !IsSpace(c)
                                   : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                         (c >= 'A' && c <= 'Z') || c == '_';
    if (is_word && !inside) ++words;
    inside = is_word;
    at += step.size;
  }
  return Value::Int(words);
}

/// int(default=0, base=10): "3.7" gives 3. The default is for texts that are no number, too.
Result<Value> IntFilter(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"default", "base"}));
  if (input.IsUndefined()) return tl::unexpected(UndefinedError(input));
  const Value otherwise = given[0].IsUndefined() ? Value::Int(0) : given[0];
  if (const auto whole = input.AsInt()) return Value::Int(*whole);
  std::optional<double> number = input.AsNumber();
  if (const Text* text = input.AsText()) {
    const std::int64_t base = BITTERN_TRY(ToInt(given[1], 10));
    if (const auto whole = ParseInt(text->bytes(), static_cast<int>(base))) {
      return Value::Int(*whole);
    }
    number = ParseFloat(text->bytes());
  }
  if (!number || !std::isfinite(*number)) return otherwise;
  if (std::fabs(*number) >= 9.2e18) return Refuse("an integer of more than 64 bits");
  return Value::Int(static_cast<std::int64_t>(*number));
}

/// float(default=0.0).
Result<Value> FloatFilter(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"default"}));
  if (input.IsUndefined()) return tl::unexpected(UndefinedError(input));
  std::optional<double> number = input.AsNumber();
  if (const Text* text = input.AsText()) number = ParseFloat(text->bytes());
  if (number) return Value::Float(*number);
  return given[0].IsUndefined() ? Value::Float(0) : given[0];
}

/// abs. The smallest integer of 64 bits has no opposite, so it is an error.
Result<Value> AbsFilter(Interpreter& interpreter, const Value& input, const Arguments&) {
  if (input.IsUndefined()) return tl::unexpected(UndefinedError(input));
  if (const auto whole = input.AsInt()) {
    return *whole < 0 ? BinaryOperation("-", Value::Int(0), input, interpreter.budget())
                      : Result<Value>(Value::Int(*whole));
  }
  if (const auto number = input.AsNumber()) return Value::Float(std::fabs(*number));
  return Refuse(fmt::format("bad operand type for abs(): '{}'", input.TypeName()));
}

/// A whole number rounded half to even at a place before its end, as Python does. Nothing where it
/// does not fit 64 bits.
std::optional<std::int64_t> RoundWhole(std::int64_t number, std::int64_t places) {
  if (places > 19) return 0;
  __extension__ using Wide = __int128;  // 10 to the 19th has 64 bits
  Wide unit = 1;
  for (; places > 0; --places) unit *= 10;
  const Wide rest = (number % unit + unit) % unit, floor = number - rest;
  const bool odd = (floor / unit) % 2 != 0;
  const Wide rounded = floor + (2 * rest > unit || (2 * rest == unit && odd) ? unit : 0);
  const auto narrow = static_cast<std::int64_t>(rounded);
  return narrow == rounded ? std::optional(narrow) : std::nullopt;
}

/// round(precision=0, method="common"): "common" is Python's round(), half to even; "ceil" and
/// "floor" always give a float.
Result<Value> RoundFilter(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"precision", "method"}));
  const std::int64_t precision = BITTERN_TRY(ToInt(given[0], 0));
  const Text method = given[1].IsUndefined() ? Text("common") : BITTERN_TRY(ToText(given[1]));
  if (!input.AsNumber()) return Refuse(fmt::format("'{}' cannot be rounded", input.TypeName()));
  if (precision < -300 || precision > 300) return Refuse("a precision of -300 to 300 expected");
  const double number = *input.AsNumber();
  const double scale = *ParseFloat(fmt::format("1e{}", precision));  // pow() differs by system
  if (method.bytes() == "ceil") return Value::Float(std::ceil(number * scale) / scale);
  if (method.bytes() == "floor") return Value::Float(std::floor(number * scale) / scale);
  if (method.bytes() != "common") return Refuse("method must be common, ceil or floor");
  if (const auto whole = input.AsInt()) {
    if (precision >= 0) return Value::Int(*whole);
    const auto rounded = RoundWhole(*whole, -precision);
    return rounded ? Result<Value>(Value::Int(*rounded)) : Refuse("a number of more than 64 bits");
  }
  if (precision < 0) return Value::Float(std::nearbyint(number * scale) / scale);
  // The decimal text is rounded half to even on the exact value, as Python's round() is.
  const std::string text = fmt::format("{:.{}f}", number, static_cast<int>(precision));
  return Value::Float(ParseFloat(text).value_or(number));
}

/// Filters by name, aliases included.
constexpr NamedFunction<Filter> kTextFilters[] = {
    {"abs", AbsFilter},
    {"capitalize", CapitalizeFilter},
    {"center", CenterFilter},
    {"e", MapText<EscapedHtml>},
    {"escape", MapText<EscapedHtml>},
    {"float", FloatFilter},
    {"forceescape", MapText<EscapedHtml>},
    {"format", FormatFilter},
    {"indent", IndentFilter},
    {"int", IntFilter},
    {"lower", LowerFilter},
    {"replace", ReplaceFilter},
    {"round", RoundFilter},
    {"safe", SafeFilter},
    {"string", StringFilter},
    {"title", TitleFilter},
    {"tojson", ToJsonFilter},
    {"trim", TrimFilter},
    {"truncate", TruncateFilter},
    {"upper", MapText<Upper>},
    {"urlencode", UrlEncodeFilter},
    {"wordcount", WordCountFilter},
};

}  // namespace

Filter FindTextFilter(std::string_view name) {
  const auto found = std::ranges::find(kTextFilters, name, &NamedFunction<Filter>::name);
  return found == std::end(kTextFilters) ? nullptr : found->function;
}

Filter FindFilter(std::string_view name) {
  const Filter filter = FindTextFilter(name);
  return filter != nullptr ? filter : FindListFilter(name);
}

}  // namespace bittern::jinja
