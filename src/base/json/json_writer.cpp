// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/json/json.hpp"
#include "base/json/json_escape.hpp"

namespace bittern {
namespace {

/// Writes a tree into one string.
class Writer {
 public:
  Writer(int indent, bool ascii) : indent_(indent), ascii_(ascii) {}

  void Write(const Json& value, int level) {
    if (const auto* array = value.AsArray()) {
      WriteAll(*array, "[]", level, [&](const Json& element) { Write(element, level + 1); });
    } else if (const auto* object = value.AsObject()) {
      WriteAll(*object, "{}", level, [&](const Json::Member& member) {
        WriteString(member.key);
        out_ += indent_ < 0 ? ":" : ": ";
        Write(member.value, level + 1);
      });
    } else if (const auto* text = value.AsString()) {
      WriteString(*text);
    } else if (const auto flag = value.AsBool()) {
      out_ += *flag ? "true" : "false";
    } else if (const auto whole = value.AsUint()) {
      fmt::format_to(std::back_inserter(out_), "{}", *whole);
    } else if (const auto below = value.AsInt()) {
      fmt::format_to(std::back_inserter(out_), "{}", *below);
    } else if (const auto number = value.AsNumber(); number && std::isfinite(*number)) {
      WriteDouble(*number);
    } else {
      out_ += "null";
    }
  }
  [[nodiscard]] std::string Take() { return std::move(out_); }

 private:
  void WriteString(std::string_view text) {
    out_ += '"';
    AppendJsonEscaped(text, ascii_, &out_);
    out_ += '"';
  }

  void WriteDouble(double number) {
    const std::size_t begin = out_.size();
    fmt::format_to(std::back_inserter(out_), "{}", number);
    // A double stays one when it is read again.
    if (out_.find_first_of(".e", begin) == std::string::npos) out_ += ".0";
  }

  void NewLine(int level) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_ * level), ' ');
  }

  /// The elements between brackets, each on a line of its own if there is an indent.
  template <class List, class WriteOne>
  void WriteAll(const List& list, std::string_view brackets, int level, const WriteOne& write_one) {
    out_ += brackets[0];
    bool first = true;
    for (const auto& one : list) {
      if (!std::exchange(first, false)) out_ += ',';
      NewLine(level + 1);
      write_one(one);
    }
    if (!first) NewLine(level);
    out_ += brackets[1];
  }

  int indent_;
  bool ascii_;
  std::string out_;
};

std::string Written(const Json& json, int indent, bool ascii) {
  Writer writer(indent, ascii);
  writer.Write(json, 0);
  return writer.Take();
}

}  // namespace

std::string Json::Dump(int indent) const { return Written(*this, indent, false); }
std::string Json::DumpAscii() const { return Written(*this, -1, true); }

}  // namespace bittern
