// SPDX-License-Identifier: Apache-2.0
// nlohmann's parser drives a handler that builds our tree: without exceptions, without recursion,
// and stopping where a limit is passed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json/json.hpp"
#include "base/text/display.hpp"

namespace bittern {
namespace {

/// Receives the text's events; every function returns whether to go on.
class TreeBuilder {
 public:
  explicit TreeBuilder(const JsonLimits& limits) : limits_(limits) {}

  [[nodiscard]] Result<Json> Take() {
    if (error_) return tl::unexpected(*std::move(error_));
    return std::move(root_);
  }

  // NOLINTBEGIN: the names are those that nlohmann's parser calls.
  bool null() { return Add(Json()); }
  bool boolean(bool value) { return Add(Json(value)); }
  bool number_integer(std::int64_t value) { return Add(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return Add(Json(value)); }
  bool number_float(double value, const std::string&) { return Add(Json(value)); }
  bool string(std::string& value) { return Add(Json(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return Open(Json(Json::Object())); }
  bool start_array(std::size_t) { return Open(Json(Json::Array())); }
  bool end_array() { return Close(); }
  bool end_object() { return CheckKeys(std::get<Json::Object>(open_.back().value)) && Close(); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  /// Called by the library at the first byte that does not fit.
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) {
    // The library's text repeats position and token in its own words; keep what says why.
    std::string_view why = error.what();
    if (const std::size_t at = why.rfind("; "); at != std::string_view::npos) {
      why.remove_prefix(at + 2);
    }
    return Stop(fmt::format("not valid JSON at byte {}: {}", position, Printable(why, 120)));
  }
  // NOLINTEND

 private:
  struct Container {
    Json::Value value;
    std::string key;  // of the member to come, where this is an object
  };

  bool Stop(std::string message) {
    if (!error_) error_ = Error{ErrorCode::kCorruptFile, std::move(message)};
    return false;
  }

  bool Count() {
    if (++num_values_ <= limits_.max_values) return true;
    return Stop(fmt::format("more than {} JSON values", limits_.max_values));
  }

  /// Puts a whole value into the innermost open container.
  void Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* array = std::get_if<Json::Array>(&open_.back().value)) {
      array->push_back(std::move(value));
    } else {
      std::get<Json::Object>(open_.back().value)
          .push_back({std::move(open_.back().key), std::move(value)});
    }
  }

  bool Add(Json value) {
    if (!Count()) return false;
    Place(std::move(value));
    return true;
  }

  bool Open(Json container) {
    if (!Count()) return false;
    if (open_.size() == limits_.max_depth) {
      return Stop(fmt::format("JSON nested deeper than {} levels", limits_.max_depth));
    }
    const bool is_array = container.AsArray() != nullptr;
    open_.push_back({is_array ? Json::Value(Json::Array()) : Json::Value(Json::Object()), {}});
    return true;
  }

  bool Close() {
    Json whole(std::move(open_.back().value));
    open_.pop_back();
    Place(std::move(whole));
    return true;
  }

  /// RFC 8259 (section 4) leaves open which of two equal keys counts, and readers differ; so such
  /// an object is an error.
  bool CheckKeys(const Json::Object& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const Json::Member& member : object) keys.push_back(member.key);
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys);
    if (twice == keys.end()) return true;
    return Stop(fmt::format("key {} appears twice in one JSON object", Quoted(*twice)));
  }

  const JsonLimits& limits_;
  std::vector<Container> open_;
  std::size_t num_values_ = 0;
  Json root_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> Json::Parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("at most {} bytes of JSON expected, {} found",
                                                     limits.max_bytes, text.size()));
  }
  TreeBuilder builder(limits);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.Take();
}

}  // namespace bittern
