// SPDX-License-Identifier: Apache-2.0
// modules.json lists the steps from a text to its vector; the folder of the step Pooling has flags.
#include "formats/hf/hf_pooling.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/files/mapped_file.hpp"
#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "formats/file_kind.hpp"

namespace bittern::formats {
namespace {

namespace fs = std::filesystem;

/// The JSON of a file of the folder, which errors name.
Result<Json> ParseFileOf(const fs::path& folder, const std::string& name) {
  const MappedFile file = BITTERN_TRY(MappedFile::Open(folder / name));
  if (auto debris = RefuseDebris(file.bytes())) {
    return tl::unexpected(Within(name, *std::move(debris)));
  }
  const auto bytes = file.bytes();
  auto json = Json::Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, {});
  BITTERN_TRY(file.CheckUnchanged());
  if (!json) return tl::unexpected(Within(name, std::move(json).error()));
  return json;
}

/// The folder of the Pooling module; nullopt: the list has none. Other modules than those that a
/// model for vectors has anyway would change the vectors.
Result<std::optional<std::string>> PoolingFolder(const Json& modules) {
  if (!modules.is_array()) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("an array of modules expected, {} found", modules.Shown()));
  }
  std::optional<std::string> found;
  for (const Json& module : modules.elements()) {
    const std::string& type = module["type"].text();
    if (type.ends_with(".Transformer") || type.ends_with(".Normalize")) continue;
    if (!type.ends_with(".Pooling")) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("modules Transformer, Pooling and Normalize expected, {} found",
                              module["type"].Shown()));
    }
    const std::string& path = module["path"].text();
    if (path.empty() || path.find_first_of("/\\") != std::string::npos || path.starts_with('.')) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("module Pooling: the name of a folder expected under path, {} found",
                              module["path"].Shown()));
    }
    found = path;
  }
  return found;
}

/// GGUF's number of a pooling, by the one flag that is set.
Result<std::uint32_t> PoolingType(const Json& config) {
  constexpr std::string_view kFlag = "pooling_mode_";
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 3> kTypes = {
      std::pair{"mean_tokens", 1u}, {"cls_token", 2u}, {"lasttoken", 3u}};
  std::string set;
  std::optional<std::uint32_t> type;
  for (const Json::Member& member : config.members()) {
    if (!member.key.starts_with(kFlag) || !member.value.AsBool().value_or(false)) continue;
    const std::string_view mode = std::string_view(member.key).substr(kFlag.size());
    for (const auto& [name, number] : kTypes) {
      if (name == mode) type = number;
    }
    set += fmt::format("{}{}", set.empty() ? "" : ", ", Printable(member.key));
    if (set != Printable(member.key)) type.reset();
  }
  if (type) return *type;
  return Fail(ErrorCode::kUnsupported,
              fmt::format("one of pooling_mode_mean_tokens, pooling_mode_cls_token and "
                          "pooling_mode_lasttoken expected to be true, {} found",
                          set.empty() ? "none" : set));
}

}  // namespace

Result<void> ReadHfPooling(const fs::path& folder, std::string_view architecture,
                           Metadata* metadata) {
  constexpr const char* kModules = "modules.json";
  std::error_code ignored;
  if (!fs::exists(folder / kModules, ignored)) return {};
  const Json modules = BITTERN_TRY(ParseFileOf(folder, kModules));
  const auto path = BITTERN_TRY(
      PoolingFolder(modules).map_error([](Error e) { return Within(kModules, std::move(e)); }));
  if (!path) return {};
  const std::string name = *path + "/config.json";
  const Json config = BITTERN_TRY(ParseFileOf(folder, name));
  const auto type = BITTERN_TRY(PoolingType(config).map_error(
      [&](Error e) { return Within(Printable(name), std::move(e)); }));
  return metadata->AddUint(fmt::format("{}.pooling_type", architecture), type);
}

}  // namespace bittern::formats
