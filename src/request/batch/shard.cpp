// SPDX-License-Identifier: Apache-2.0
#include "request/batch/shard.hpp"

#include <fmt/format.h>

#include <charconv>

namespace bittern::request {
namespace {

/// A head has the settings of a run, which hold a grammar or a schema.
constexpr JsonLimits kHeadLimits = {.max_bytes = std::size_t{16} << 20, .max_depth = 100};

/// A whole number in decimal digits and nothing else.
std::optional<std::size_t> WholeNumberOf(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string Differs(std::string_view name, std::string_view expected, std::string_view found) {
  return fmt::format("{}: {} expected, {} found", name, expected, found);
}

/// The first member that two objects of settings do not share.
std::string SettingThatDiffers(const Json& expected, const Json& found) {
  const auto shown = [](const Json* value) { return value ? value->Dump() : std::string("none"); };
  for (const auto& [key, value] : expected.members()) {
    const Json* other = found.Find(key);
    if (other == nullptr || *other != value) return Differs(key, value.Dump(), shown(other));
  }
  for (const auto& [key, value] : found.members()) {
    if (!expected.contains(key)) return Differs(key, "none", value.Dump());
  }
  return "";
}

}  // namespace

std::string Shard::Name() const { return fmt::format("{}/{}", index, count); }

Result<Shard> ParseShard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto index = WholeNumberOf(text.substr(0, slash));
  const auto count =
      slash == std::string_view::npos ? std::nullopt : WholeNumberOf(text.substr(slash + 1));
  const bool fits = index && count && *index >= 1 && *index <= *count && *count <= Shard::kMost;
  if (fits) return Shard{.index = *index, .count = *count};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("I/N expected, with I from 1 to N and N from 1 to {}, \"{}\" found",
                          Shard::kMost, text));
}

std::string WritePartHead(const PartHead& head) {
  const Json line = {{"part",
                      {{"shard", head.shard.Name()},
                       {"lines", head.lines},
                       {"input", head.input},
                       {"model", head.model},
                       {"settings", head.settings}}}};
  return line.Dump() + '\n';
}

std::optional<PartHead> ReadPartHead(std::string_view line) {
  const auto parsed = Json::Parse(line, kHeadLimits);
  if (!parsed) return std::nullopt;
  const Json& part = (*parsed)["part"];
  const auto shard = ParseShard(part["shard"].text());
  const auto lines = part["lines"].AsUint();
  const bool is_whole =
      part["input"].is_string() && part["model"].is_string() && part["settings"].is_object();
  if (!shard || !lines || !is_whole) return std::nullopt;
  return PartHead{.shard = *shard,
                  .lines = static_cast<std::size_t>(*lines),
                  .input = part["input"].text(),
                  .model = part["model"].text(),
                  .settings = part["settings"]};
}

std::string DifferenceOf(const PartHead& expected, const PartHead& found) {
  if (expected.shard.count != found.shard.count) {
    return Differs("number of shards", std::to_string(expected.shard.count),
                   std::to_string(found.shard.count));
  }
  if (expected.lines != found.lines) {
    return Differs("lines of the input", std::to_string(expected.lines),
                   std::to_string(found.lines));
  }
  if (expected.input != found.input) return Differs("input", expected.input, found.input);
  if (expected.model != found.model) return Differs("model", expected.model, found.model);
  return SettingThatDiffers(expected.settings, found.settings);
}

}  // namespace bittern::request
