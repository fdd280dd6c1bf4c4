// SPDX-License-Identifier: Apache-2.0
// Each read marks its member as taken; Finish looks for those that are not.
#include "request/fields/field_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"

namespace bittern::request {
namespace {

/// Bytes of a wrong value in an error message.
constexpr std::size_t kMostShown = 60;

std::string Shown(const Json& value) {
  std::string text = value.Shown();
  if (text.size() > kMostShown) text = ReplaceInvalidUtf8(text.substr(0, kMostShown)) + "...";
  return text;
}

/// 3.0 and 3e0 count as whole numbers.
Result<std::int64_t> WholeNumber(std::string_view path, const Json& value, std::int64_t least,
                                 std::int64_t most) {
  const auto number = value.AsNumber();
  const bool whole = number && *number == std::floor(*number) &&
                     *number >= static_cast<double>(least) && *number <= static_cast<double>(most);
  if (whole) return static_cast<std::int64_t>(*number);
  return WrongField(path, fmt::format("a whole number from {} to {}", least, most), value);
}

/// True for values that ask for nothing: see FieldReader::OnlyNeutral.
bool IsNeutral(const Json& value, double neutral) {
  if (const auto flag = value.AsBool()) return !*flag;
  if (const auto number = value.AsNumber()) return *number == neutral;
  if (const auto* text = value.AsString()) return text->empty();
  if (const auto* array = value.AsArray()) return array->empty();
  const auto* object = value.AsObject();
  return object == nullptr || object->empty();
}

}  // namespace

tl::unexpected<Error> WrongField(std::string_view path, std::string_view expected,
                                 const Json& found) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", path, expected, Shown(found)));
}

void NoteUnread(UnreadFields* unread, std::string path) {
  constexpr std::size_t kMost = 32, kLongest = 128;
  if (unread->size() == kMost) return;
  if (path.size() > kLongest) path = ReplaceInvalidUtf8(path.substr(0, kLongest)) + "...";
  unread->push_back(std::move(path));
}

/// The text before the first ": ", if it has the letters of a path only.
std::string FieldOfError(const Error& error) {
  if (error.code != ErrorCode::kInvalidArgument) return {};
  const std::size_t colon = error.message.find(": ");
  if (colon == std::string::npos || colon == 0) return {};
  const std::string field = error.message.substr(0, colon);
  const auto in_path = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '[' || c == ']' || c == '-';
  };
  return std::ranges::all_of(field, in_path) ? field : std::string();
}

/// The UTF-8 is checked here, once, so that no reader of a field has to.
Result<Json> ParseBody(std::string_view body) {
  if (ReplaceInvalidUtf8(body) != body) {
    return Fail(ErrorCode::kInvalidArgument, "the body is not UTF-8");
  }
  auto json = Json::Parse(body, {.max_bytes = std::size_t{256} << 20, .max_depth = 64});
  if (!json.has_value()) {
    return Fail(ErrorCode::kInvalidArgument, "the body is not JSON: " + json.error().message);
  }
  if (json->AsObject() == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a JSON object expected as the body, {} found", json->TypeName()));
  }
  return json;
}

Result<FieldReader> FieldReader::Open(const Json& object, std::string path, UnreadFields* unread) {
  if (object.AsObject() == nullptr) return WrongField(path, "an object", object);
  return FieldReader(object, std::move(path), unread);
}

std::string FieldReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

/// A key that is absent is noted as well, which does no harm.
const Json* FieldReader::Take(std::string_view key) {
  read_.emplace(key);
  const Json* value = object_->Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool FieldReader::Has(std::string_view key) const {
  const Json* value = object_->Find(key);
  return value != nullptr && !value->is_null();
}

Result<void> FieldReader::Int(std::string_view key, std::int64_t least, std::int64_t most,
                              int* to) {
  const Json* value = Take(key);
  if (value == nullptr) return {};
  *to = static_cast<int>(BITTERN_TRY(WholeNumber(PathOf(key), *value, least, most)));
  return {};
}

/// A number that no float can hold is out of range, too.
Result<void> FieldReader::Float(std::string_view key, float* to, double least, double most) {
  const Json* value = Take(key);
  if (value == nullptr) return {};
  const auto number = value->AsNumber();
  if (number && *number >= least && *number <= most) {
    *to = static_cast<float>(*number);
    return {};
  }
  const bool any = least == -kAny && most == kAny;
  return WrongField(PathOf(key),
                    any ? "a number" : fmt::format("a number from {} to {}", least, most), *value);
}

Result<void> FieldReader::Flag(std::string_view key, bool* to) {
  const Json* value = Take(key);
  if (value == nullptr) return {};
  const auto flag = value->AsBool();
  if (!flag) return WrongField(PathOf(key), "true or false", *value);
  *to = *flag;
  return {};
}

Result<void> FieldReader::Text(std::string_view key, std::string* to) {
  const Json* value = Take(key);
  if (value == nullptr) return {};
  if (value->AsString() == nullptr) return WrongField(PathOf(key), "a text", *value);
  *to = *value->AsString();
  return {};
}

/// A wrong list is an error, but the target has been cleared then.
Result<void> FieldReader::Texts(std::string_view key, std::size_t most,
                                std::vector<std::string>* to) {
  const Json* value = Take(key);
  if (value == nullptr) return {};
  const std::string expected = fmt::format("a text or a list of {} texts at most", most);
  to->clear();
  if (const std::string* text = value->AsString()) {
    to->push_back(*text);
    return {};
  }
  const Json::Array* list = value->AsArray();
  if (list == nullptr) return WrongField(PathOf(key), expected, *value);
  if (list->size() > most) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} expected, {} found", PathOf(key), expected, list->size()));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* text = (*list)[i].AsString();
    if (text == nullptr) {
      return WrongField(fmt::format("{}[{}]", PathOf(key), i), "a text", (*list)[i]);
    }
    to->push_back(*text);
  }
  return {};
}

/// -1 becomes 2^32 - 1, the sampler's sign for a drawn seed, as in llama.cpp.
Result<void> FieldReader::Seed(std::string_view key, std::uint32_t* to) {
  const Json* value = Take(key);
  if (value == nullptr) return {};
  *to = static_cast<std::uint32_t>(
      BITTERN_TRY(WholeNumber(PathOf(key), *value, -1, std::numeric_limits<std::uint32_t>::max())));
  return {};
}

void FieldReader::Ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) read_.emplace(key);
}

Result<void> FieldReader::OnlyNeutral(std::initializer_list<std::string_view> keys,
                                      double neutral) {
  for (const std::string_view key : keys) {
    const Json* value = Take(key);
    if (value == nullptr || IsNeutral(*value, neutral)) continue;
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: not supported here; leave it out ({} found)", PathOf(key), Shown(*value)));
  }
  return {};
}

Result<void> FieldReader::ReadOver(std::initializer_list<std::string_view> keys) {
  if (unread_ == nullptr) return OnlyNeutral(keys);
  for (const std::string_view key : keys) {
    const Json* value = Take(key);
    if (value != nullptr && !IsNeutral(*value, 0)) NoteUnread(unread_, PathOf(key));
  }
  return {};
}

Result<void> FieldReader::Finish() const {
  for (const Json::Member& member : *object_->AsObject()) {
    if (read_.contains(member.key)) continue;
    if (unread_ != nullptr) {
      if (!member.value.is_null()) NoteUnread(unread_, PathOf(member.key));
      continue;
    }
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: there is no such field here", PathOf(member.key)));
  }
  return {};
}

}  // namespace bittern::request
