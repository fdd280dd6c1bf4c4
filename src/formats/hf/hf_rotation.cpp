// SPDX-License-Identifier: Apache-2.0
// Members whose keys begin as a GGUF file's become keys of the same types. What they say together
// is checked by one reader for files and folders, so here each is looked at alone.
#include "formats/hf/hf_rotation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text/display.hpp"
#include "formats/hf/hf_config_values.hpp"
#include "formats/hf/hf_names.hpp"

namespace bittern::formats {
namespace {

using config_json::Present;
using config_json::WrongType;

constexpr std::string_view kPrefix = "prism.hadamard.";

tl::unexpected<Error> CorruptRotation(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

/// A list of whole numbers, which the file may write as floats.
Result<std::vector<std::int32_t>> WholeNumbers(std::string_view key, const Json& list) {
  std::vector<std::int32_t> numbers;
  for (const Json& item : list.elements()) {
    const auto number = item.AsNumber();
    if (!number || *number != std::floor(*number) ||
        std::fabs(*number) > std::numeric_limits<std::int32_t>::max()) {
      return WrongType(key, "an array of whole numbers", item);
    }
    numbers.push_back(static_cast<std::int32_t>(*number));
  }
  return numbers;
}

/// Names of weights in GGUF's words.
Result<std::vector<std::string>> Names(const HfConfig& config, std::string_view key,
                                       const Json& list) {
  std::vector<std::string> names;
  for (const Json& item : list.elements()) {
    if (item.AsString() == nullptr) return WrongType(key, "an array of texts", item);
    auto target = FindHfTensor(config, PlainHfName(item.text()));
    if (!target) {
      return tl::unexpected(Within(fmt::format("{}: {}", Printable(key), Quoted(item.text())),
                                   std::move(target).error()));
    }
    names.push_back(std::move(target)->name);
  }
  return names;
}

/// One member as a key of the type that GGUF files give it.
Result<void> AddKey(const HfConfig& config, const std::string& key, const Json& value,
                    Metadata* metadata) {
  if (value.AsString() != nullptr) return metadata->AddString(key, value.text());
  if (const auto flag = value.AsBool()) return metadata->AddBool(key, *flag);
  if (const auto number = value.AsNumber()) {
    if (*number < 0 || *number != std::floor(*number) ||
        *number > std::numeric_limits<std::uint32_t>::max()) {
      return WrongType(key, "a whole number of 0 or more", value);
    }
    return metadata->AddUint(key, static_cast<std::uint32_t>(*number));
  }
  if (value.AsArray() == nullptr || value.elements().empty()) {
    return WrongType(key, "a text, a number, true, false or a list of them", value);
  }
  if (value.elements().front().AsString() != nullptr) {
    const auto names = BITTERN_TRY(Names(config, key, value));
    return metadata->AddStrings(key, names);
  }
  const auto numbers = BITTERN_TRY(WholeNumbers(key, value));
  return metadata->AddInts(key, numbers);
}

/// The signs of each width, to be compared with tensors; where they contradict one another, the
/// reader of the keys says so.
Result<void> KeepSigns(const Json& json, HfConfig* config) {
  const std::string widths_key = fmt::format("{}sign_widths", kPrefix);
  const std::string values_key = fmt::format("{}sign_values", kPrefix);
  const Json *widths = Present(json, widths_key), *values = Present(json, values_key);
  if (widths == nullptr || values == nullptr) return {};
  const auto cols = BITTERN_TRY(WholeNumbers(widths_key, *widths));
  const auto signs = BITTERN_TRY(WholeNumbers(values_key, *values));
  std::size_t at = 0;
  for (const std::int32_t width : cols) {
    if (width < 1 || static_cast<std::size_t>(width) > signs.size() - at) break;
    auto& kept = config->rotation_signs[static_cast<std::uint64_t>(width)];
    if (!kept.empty())
      return CorruptRotation(fmt::format("{}: {} stands twice", widths_key, width));
    for (const std::size_t end = at + static_cast<std::size_t>(width); at < end; ++at) {
      kept.push_back(static_cast<float>(signs[at]));
    }
  }
  return {};
}

/// A folder keeps the value heads of one key head side by side, so only weights that were rotated
/// in that order fit the rows beside them.
Result<void> CheckOrder(const Json& json, const HfConfig& config) {
  const std::string key = fmt::format("{}gdn_v_grouped", kPrefix);
  const Json* grouped = Present(json, key);
  const bool found = grouped != nullptr && grouped->AsBool().value_or(false);
  if (found || config.delta.value_heads == config.delta.key_heads) return {};
  return Fail(ErrorCode::kUnsupported, fmt::format("{}: expected true in a folder, found {}", key,
                                                   grouped == nullptr ? "none" : grouped->Shown()));
}

}  // namespace

bool IsRotatedPack(const Json& whole) {
  const Json* type = Present(whole, "model_type");
  return type != nullptr && type->text() == "prism_hadamard_qwen35";
}

Result<void> ReadHfRotation(const Json& json, HfConfig* config, Metadata* metadata) {
  if (json.AsObject() == nullptr) return CorruptRotation("an object expected");
  const std::string version = fmt::format("{}version", kPrefix);
  if (Present(json, version) == nullptr) {
    return CorruptRotation(fmt::format("{} is missing", version));
  }
  BITTERN_TRY(CheckOrder(json, *config));
  config->rotated = true;
  for (const Json::Member& member : *json.AsObject()) {
    if (!member.key.starts_with(kPrefix)) continue;  // notes of the file's maker
    BITTERN_TRY(AddKey(*config, member.key, member.value, metadata));
  }
  return KeepSigns(json, config);
}

bool IsSigns(const HfConfig& config, std::string_view name) noexcept {
  return config.rotated && name.ends_with(".signs");
}

Result<void> CheckHfSigns(const HfConfig& config, const SafetensorsEntry& entry) {
  const auto wanted = config.rotation_signs.find(entry.elements);  // as many signs as its key
  if (entry.dtype != "F32" || wanted == config.rotation_signs.end()) {
    return CorruptRotation(
        fmt::format("signs of {} expected, of a width that it names, {} of type "
                    "{} found",
                    kHfRotationFile, entry.elements, Printable(entry.dtype)));
  }
  for (std::size_t i = 0; i < wanted->second.size(); ++i) {
    float found;
    std::memcpy(&found, entry.bytes.data() + i * sizeof found, sizeof found);
    if (found == wanted->second[i]) continue;
    return CorruptRotation(
        fmt::format("element {}: {} expected, as {} says for inputs of {}, {} found", i,
                    wanted->second[i], kHfRotationFile, entry.elements, found));
  }
  return {};
}

}  // namespace bittern::formats
