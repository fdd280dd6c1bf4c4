// SPDX-License-Identifier: Apache-2.0
// `--override-kv KEY=TYPE:VALUE`: users repair a file's metadata with it. The four types are
// llama.cpp's; unlike there, a value must be whole and in range, so that a typo is no silent zero.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/text/display.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {
namespace {

constexpr std::size_t kMaxTextShown = 200;
constexpr std::string_view kArchitecture = "general.architecture";

tl::unexpected<Error> BadOverride(std::string_view text, std::string_view problem) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("override {}: {}", Quoted(text, kMaxTextShown), problem));
}

/// All of `text` as a number, or nullopt.
template <class T>
std::optional<T> OverrideNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

/// "llama.block_count" becomes "bitnet.block_count", unless that is there already. Without this
/// another architecture would find none of its numbers.
void Metadata::RenameArchitecture(std::string_view to) {
  const MetaValue* value = Find(kArchitecture);
  if (value == nullptr || value->type != MetaType::kString) return;
  const std::string from = std::string(std::get<std::string_view>(value->value)) + ".";
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].key.starts_with(from)) continue;
    std::string renamed = fmt::format("{}.{}", to, entries_[i].key.substr(from.size()));
    if (!index_.try_emplace(renamed, i).second) continue;
    index_.erase(entries_[i].key);
    entries_[i].key = std::move(renamed);
  }
}

Result<void> Metadata::Override(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return BadOverride(text, "KEY=TYPE:VALUE expected");
  const std::size_t colon = text.find(':', equals);
  if (colon == std::string_view::npos) return BadOverride(text, "KEY=TYPE:VALUE expected");
  const std::string_view key = text.substr(0, equals);
  const std::string_view type = text.substr(equals + 1, colon - equals - 1);
  const std::string_view value = text.substr(colon + 1);

  MetaValue parsed;
  if (type == "int") {
    const auto number = OverrideNumber<std::int64_t>(value);
    if (!number) return BadOverride(text, "a 64-bit integer expected after \"int:\"");
    parsed = {MetaType::kI64, *number};
  } else if (type == "float") {
    const auto number = OverrideNumber<double>(value);
    if (!number || !std::isfinite(*number)) {
      return BadOverride(text, "a finite number expected after \"float:\"");
    }
    parsed = {MetaType::kF64, *number};
  } else if (type == "bool") {
    if (value != "true" && value != "false") {
      return BadOverride(text, "true or false expected after \"bool:\"");
    }
    parsed = {MetaType::kBool, value == "true"};
  } else if (type == "str") {
    owned_.push_back(std::make_unique<std::string>(value));
    parsed = {MetaType::kString, std::string_view(*owned_.back())};
  } else {
    return BadOverride(
        text, fmt::format("type int, float, bool or str expected, {} found", Quoted(type)));
  }

  if (key == kArchitecture && parsed.type == MetaType::kString) {
    RenameArchitecture(std::get<std::string_view>(parsed.value));
  }
  const auto [place, added] = index_.try_emplace(std::string(key), entries_.size());
  if (added) entries_.push_back({std::string(key), {}});
  Entry& entry = entries_[place->second];
  entry.value = std::move(parsed);
  entry.overridden = true;
  entry.was_read = false;
  return {};
}

}  // namespace bittern::formats
