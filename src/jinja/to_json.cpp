// SPDX-License-Identifier: Apache-2.0
// json.dumps as transformers calls it: nothing is escaped for HTML, and letters beyond ASCII stay.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json/json_escape.hpp"
#include "jinja/builtins.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

std::string Escaped(std::string_view bytes, bool ascii) {
  std::string out;
  AppendJsonEscaped(bytes, ascii, &out);
  return out;
}

/// Writes one value and those in it. `level`: how many lists and dictionaries are around it.
class Writer {
 public:
  Writer(const JsonStyle& style, Budget* budget) : style_(style), budget_(budget) {}

  Result<void> Write(const Value& value, int level);
  Text out;

 private:
  Result<void> WriteList(const List& list, int level);
  Result<void> WriteDict(const Dict& dict, int level);
  Result<void> WriteString(const Text& text);
  /// A plain value's letters; a key's are the same in quotes.
  Result<std::string> Plain(const Value& value) const;
  /// A line end and the indent, if the style has one.
  void NewLine(int level) {
    if (!style_.indent) return;
    out.Append("\n");
    for (int i = 0; i < level; ++i) out.Append(*style_.indent);
  }
  /// Writes what comes before an item, and charges for it, so that empty items are not free.
  Result<void> Separate(bool first, int level) {
    if (!first) out.Append(style_.item_separator);
    NewLine(level);
    return budget_->Make(16 + (style_.indent
                                   ? style_.indent->size() * static_cast<std::size_t>(level)
                                   : std::size_t{0}));
  }

  const JsonStyle& style_;
  Budget* budget_;
};

/// NaN and Infinity are no JSON, but json.dumps writes them.
Result<std::string> Writer::Plain(const Value& value) const {
  if (value.IsNone()) return std::string("null");
  if (const auto* flag = value.As<bool>()) return std::string(*flag ? "true" : "false");
  if (const auto* number = value.As<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto* number = value.As<double>()) {
    if (std::isnan(*number)) return std::string("NaN");
    if (std::isinf(*number)) return std::string(*number < 0 ? "-Infinity" : "Infinity");
    return FloatRepr(*number);
  }
  return Refuse(fmt::format("Object of type {} is not JSON serializable", value.TypeName()));
}

Result<void> Writer::WriteString(const Text& text) {
  BITTERN_TRY(budget_->Make(text.size()));
  out.Append("\"");
  out.Append(
      text.MapRuns([&](std::string_view bytes) { return Escaped(bytes, style_.ensure_ascii); }));
  out.Append("\"");
  return {};
}

/// An empty list is "[]", with an indent as well.
Result<void> Writer::WriteList(const List& list, int level) {
  if (list.items.empty()) {
    out.Append("[]");
    return {};
  }
  out.Append("[");
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    BITTERN_TRY(Separate(i == 0, level + 1));
    BITTERN_TRY(Write(list.items[i], level + 1));
  }
  NewLine(level);
  out.Append("]");
  return {};
}

/// sort_keys orders by bytes, which for UTF-8 is the order of code points. As json.dumps does, keys
/// that are numbers, true, false or none are written as strings.
Result<void> Writer::WriteDict(const Dict& dict, int level) {
  if (dict.entries.empty()) {
    out.Append("{}");
    return {};
  }
  std::vector<Value> keys;
  std::vector<std::size_t> order(dict.entries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (style_.sort_keys) {
    for (const auto& entry : dict.entries) {
      if (entry.first.AsText() == nullptr) return Refuse("sort_keys needs strings as keys");
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return std::string_view(dict.entries[i].first.AsText()->bytes());
    });
  }
  out.Append("{");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [key, value] = dict.entries[order[i]];
    BITTERN_TRY(Separate(i == 0, level + 1));
    if (const Text* text = key.AsText()) {
      BITTERN_TRY(WriteString(*text));
    } else {
      const std::string plain = BITTERN_TRY(Plain(key));
      out.Append("\"" + plain + "\"");
    }
    out.Append(style_.key_separator);
    BITTERN_TRY(Write(value, level + 1));
  }
  NewLine(level);
  out.Append("}");
  return {};
}

/// Views, ranges and generators are refused, as by json.dumps.
Result<void> Writer::Write(const Value& value, int level) {
  BITTERN_TRY(budget_->Step());
  if (const Text* text = value.AsText()) return WriteString(*text);
  if (const Dict* dict = value.AsDict()) return WriteDict(*dict, level);
  const List* list = value.AsList();
  if (list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple)) {
    return WriteList(*list, level);
  }
  const std::string plain = BITTERN_TRY(Plain(value));
  out.Append(plain);
  return {};
}

}  // namespace

Result<Text> ToJson(const Value& value, const JsonStyle& style, Budget* budget) {
  Writer writer(style, budget);
  BITTERN_TRY(writer.Write(value, 0));
  return std::move(writer.out);
}

}  // namespace bittern::jinja
