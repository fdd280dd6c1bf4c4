// SPDX-License-Identifier: Apache-2.0
// The methods of Python's strings, dictionaries and lists that read but do not change.
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "jinja/builtins.hpp"
#include "jinja/python.hpp"
#include "jinja/text/casing.hpp"
#include "jinja/text_tools.hpp"

namespace bittern::jinja {
namespace {

/// str.strip(chars=None), lstrip, rstrip.
template <bool kFront, bool kBack>
Result<Value> StripMethod(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"chars"}));
  const auto stripped = BITTERN_TRY(StrippedCharacters(given[0]));
  return Value::String(Strip(*self.AsText(), stripped, kFront, kBack));
}

/// A method without arguments that changes a string without looking beyond a run of one origin.
template <std::string (*kChange)(std::string_view)>
Result<Value> MapMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  BITTERN_TRY(interpreter.budget()->Make(self.AsText()->size()));
  Text changed = self.AsText()->MapRuns(kChange);
  BITTERN_TRY(interpreter.budget()->Make(changed.size()));  // letters may become several
  return Value::String(std::move(changed));
}

/// As MapMethod, for changes that depend on the letters around.
template <Text (*kChange)(const Text&)>
Result<Value> CaseMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  BITTERN_TRY(interpreter.budget()->Make(self.AsText()->size()));
  return Value::String(kChange(*self.AsText()));
}

bool IsLetter(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool IsDecimal(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}
/// Digits that are no decimals, such as superscripts and those in circles.
bool IsDigit(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kMore[] = {
      {0x00B2, 0x00B3},   {0x00B9, 0x00B9},   {0x1369, 0x1371},   {0x19DA, 0x19DA},
      {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
      {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
      {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
      {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return IsDecimal(c) || std::ranges::any_of(kMore, [&](const auto& range) {
           return c >= range.first && c <= range.second;
         });
}
/// Categories Nd, Nl and No. Python counts Chinese numerals as well.
bool IsNumeric(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
bool IsAlnum(char32_t c) { return IsLetter(c) || IsNumeric(c); }

/// str.isalpha() and its like: false for an empty string.
template <bool (*kIs)(char32_t)>
Result<Value> AllAre(Interpreter& interpreter, const Value& self, const Arguments&) {
  std::string_view rest = self.AsText()->bytes();
  BITTERN_TRY(interpreter.budget()->Step(1 + rest.size() / 16));
  if (rest.empty()) return Value::Bool(false);
  while (!rest.empty()) {
    const Utf8Step step = DecodeUtf8(rest);
    if (!kIs(step.code_point)) return Value::Bool(false);
    rest.remove_prefix(step.size);
  }
  return Value::Bool(true);
}

/// str.isupper(), str.islower().
template <bool kUpper>
Result<Value> HasCase(Interpreter& interpreter, const Value& self, const Arguments&) {
  const bool holds = BITTERN_TRY(interpreter.ApplyTest(kUpper ? "upper" : "lower", self, {}));
  return Value::Bool(holds);
}

/// Pieces between separators, at most `most` cuts (any number where negative).
std::vector<Text> SplitAt(const Text& text, const std::string& separator, std::int64_t most) {
  std::vector<Text> parts;
  std::size_t at = 0;
  for (; most != 0; --most) {
    const std::size_t found = text.bytes().find(separator, at);
    if (found == std::string::npos) break;
    parts.push_back(text.Substr(at, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.Substr(at));
  return parts;
}

/// As SplitAt, but the cuts that are allowed are the last ones.
std::vector<Text> SplitAtFromRight(const Text& text, const std::string& separator,
                                   std::int64_t most) {
  std::vector<Text> parts;
  std::size_t end = text.size();
  for (; most != 0 && end >= separator.size(); --most) {
    const std::size_t found = text.bytes().rfind(separator, end - separator.size());
    if (found == std::string::npos) break;
    parts.push_back(text.Substr(found + separator.size(), end - found - separator.size()));
    end = found;
  }
  parts.push_back(text.Substr(0, end));
  std::ranges::reverse(parts);
  return parts;
}

/// Words: runs without white space; what is left after `most` cuts keeps its inner blanks.
std::vector<Text> SplitWords(const Text& text, std::int64_t most) {
  std::vector<Text> parts;
  const std::string_view bytes = text.bytes();
  std::size_t at = 0;
  const auto step = [&] { return DecodeUtf8(bytes.substr(at)); };
  for (;;) {
    while (at < bytes.size() && IsSpace(step().code_point)) at += step().size;
    if (at >= bytes.size()) return parts;
    if (most-- == 0) break;
    const std::size_t begin = at;
    while (at < bytes.size() && !IsSpace(step().code_point)) at += step().size;
    parts.push_back(text.Substr(begin, at - begin));
  }
  parts.push_back(Strip(text.Substr(at), IsSpace, false, true));
  return parts;
}

/// As SplitWords, but the cuts that are allowed are the last ones.
std::vector<Text> SplitWordsFromRight(const Text& text, std::int64_t most) {
  std::vector<Text> words = SplitWords(text, -1);
  if (most < 0 || static_cast<std::int64_t>(words.size()) <= most) return words;
  std::vector<Text> parts;
  Text rest = Strip(text, IsSpace, false, true);
  for (; most > 0; --most) {
    parts.push_back(words.back());
    rest = Strip(rest.Substr(0, rest.size() - words.back().size()), IsSpace, false, true);
    words.pop_back();
  }
  parts.push_back(rest);
  std::ranges::reverse(parts);
  return parts;
}

Result<Value> ToList(std::vector<Text> parts, ListKind kind = ListKind::kList) {
  std::vector<Value> items;
  for (Text& part : parts) items.push_back(Value::String(std::move(part)));
  return MakeList(std::move(items), kind);
}

/// str.split(sep=None, maxsplit=-1), rsplit. Without a separator runs of white space separate, and
/// there are no empty parts.
template <bool kFromRight>
Result<Value> SplitMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"sep", "maxsplit"}));
  const Text& text = *self.AsText();
  const std::int64_t most = BITTERN_TRY(ToInt(given[1], -1));
  const bool words = given[0].IsUndefined() || given[0].IsNone();
  // Parts are at most as many as bytes; those of real texts are words.
  BITTERN_TRY(interpreter.budget()->Make(text.size()));
  std::vector<Text> parts;
  if (words) {
    parts = kFromRight ? SplitWordsFromRight(text, most) : SplitWords(text, most);
  } else {
    const Text separator = BITTERN_TRY(ToText(given[0]));
    if (separator.empty()) return Refuse("empty separator");
    parts = kFromRight ? SplitAtFromRight(text, separator.bytes(), most)
                       : SplitAt(text, separator.bytes(), most);
  }
  BITTERN_TRY(interpreter.budget()->Make(parts.size() * (sizeof(Value) + sizeof(Text))));
  return ToList(std::move(parts));
}

/// str.splitlines(keepends=False).
Result<Value> SplitLinesMethod(Interpreter& interpreter, const Value& self,
                               const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"keepends"}));
  BITTERN_TRY(interpreter.budget()->Make(self.AsText()->size() * 4));
  return ToList(SplitLines(*self.AsText(), Truth(given[0])));
}

/// str.partition(sep), rpartition: a tuple (before, sep, after). A text without the separator is
/// the first of them, from the right the last.
template <bool kFromRight>
Result<Value> PartitionMethod(Interpreter& interpreter, const Value& self,
                              const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"sep"}, 1));
  const Text separator = BITTERN_TRY(ToText(given[0]));
  if (separator.empty()) return Refuse("empty separator");
  const Text& text = *self.AsText();
  BITTERN_TRY(interpreter.budget()->Make(text.size()));
  const std::size_t found =
      kFromRight ? text.bytes().rfind(separator.bytes()) : text.bytes().find(separator.bytes());
  if (found == std::string::npos) {
    return kFromRight ? ToList({Text(), Text(), text}, ListKind::kTuple)
                      : ToList({text, Text(), Text()}, ListKind::kTuple);
  }
  return ToList({text.Substr(0, found), text.Substr(found, separator.size()),
                 text.Substr(found + separator.size())},
                ListKind::kTuple);
}

/// str.startswith(prefix, start=None, end=None), endswith. The prefix may be a tuple of several.
template <bool kAtEnd>
Result<Value> StartsWith(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"prefix", "start", "end"}, 1));
  const Value part = BITTERN_TRY(Slice(self, given[1].IsUndefined() ? Value::Null() : given[1],
                                       given[2].IsUndefined() ? Value::Null() : given[2],
                                       Value::Null(), interpreter.budget()));
  // Undefined: what Slice makes of places that are no numbers.
  if (part.AsText() == nullptr) return Refuse("start and end must be whole numbers");
  const auto holds = [&](const Value& prefix) -> Result<bool> {
    const Text text = BITTERN_TRY(ToText(prefix));
    return kAtEnd ? part.AsText()->bytes().ends_with(text.bytes())
                  : part.AsText()->bytes().starts_with(text.bytes());
  };
  const List* list = given[0].AsList();
  if (list == nullptr || list->kind != ListKind::kTuple) {
    const bool result = BITTERN_TRY(holds(given[0]));
    return Value::Bool(result);
  }
  for (const Value& prefix : list->items) {
    if (BITTERN_TRY(holds(prefix))) return Value::Bool(true);
  }
  return Value::Bool(false);
}

/// str.replace(old, new, count=-1).
Result<Value> ReplaceMethod(Interpreter& interpreter, const Value& self,
                            const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"old", "new", "count"}, 2));
  const Text old_text = BITTERN_TRY(ToText(given[0]));
  const Text new_text = BITTERN_TRY(ToText(given[1]));
  const std::int64_t count = BITTERN_TRY(ToInt(given[2], -1));
  BITTERN_TRY(interpreter.budget()->Make(self.AsText()->size()));
  Text text = BITTERN_TRY(Replace(*self.AsText(), old_text, new_text, count, interpreter.budget()));
  return Value::String(std::move(text));
}

/// str.find(sub, start=None, end=None), rfind, index, rindex: a place in characters. Where there is
/// none find gives -1, and index (kMustExist) fails.
template <bool kFromRight, bool kMustExist>
Result<Value> FindMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"sub", "start", "end"}, 1));
  const Text needle = BITTERN_TRY(ToText(given[0]));
  const std::string& bytes = self.AsText()->bytes();
  BITTERN_TRY(interpreter.budget()->Step(1 + bytes.size() / 16));
  const auto size = static_cast<std::int64_t>(CountCharacters(bytes));
  const auto bound = [&](const Value& value, std::int64_t otherwise) -> Result<std::int64_t> {
    const std::int64_t at = BITTERN_TRY(ToInt(value, otherwise));
    return at < 0 ? std::max<std::int64_t>(at + size, 0) : std::min(at, size + 1);
  };
  const std::int64_t from = BITTERN_TRY(bound(given[1], 0));
  const std::int64_t to = BITTERN_TRY(bound(given[2], size));
  std::size_t found = std::string::npos;
  if (from <= size && from <= to) {
    const std::size_t begin = ByteOfCharacter(bytes, static_cast<std::size_t>(from));
    const std::size_t end = ByteOfCharacter(bytes, static_cast<std::size_t>(to));
    const std::string_view part = std::string_view(bytes).substr(begin, end - begin);
    found = kFromRight ? part.rfind(needle.bytes()) : part.find(needle.bytes());
    if (found != std::string::npos) found += begin;
  }
  if (found != std::string::npos) {
    return Value::Int(
        static_cast<std::int64_t>(CountCharacters(std::string_view(bytes).substr(0, found))));
  }
  if constexpr (kMustExist) return Refuse("substring not found");
  return Value::Int(-1);
}

/// str.count(sub), without overlaps. The empty string is found around every character.
Result<Value> CountMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"sub"}, 1));
  const Text needle = BITTERN_TRY(ToText(given[0]));
  const std::string& bytes = self.AsText()->bytes();
  BITTERN_TRY(interpreter.budget()->Step(1 + bytes.size() / 16));
  if (needle.empty()) return Value::Int(static_cast<std::int64_t>(CountCharacters(bytes)) + 1);
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = bytes.find(needle.bytes(), at)) != std::string::npos;) {
    ++count;
    at += needle.size();
  }
  return Value::Int(count);
}

/// str.join(iterable): unlike the filter `join` it takes strings only.
Result<Value> JoinMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"iterable"}, 1));
  const auto items = BITTERN_TRY(Items(given[0], interpreter.budget()));
  Text text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Text part = BITTERN_TRY(ToText(items[i]));
    if (i > 0) text.Append(*self.AsText());
    text.Append(part);
    BITTERN_TRY(interpreter.budget()->Make(part.size() + self.AsText()->size()));
  }
  BITTERN_TRY(interpreter.budget()->Make(text.size()));
  return Value::String(std::move(text));
}

/// str.center(width, fillchar=" "), ljust, rjust.
template <Align kAlign>
Result<Value> PadMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"width", "fillchar"}, 1));
  const std::int64_t width = BITTERN_TRY(ToInt(given[0], 0));
  const Text fill = given[1].IsUndefined() ? Text(" ") : BITTERN_TRY(ToText(given[1]));
  if (CountCharacters(fill.bytes()) != 1) return Refuse("a fill of one character expected");
  Text text = BITTERN_TRY(Pad(*self.AsText(), width, fill.bytes(), kAlign, interpreter.budget()));
  return Value::String(std::move(text));
}

/// str.zfill(width): the zeros go behind a sign.
Result<Value> ZFillMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"width"}, 1));
  const std::int64_t width = BITTERN_TRY(ToInt(given[0], 0));
  const Text& text = *self.AsText();
  const bool is_signed = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  Text out = text.Substr(0, is_signed ? 1 : 0);
  const Text digits =
      BITTERN_TRY(Pad(text.Substr(out.size()), width - static_cast<std::int64_t>(out.size()), "0",
                      Align::kRight, interpreter.budget()));
  out.Append(digits);
  return Value::String(std::move(out));
}

/// str.expandtabs(tabsize=8). The blanks have the mark of the tab that they replace.
Result<Value> ExpandTabs(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"tabsize"}));
  const std::int64_t size = BITTERN_TRY(ToInt(given[0], 8));
  if (size > 1000) return Refuse("a tabsize of more than 1000");
  Text out;
  std::int64_t column = 0;
  const Text& text = *self.AsText();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t tab = std::min(text.bytes().find('\t', at), text.size());
    out.Append(text, at, tab - at);
    for (const char c : std::string_view(text.bytes()).substr(at, tab - at)) {
      const bool ends = c == '\n' || c == '\r';
      column = ends ? 0 : column + ((static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0);
    }
    if (tab < text.size() && size > 0) {
      const auto blanks = static_cast<std::size_t>(size - column % size);
      const std::size_t before = out.size();
      out.Append(
          text.Substr(tab, 1).MapRuns([&](std::string_view) { return std::string(blanks, ' '); }));
      column += static_cast<std::int64_t>(out.size() - before);
      BITTERN_TRY(interpreter.budget()->Make(blanks));
    }
    at = tab + 1;
  }
  BITTERN_TRY(interpreter.budget()->Make(out.size()));
  return Value::String(std::move(out));
}

/// str.removeprefix(prefix), removesuffix.
template <bool kSuffix>
Result<Value> RemovePrefix(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"prefix"}, 1));
  const Text part = BITTERN_TRY(ToText(given[0]));
  const Text& text = *self.AsText();
  const bool has =
      kSuffix ? text.bytes().ends_with(part.bytes()) : text.bytes().starts_with(part.bytes());
  if (!has) return self;
  return Value::String(text.Substr(kSuffix ? 0 : part.size(), text.size() - part.size()));
}

/// Methods by name. A method of Python's str that is missing here stands in IsForeignMethod.
constexpr NamedFunction<Method> kStringMethods[] = {
    {"capitalize", CaseMethod<Capitalized>},
    {"casefold", MapMethod<Casefolded>},
    {"center", PadMethod<Align::kCenter>},
    {"count", CountMethod},
    {"endswith", StartsWith<true>},
    {"expandtabs", ExpandTabs},
    {"find", FindMethod<false, false>},
    {"format", FormatMethod},
    {"index", FindMethod<false, true>},
    {"isalnum", AllAre<IsAlnum>},
    {"isalpha", AllAre<IsLetter>},
    {"isdecimal", AllAre<IsDecimal>},
    {"isdigit", AllAre<IsDigit>},
    {"islower", HasCase<false>},
    {"isnumeric", AllAre<IsNumeric>},
    {"isspace", AllAre<IsSpace>},
    {"isupper", HasCase<true>},
    {"join", JoinMethod},
    {"ljust", PadMethod<Align::kLeft>},
    {"lower", CaseMethod<Lowered>},
    {"lstrip", StripMethod<true, false>},
    {"partition", PartitionMethod<false>},
    {"removeprefix", RemovePrefix<false>},
    {"removesuffix", RemovePrefix<true>},
    {"replace", ReplaceMethod},
    {"rfind", FindMethod<true, false>},
    {"rindex", FindMethod<true, true>},
    {"rjust", PadMethod<Align::kRight>},
    {"rpartition", PartitionMethod<true>},
    {"rsplit", SplitMethod<true>},
    {"rstrip", StripMethod<false, true>},
    {"split", SplitMethod<false>},
    {"splitlines", SplitLinesMethod},
    {"startswith", StartsWith<false>},
    {"strip", StripMethod<true, true>},
    {"swapcase", CaseMethod<SwappedCase>},
    {"title", CaseMethod<Titled>},
    {"upper", MapMethod<Upper>},
    {"zfill", ZFillMethod},
};

/// dict.get(key, default=None).
Result<Value> GetMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"key", "default"}, 1));
  const Value otherwise = arguments.positional.size() > 1 ? given[1] : Value::Null();
  for (const auto& [key, value] : self.AsDict()->entries) {
    if (given[0].AsText() != nullptr) break;
    if (BITTERN_TRY(Equals(key, given[0], interpreter.budget()))) return value;
  }
  if (given[0].AsText() == nullptr) return otherwise;
  const Value* member = self.AsDict()->Find(given[0].AsText()->bytes());
  return member != nullptr ? *member : otherwise;
}

/// dict.items(), keys(), values(): views with a length, but without an index.
template <ListKind kKind>
Result<Value> ViewMethod(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  BITTERN_TRY(Bind(arguments, {}));
  std::vector<Value> items;
  BITTERN_TRY(interpreter.budget()->Make(self.AsDict()->entries.size() * 3 * sizeof(Value)));
  for (const auto& [key, value] : self.AsDict()->entries) {
    if constexpr (kKind == ListKind::kItems) {
      auto pair = BITTERN_TRY(MakeList({key, value}, ListKind::kTuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(kKind == ListKind::kKeys ? key : value);
    }
  }
  return MakeList(std::move(items), kKind);
}

/// copy(): values never change, so the same one will do.
Result<Value> CopyMethod(Interpreter&, const Value& self, const Arguments&) { return self; }

constexpr NamedFunction<Method> kDictMethods[] = {{"copy", CopyMethod},
                                                  {"get", GetMethod},
                                                  {"items", ViewMethod<ListKind::kItems>},
                                                  {"keys", ViewMethod<ListKind::kKeys>},
                                                  {"values", ViewMethod<ListKind::kValues>}};

/// list.count(value), list.index(value). index fails where there is none.
template <bool kCount>
Result<Value> CountOrIndex(Interpreter& interpreter, const Value& self,
                           const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"value"}, 1));
  const std::vector<Value>& items = self.AsList()->items;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool equal = BITTERN_TRY(Equals(items[i], given[0], interpreter.budget()));
    if (equal && !kCount) return Value::Int(static_cast<std::int64_t>(i));
    count += equal ? 1 : 0;
  }
  if constexpr (!kCount) return Refuse("the value is not in the list");
  return Value::Int(count);
}

constexpr NamedFunction<Method> kListMethods[] = {
    {"copy", CopyMethod}, {"count", CountOrIndex<true>}, {"index", CountOrIndex<false>}};

template <std::size_t kSize>
Method FindIn(const NamedFunction<Method> (&table)[kSize], std::string_view name) {
  const auto found = std::ranges::find(table, name, &NamedFunction<Method>::name);
  return found == std::end(table) ? nullptr : found->function;
}

}  // namespace

Method FindStringMethod(std::string_view name) { return FindIn(kStringMethods, name); }
Method FindDictMethod(std::string_view name) { return FindIn(kDictMethods, name); }
Method FindListMethod(std::string_view name) { return FindIn(kListMethods, name); }

bool IsForeignMethod(const Value& value, std::string_view name) {
  constexpr std::string_view kString[] = {"encode",      "format_map", "isascii",   "isidentifier",
                                          "isprintable", "istitle",    "maketrans", "translate"};
  constexpr std::string_view kDict[] = {"clear",   "fromkeys",   "pop",
                                        "popitem", "setdefault", "update"};
  constexpr std::string_view kList[] = {"append", "clear",   "extend", "insert",
                                        "pop",    "reverse", "remove", "sort"};
  const auto among = [&](const auto& names) {
    return std::ranges::find(names, name) != std::end(names);
  };
  if (value.AsText() != nullptr) return among(kString);
  if (value.AsDict() != nullptr) return among(kDict);
  return value.AsList() != nullptr && value.AsList()->kind == ListKind::kList && among(kList);
}

}  // namespace bittern::jinja
